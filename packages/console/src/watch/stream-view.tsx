// The picture of a stream with what it is worth: how far behind it is, how large, how steady.
import { useEffect, useRef, useState } from 'react';
import { useStore } from '../hooks/store.ts';
import { Chart } from '../room/stats/chart.tsx';
import { keptLatencies, type PlayerState, type Source, StreamPlayer } from './stream-player.ts';

/** Milliseconds behind from which on a button offers to catch up. */
const farBehind = 6_000;

export type StreamViewProps = {
  source: () => Promise<Source>;
  roomId: string;
  /** The server says that it has ended. */
  over: boolean;
  onPhase: (phase: PlayerState['phase']) => void;
};

export function StreamView({ source, roomId, over, onPhase }: StreamViewProps) {
  const video = useRef<HTMLVideoElement>(null);
  const [player, setPlayer] = useState<StreamPlayer>();
  useEffect(() => {
    if (!video.current) return undefined;
    const made = new StreamPlayer(video.current, source);
    setPlayer(made);
    return () => made.close();
  }, [source]);
  return (
    <div className="stream-view">
      <div className="stream-picture">
        {/* biome-ignore lint/a11y/useMediaCaption: nobody writes captions for people who talk */}
        <video ref={video} className="stream-video" controls playsInline aria-label={`Stream of ${roomId}`} data-testid="stream-video" />
        {player && <Overlay player={player} over={over} onPhase={onPhase} onDone={() => video.current?.focus()} />}
      </div>
      {player && <Facts player={player} />}
    </div>
  );
}

type OverlayProps = Pick<StreamViewProps, 'over' | 'onPhase'> & {
  player: StreamPlayer;
  /** A button has done its work and goes: what had the focus must not lose it. */
  onDone: () => void;
};

function Overlay({ player, over, onPhase, onDone }: OverlayProps) {
  const { phase, problem, silent, latency } = useStore(player);
  useEffect(() => onPhase(phase), [phase, onPhase]);
  useEffect(() => {
    if (over && phase === 'retrying') player.over();
  }, [over, phase, player]);
  const hear = () => {
    player.hear();
    onDone();
  };
  const toNow = () => {
    player.toNow();
    onDone();
  };
  const text = problem ?? (phase === 'starting' ? 'Loading the stream…' : phase === 'ended' ? 'The stream has ended.' : undefined);
  return (
    <>
      <p className="stream-word" role="status" data-testid="stream-status" data-phase={phase} hidden={text === undefined}>
        {text}
      </p>
      <div className="stream-buttons">
        {silent && (
          <button type="button" className="button primary" data-testid="stream-hear" onClick={hear}>
            Turn the sound on
          </button>
        )}
        {phase === 'playing' && !over && latency !== undefined && latency > farBehind && (
          <button type="button" className="button" data-testid="stream-now" onClick={toNow}>
            Go to now
          </button>
        )}
      </div>
    </>
  );
}

function Facts({ player }: { player: StreamPlayer }) {
  const { latency, latencies, picture, ahead, dropped } = useStore(player);
  return (
    <div className="stream-facts">
      <Chart
        label="Behind the room"
        values={latencies}
        capacity={keptLatencies}
        format={secondsText}
        least={3_000}
        testId="latency-chart"
      />
      <dl className="facts">
        <dt>Latency</dt>
        <dd data-testid="latency" data-milliseconds={latency}>
          {latency === undefined ? '–' : `${secondsText(latency)} behind, by the clocks of server and browser`}
        </dd>
        <dt>Picture</dt>
        <dd>{picture ?? '–'}</dd>
        <dt>Loaded ahead</dt>
        <dd>{ahead === undefined ? '–' : `${ahead.toFixed(1)} s`}</dd>
        <dt>Dropped pictures</dt>
        <dd>{dropped ?? '–'}</dd>
      </dl>
    </div>
  );
}

function secondsText(value: number | null): string {
  return value === null ? '–' : `${(value / 1000).toFixed(1)} s`;
}
