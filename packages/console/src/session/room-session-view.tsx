// Room session view: lobby, room and end of one visit, for logged-in users and guests.
import { type ReactNode, useCallback, useEffect, useMemo, useState } from 'react';
import { errorMessage } from '../api/rest.ts';
import { AppHeader } from '../components/app-header.tsx';
import { ThemeButton } from '../components/theme-button.tsx';
import { readPreferences, writePreferences } from '../hooks/saved-preferences.ts';
import { useStore } from '../hooks/store.ts';
import { useIsMounted } from '../hooks/use-is-mounted.ts';
import { Lobby } from '../lobby/lobby.tsx';
import { LocalMedia } from './local-media.ts';
import { RoomSession } from './room-session.ts';
import { RoomView } from './room-view.tsx';
import type { SessionEnd } from './session-state.ts';

export type RoomSessionViewProps = {
  roomId: string;
  guest: boolean;
  /** Returns URL and token to join with this name. */
  getAccess: (name: string) => Promise<{ token: string; url: string | null }>;
  base: string;
  /** In the header of the room, and in the app header before and after it. */
  actions?: ReactNode;
  /** `left`: resolves when the session has notified the server. */
  onLeft?: (left: Promise<void>) => void;
  /** Renders the end of the session; `again` joins or opens the lobby. */
  renderEnding: (sessionEnd: SessionEnd, again: { join: () => void; lobby: () => void }) => ReactNode;
};

type VisitState =
  | { phase: 'lobby'; problem?: string }
  | { phase: 'joining' }
  | { phase: 'joined'; session: RoomSession }
  | { phase: 'over'; ending: SessionEnd };

export function RoomSessionView(props: RoomSessionViewProps) {
  const media = useLocalMedia();
  // Saved preferences are read before the first render; devices are created by an effect.
  return media ? <Visit {...props} media={media} /> : null;
}

function Visit({ roomId, guest, getAccess, base, actions, onLeft, renderEnding, media }: RoomSessionViewProps & { media: LocalMedia }) {
  const [visit, setVisit] = useState<VisitState>({ phase: 'lobby' });
  const [name, setName] = useState(() => readPreferences().choices.name);
  const [kept, setKept] = useState(() => readPreferences().kept);
  const { preferences } = useStore(media);
  const roomSession = visit.phase === 'joined' ? visit.session : undefined;

  useEffect(() => writePreferences({ name: name.trim(), ...preferences }, kept), [name, preferences, kept]);

  useEffect(() => {
    if (!roomSession) return undefined;
    const check = () => {
      const { ending } = roomSession.state;
      if (!ending) return;
      media.release();
      setVisit({ phase: 'over', ending });
    };
    const stop = roomSession.subscribe(check);
    check();
    return () => {
      stop();
      roomSession.close();
    };
  }, [roomSession, media]);

  const isMounted = useIsMounted();

  const accessForCheck = useCallback(() => getAccess(name.trim() || 'Guest'), [getAccess, name]);
  const check = useMemo(() => ({ getAccess: accessForCheck, base }), [accessForCheck, base]);

  const join = async () => {
    const as = name.trim();
    setVisit({ phase: 'joining' });
    try {
      const access = await getAccess(as);
      // The user has left this page meanwhile: do not join in the background.
      if (!isMounted()) return;
      setVisit({ phase: 'joined', session: new RoomSession({ ...access, base, name: as, media }) });
    } catch (error) {
      setVisit({ phase: 'lobby', problem: errorMessage(error) });
    }
  };

  const rejoin = () => {
    void media.start();
    void join();
  };

  if (visit.phase === 'joined') {
    const leave = () => {
      const left = visit.session.leave();
      onLeft?.(left);
    };
    return (
      <RoomView
        session={visit.session}
        media={media}
        roomId={roomId}
        name={name.trim()}
        detailed={!guest}
        actions={actions}
        onLeave={leave}
      />
    );
  }
  const header = <AppHeader home={!guest}>{guest ? <ThemeButton /> : actions}</AppHeader>;
  if (visit.phase === 'over') {
    return (
      <>
        {header}
        <main className="middle">{renderEnding(visit.ending, { join: rejoin, lobby: () => setVisit({ phase: 'lobby' }) })}</main>
      </>
    );
  }
  return (
    <>
      {header}
      <main className="middle">
        <Lobby
          roomId={roomId}
          guest={guest}
          media={media}
          name={name}
          onName={setName}
          kept={kept}
          onKept={setKept}
          busy={visit.phase === 'joining'}
          problem={visit.phase === 'lobby' ? visit.problem : undefined}
          check={check}
          onJoin={() => void join()}
        />
      </main>
    </>
  );
}

/** The devices of this visit, released when it ends. */
function useLocalMedia(): LocalMedia | undefined {
  const [media, setMedia] = useState<LocalMedia>();
  useEffect(() => {
    const { camera, microphone, speaker } = readPreferences().choices;
    const made = new LocalMedia({ camera, microphone, speaker });
    setMedia(made);
    return () => made.close();
  }, []);
  return media;
}
