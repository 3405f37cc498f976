// One visit to a room: the lobby, the call, and what is left when it is over. The same for people who are logged in and for guests.
import { type ReactNode, useCallback, useEffect, useMemo, useState } from 'react';
import { sentenceOf } from '../api/rest.ts';
import { Call } from '../call/call.ts';
import type { Ending } from '../call/call-state.ts';
import { LocalMedia } from '../call/local-media.ts';
import { readChoices, writeChoices } from '../hooks/kept-choices.ts';
import { useStore } from '../hooks/store.ts';
import { useThere } from '../hooks/use-there.ts';
import { CallView } from './call-view.tsx';
import { Lobby } from './lobby.tsx';
import { PageHeader } from './page-header.tsx';
import { ThemeButton } from './theme-button.tsx';

export type StageProps = {
  roomId: string;
  guest: boolean;
  /** Where and with which token to join under this name. */
  getAccess: (name: string) => Promise<{ token: string; url: string | null }>;
  base: string;
  /** In the bar of the call, and in the header before and after it. */
  actions?: ReactNode;
  /** `left`: resolves when the server has heard it over the call. */
  onLeft?: (left: Promise<void>) => void;
  /** What to show once it is over; `again` goes on where it ended. */
  renderEnding: (ending: Ending, again: { join: () => void; lobby: () => void }) => ReactNode;
};

type VisitState =
  | { stage: 'lobby'; problem?: string }
  | { stage: 'joining' }
  | { stage: 'call'; call: Call }
  | { stage: 'over'; ending: Ending };

export function RoomStage(props: StageProps) {
  const media = useLocalMedia();
  // What the browser kept is known before the first picture; the devices come with an effect.
  return media ? <Visit {...props} media={media} /> : null;
}

function Visit({ roomId, guest, getAccess, base, actions, onLeft, renderEnding, media }: StageProps & { media: LocalMedia }) {
  const [visit, setVisit] = useState<VisitState>({ stage: 'lobby' });
  const [name, setName] = useState(() => readChoices().choices.name);
  const [kept, setKept] = useState(() => readChoices().kept);
  const { wishes } = useStore(media);
  const call = visit.stage === 'call' ? visit.call : undefined;

  useEffect(() => writeChoices({ name: name.trim(), ...wishes }, kept), [name, wishes, kept]);

  useEffect(() => {
    if (!call) return undefined;
    const check = () => {
      const { ending } = call.state;
      if (!ending) return;
      media.stopScreen();
      setVisit({ stage: 'over', ending });
    };
    const stop = call.subscribe(check);
    check();
    return () => {
      stop();
      call.close();
    };
  }, [call, media]);

  const isThere = useThere();

  const accessForCheck = useCallback(() => getAccess(name.trim() || 'Guest'), [getAccess, name]);
  const check = useMemo(() => ({ getAccess: accessForCheck, base }), [accessForCheck, base]);

  const join = async () => {
    const as = name.trim();
    setVisit({ stage: 'joining' });
    try {
      const access = await getAccess(as);
      // Who went to another page meanwhile would be in the room without knowing it.
      if (!isThere()) return;
      setVisit({ stage: 'call', call: new Call({ ...access, base, name: as, media }) });
    } catch (error) {
      setVisit({ stage: 'lobby', problem: sentenceOf(error) });
    }
  };

  if (visit.stage === 'call') {
    const leave = () => {
      const left = visit.call.leave();
      onLeft?.(left);
    };
    return (
      <CallView call={visit.call} media={media} roomId={roomId} name={name.trim()} detailed={!guest} actions={actions} onLeave={leave} />
    );
  }
  if (visit.stage === 'over') {
    return (
      <>
        <PageHeader home={!guest}>{guest ? <ThemeButton /> : actions}</PageHeader>
        <main className="middle">{renderEnding(visit.ending, { join: () => void join(), lobby: () => setVisit({ stage: 'lobby' }) })}</main>
      </>
    );
  }
  return (
    <>
      <PageHeader home={!guest}>{guest ? <ThemeButton /> : actions}</PageHeader>
      <main className="middle">
        <Lobby
          roomId={roomId}
          guest={guest}
          media={media}
          name={name}
          onName={setName}
          kept={kept}
          onKept={setKept}
          busy={visit.stage === 'joining'}
          problem={visit.stage === 'lobby' ? visit.problem : undefined}
          check={check}
          onJoin={() => void join()}
        />
      </main>
    </>
  );
}

/** The devices of this visit; released when it ends. */
function useLocalMedia(): LocalMedia | undefined {
  const [media, setMedia] = useState<LocalMedia>();
  useEffect(() => {
    const { camera, microphone, speaker } = readChoices().choices;
    const made = new LocalMedia({ camera, microphone, speaker });
    setMedia(made);
    return () => made.close();
  }, []);
  return media;
}
