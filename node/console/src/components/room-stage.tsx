// One visit to a room: the lobby, the call, and what is left when it is over. The same for people who are logged in and for guests.
import { type ReactNode, useEffect, useState } from 'react';
import { sentenceOf } from '../api/rest.ts';
import { Call } from '../call/call.ts';
import type { Ending } from '../call/call-state.ts';
import { LocalMedia } from '../call/local-media.ts';
import { tabStorage } from '../hooks/tab-storage.ts';
import { CallView } from './call-view.tsx';
import { Lobby } from './lobby.tsx';
import { PageHeader } from './page-header.tsx';

const nameKey = 'mediarooms.name';

export type StageProps = {
  roomId: string;
  guest: boolean;
  /** Where and with which token to join under this name. */
  getAccess: (name: string) => Promise<{ token: string; url: string | null }>;
  base: string;
  /** In the bar of the call. */
  actions?: ReactNode;
  onLeft?: () => void;
  /** What to show once it is over; `again` goes on where it ended. */
  renderEnding: (ending: Ending, again: { join: () => void; lobby: () => void }) => ReactNode;
};

type Visit =
  | { stage: 'lobby'; problem?: string }
  | { stage: 'joining' }
  | { stage: 'call'; call: Call }
  | { stage: 'over'; ending: Ending };

export function RoomStage({ roomId, guest, getAccess, base, actions, onLeft, renderEnding }: StageProps) {
  const [visit, setVisit] = useState<Visit>({ stage: 'lobby' });
  const [name, setName] = useState(() => tabStorage.get(nameKey) ?? '');
  const media = useLocalMedia();
  const call = visit.stage === 'call' ? visit.call : undefined;

  useEffect(() => {
    if (!call) return undefined;
    const check = () => {
      const { ending } = call.state;
      if (!ending) return;
      media?.stopScreen();
      setVisit({ stage: 'over', ending });
    };
    const stop = call.subscribe(check);
    check();
    return () => {
      stop();
      call.close();
    };
  }, [call, media]);

  if (!media) return null;

  const join = async (as: string) => {
    tabStorage.set(nameKey, as);
    setName(as);
    setVisit({ stage: 'joining' });
    try {
      const access = await getAccess(as);
      setVisit({ stage: 'call', call: new Call({ ...access, base, name: as, media }) });
    } catch (error) {
      setVisit({ stage: 'lobby', problem: sentenceOf(error) });
    }
  };

  if (visit.stage === 'call') {
    const leave = () => {
      void visit.call.leave().finally(() => onLeft?.());
    };
    return <CallView call={visit.call} media={media} roomId={roomId} name={name} actions={actions} onLeave={leave} />;
  }
  if (visit.stage === 'over') {
    return (
      <>
        <PageHeader home={!guest} />
        <main className="middle">
          {renderEnding(visit.ending, { join: () => void join(name), lobby: () => setVisit({ stage: 'lobby' }) })}
        </main>
      </>
    );
  }
  return (
    <>
      <PageHeader home={!guest} />
      <main className="middle">
        <Lobby
          roomId={roomId}
          guest={guest}
          media={media}
          initialName={name}
          busy={visit.stage === 'joining'}
          problem={visit.stage === 'lobby' ? visit.problem : undefined}
          onJoin={(as) => void join(as)}
        />
      </main>
    </>
  );
}

/** The devices of this visit; released when it ends. */
function useLocalMedia(): LocalMedia | undefined {
  const [media, setMedia] = useState<LocalMedia>();
  useEffect(() => {
    const made = new LocalMedia();
    setMedia(made);
    return () => made.close();
  }, []);
  return media;
}
