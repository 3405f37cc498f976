// The room itself beside its stream, as it is now: as a peer that watches, sends nothing and makes no sound.
import { useCallback, useEffect, useRef, useState } from 'react';
import { sentenceOf } from '../api/rest.ts';
import { Call } from '../call/call.ts';
import { LocalMedia } from '../call/local-media.ts';
import { ActionButton } from '../components/action-button.tsx';
import { tileOfComponent, tilesOf } from '../components/call-view.tsx';
import { CopyCurl } from '../components/copy-curl.tsx';
import { TileGrid } from '../components/tile-grid.tsx';
import { useConsole } from '../hooks/console-context.ts';
import { useStore } from '../hooks/store.ts';
import { tabId } from '../hooks/tab-storage.ts';

const name = 'Console, watching';
const options = { permissions: { publish: [], subscribe: true, data: false } };

type Visit = { call: Call; media: LocalMedia; peerId: string };

export function LiveSide({ roomId }: { roomId: string }) {
  const { api } = useConsole();
  const [visit, setVisit] = useState<Visit>();
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const body = { type: 'webrtc', options, metadata: { name }, externalId: `console-watch-${tabId()}` };
  const path = `room/${encodeURIComponent(roomId)}/peer`;

  const now = useRef<Visit>(undefined);
  now.current = visit;
  const leave = useCallback(
    (why?: string) => {
      const left = now.current;
      now.current = undefined;
      setVisit(undefined);
      setProblem(why);
      if (!left) return;
      left.call.close();
      left.media.close();
      api.deletePeer(roomId, left.peerId).catch(() => undefined);
    },
    [api, roomId],
  );
  useEffect(() => () => leave(), [leave]);

  const join = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      const { data } = await api.call('POST', path, body);
      const { peer, token, peer_websocket_url: url } = data as { peer: { id: string }; token: string; peer_websocket_url: string };
      // Without devices: nothing is opened until somebody asks for it, and nobody does.
      const media = new LocalMedia();
      setVisit({ call: new Call({ url, token, base: api.base, name, media }), media, peerId: peer.id });
    } catch (error) {
      setProblem(sentenceOf(error));
    } finally {
      setBusy(false);
    }
  };

  return (
    <section className="live-side" aria-label="The room now">
      <header className="live-head">
        <h2>The room now</h2>
        {visit ? (
          <button type="button" className="button small" data-testid="live-leave" onClick={() => leave()}>
            Hide
          </button>
        ) : (
          <span className="call-button">
            <ActionButton className="button small" data-testid="live-join" disabled={busy} onClick={() => void join()}>
              Show
            </ActionButton>
            <CopyCurl call={{ method: 'POST', path, body }} what="join as a peer that only watches" compact />
          </span>
        )}
      </header>
      {problem && (
        <p className="problem" role="alert" data-testid="live-problem">
          {problem}
        </p>
      )}
      {visit ? (
        <LiveTiles call={visit.call} onOver={leave} />
      ) : (
        <p className="faint">
          Shows those in the room beside the stream, without its delay. You join as a peer called &ldquo;{name}&rdquo; that sends nothing.
        </p>
      )}
    </section>
  );
}

function LiveTiles({ call, onOver }: { call: Call; onOver: (why: string) => void }) {
  const state = useStore(call);
  const { ending, phase } = state;
  useEffect(() => {
    if (ending) onOver(ending.sentence);
  }, [ending, onOver]);
  const shown = state.components.filter(({ tracks }) => tracks.length > 0);
  const nobody = state.people.length === 0 && shown.length === 0;
  return (
    <>
      {phase !== 'joined' && (
        <p className="note" role="status" data-testid="live-status">
          {phase === 'joining' ? 'Joining…' : 'Connection to the server lost, trying again…'}
        </p>
      )}
      {phase === 'joined' && nobody && <p className="faint">Nobody else is in the room.</p>}
      <div className="live-tiles">
        <TileGrid>
          {shown.map((component) => tileOfComponent(component, call, true))}
          {state.people.flatMap((person) => tilesOf(person, call, state.activeSpeaker, true))}
        </TileGrid>
      </div>
    </>
  );
}
