// A room for whoever is logged in: join it, invite guests, and make it anew when it has ended.
import { useCallback, useEffect, useRef, useState } from 'react';
import { type Api, ApiError, sentenceOf } from '../api/rest.ts';
import type { Ending } from '../call/call-state.ts';
import { ComponentsDialog } from '../components/components-dialog.tsx';
import { ComponentIcon, LinkIcon } from '../components/icons.tsx';
import { InviteDialog } from '../components/invite-dialog.tsx';
import { Notice, PageHeader } from '../components/page-header.tsx';
import { RoomStage } from '../components/room-stage.tsx';
import { useConsole } from '../hooks/console-context.ts';
import { tabId } from '../hooks/tab-storage.ts';
import { type RouteOf, roomsHash } from '../router.ts';

type Known = 'asking' | 'there' | 'ended' | 'unreachable';
const retryDelay = 1_500;

export function RoomPage({ route: { roomId } }: { route: RouteOf<'room'> }) {
  const { api } = useConsole();
  const [open, setOpen] = useState<'invite' | 'components'>();
  const peer = useRef<string | undefined>(undefined);
  const [entry, askAgain] = useRoomThere(api, roomId);
  const [entered, setEntered] = useState(false);

  const getAccess = useCallback(
    async (name: string) => {
      const access = await api.addPeer(roomId, { metadata: { name }, externalId: `console-${tabId()}` });
      peer.current = access.peerId;
      return access;
    },
    [api, roomId],
  );
  const onLeft = useCallback(() => {
    // Who left on purpose does not come back: nobody shall be waited for.
    if (peer.current) api.deletePeer(roomId, peer.current).catch(() => undefined);
    peer.current = undefined;
  }, [api, roomId]);

  const leftNow = useRef(onLeft);
  leftNow.current = onLeft;
  // Going to another page of the console is leaving, too; a reload is not, and takes the same peer again.
  useEffect(() => () => leftNow.current(), []);

  useEffect(() => {
    if (entry === 'there') setEntered(true);
  }, [entry]);

  if (!entered && entry !== 'there') {
    return (
      <>
        <PageHeader home />
        <main className="middle">
          {entry === 'ended' ? (
            <RoomEnded api={api} roomId={roomId} onMade={askAgain} />
          ) : (
            <p className="starting" role="status" data-testid="status">
              {entry === 'asking' ? 'Looking for the room…' : 'Connection to the server lost, trying again…'}
            </p>
          )}
        </main>
      </>
    );
  }
  return (
    <>
      <RoomStage
        roomId={roomId}
        guest={false}
        base={api.base}
        getAccess={getAccess}
        onLeft={onLeft}
        actions={
          <>
            <button type="button" className="button" aria-label="Components" data-testid="components" onClick={() => setOpen('components')}>
              <ComponentIcon />
              <span>Components</span>
            </button>
            <button type="button" className="button" aria-label="Invite" data-testid="invite" onClick={() => setOpen('invite')}>
              <LinkIcon />
              <span>Invite</span>
            </button>
          </>
        }
        renderEnding={(ending, again) => <AfterCall api={api} roomId={roomId} ending={ending} again={again} />}
      />
      {open === 'invite' && <InviteDialog api={api} roomId={roomId} onClose={() => setOpen(undefined)} />}
      {open === 'components' && <ComponentsDialog api={api} roomId={roomId} onClose={() => setOpen(undefined)} />}
    </>
  );
}

/** Whether the room is there, asked until the server answers. */
function useRoomThere(api: Api, roomId: string): [Known, () => void] {
  const [known, setKnown] = useState<Known>('asking');
  const [round, setRound] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another round asks again
  useEffect(() => {
    let stopped = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      const answer = await api.getRoom(roomId).then(
        () => 'there' as const,
        (error: unknown) => (error instanceof ApiError && error.status === 404 ? ('ended' as const) : ('unreachable' as const)),
      );
      if (stopped) return;
      setKnown(answer);
      if (answer === 'unreachable') timer = setTimeout(ask, retryDelay);
    };
    void ask();
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }, [api, roomId, round]);
  return [known, useCallback(() => setRound((before) => before + 1), [])];
}

type AfterCallProps = { api: Api; roomId: string; ending: Ending; again: { join: () => void; lobby: () => void } };

function AfterCall({ api, roomId, ending, again }: AfterCallProps) {
  if (ending.why === 'left') return <Left again={again} />;
  return <Lost api={api} roomId={roomId} ending={ending} again={again} />;
}

function Left({ again }: { again: { lobby: () => void } }) {
  return (
    <Notice
      title="You left the room"
      testId="left"
      actions={
        <>
          <a className="button" href={roomsHash}>
            All rooms
          </a>
          <button type="button" className="button primary" data-testid="rejoin" onClick={again.lobby}>
            Join again
          </button>
        </>
      }
    />
  );
}

/** The call ended and the server has to say whether the room is still there. */
function Lost({ api, roomId, ending, again }: AfterCallProps) {
  const [known] = useRoomThere(api, roomId);
  if (known === 'ended') return <RoomEnded api={api} roomId={roomId} onMade={again.join} />;
  if (known !== 'there') {
    return (
      <p className="starting" role="status" data-testid="status">
        {known === 'asking' ? 'Looking for the room…' : 'Connection to the server lost, trying again…'}
      </p>
    );
  }
  return (
    <Notice
      title={
        ending.why === 'removed'
          ? 'You were removed from this room'
          : ending.why === 'takenOver'
            ? 'You are in this room elsewhere'
            : 'The connection ended'
      }
      testId="call-over"
      actions={
        <>
          <a className="button" href={roomsHash}>
            All rooms
          </a>
          <button type="button" className="button primary" data-testid="rejoin" onClick={again.join}>
            {ending.why === 'takenOver' ? 'Join here' : 'Join again'}
          </button>
        </>
      }
    >
      {ending.sentence}
    </Notice>
  );
}

function RoomEnded({ api, roomId, onMade }: { api: Api; roomId: string; onMade: () => void }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const make = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      await api.createRoom({ roomId });
      onMade();
    } catch (error) {
      // Somebody else was faster: the room is there, which is all that was wanted.
      if (error instanceof ApiError && error.code === 'already_exists') return onMade();
      setProblem(sentenceOf(error));
      setBusy(false);
    }
  };
  return (
    <Notice
      title="This room has ended."
      testId="room-ended"
      actions={
        <>
          <a className="button" href={roomsHash}>
            All rooms
          </a>
          <button type="button" className="button primary" data-testid="make-anew" disabled={busy} onClick={make}>
            Make it anew
          </button>
        </>
      }
    >
      {problem ?? (
        <>
          <strong className="room-name">{roomId}</strong> is not on the server any more. You can make it anew under the same name; others
          join it with the same address, guests need a new link.
        </>
      )}
    </Notice>
  );
}
