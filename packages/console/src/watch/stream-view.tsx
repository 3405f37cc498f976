// Stream view: video of a stream with latency, resolution, buffer and dropped frames.
import { useEffect, useRef, useState } from 'react';
import { useStore } from '../hooks/store.ts';
import { Chart } from '../room/stats/chart.tsx';
import { keptLatencies, type PlayerState, type Source, StreamPlayer } from './stream-player.ts';

/** Latency in milliseconds from which "Go live" is offered. */
const farBehind = 6_000;

export type StreamViewProps = {
  source: () => Promise<Source>;
  roomId: string;
  /** True if the stream has ended on the server. */
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
      <div className="stream-frame">
        {/* biome-ignore lint/a11y/useMediaCaption: hls.js adds the captions of the stream */}
        <video ref={video} className="stream-video" controls playsInline aria-label={`Stream of ${roomId}`} data-testid="stream-video" />
        {player && <Overlay player={player} over={over} onPhase={onPhase} onDone={() => video.current?.focus()} />}
      </div>
      {player && <Facts player={player} />}
    </div>
  );
}

type OverlayProps = Pick<StreamViewProps, 'over' | 'onPhase'> & {
  player: StreamPlayer;
  /** Called when a focused button disappears, to move the focus. */
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
  const text = problem ?? (phase === 'starting' ? 'Loading stream…' : phase === 'ended' ? 'The stream has ended.' : undefined);
  return (
    <>
      <p className="stream-word" role="status" data-testid="stream-status" data-phase={phase} hidden={text === undefined}>
        {text}
      </p>
      <div className="stream-buttons">
        {silent && (
          <button type="button" className="button primary" data-testid="stream-hear" onClick={hear}>
            Unmute
          </button>
        )}
        {phase === 'playing' && !over && latency !== undefined && latency > farBehind && (
          <button type="button" className="button" data-testid="stream-now" onClick={toNow}>
            Go live
          </button>
        )}
      </div>
    </>
  );
}

function Facts({ player }: { player: StreamPlayer }) {
  const { latency, latencies, resolution, ahead, dropped } = useStore(player);
  return (
    <div className="stream-facts">
      <Chart
        label="Latency over time"
        values={latencies}
        capacity={keptLatencies}
        format={secondsText}
        minScale={3_000}
        testId="latency-chart"
      />
      <dl className="facts">
        <dt>Latency</dt>
        <dd data-testid="latency" data-milliseconds={latency}>
          {latency === undefined ? '–' : `${secondsText(latency)}, by the clocks of server and browser`}
        </dd>
        <dt>Resolution</dt>
        <dd>{resolution ?? '–'}</dd>
        <dt>Buffer</dt>
        <dd>{ahead === undefined ? '–' : `${ahead.toFixed(1)} s`}</dd>
        <dt>Dropped frames</dt>
        <dd>{dropped ?? '–'}</dd>
      </dl>
    </div>
  );
}

function secondsText(value: number | null): string {
  return value === null ? '–' : `${(value / 1000).toFixed(1)} s`;
}
