// Player: plays one file of a recording, or a saved stream, in the page.
import { type RefObject, useEffect, useRef, useState } from 'react';
import { Alert, ErrorAlert } from '../components/page-title.tsx';
import { formatBytes } from '../components/timestamp.tsx';
import { useSessionContext } from '../hooks/console-context.ts';
import { useStore } from '../hooks/store.ts';
import { Playback, type Source } from './playback.ts';

/** `originName`: name of the track origin, untrusted. `format`: codec and container for display. */
export type Playable = { recordingId: string; file: string; kind: 'audio' | 'video' | 'stream'; originName: string; format: string };

export function Player({ playable, onClose }: { playable: Playable; onClose: () => void }) {
  const { api, scope } = useSessionContext();
  const { recordingId, file, kind, originName, format } = playable;
  const title = `${kind} of ${originName}`;
  const [attempt, setAttempt] = useState(0);
  const [playback, setPlaying] = useState<Playback>();
  const section = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt restarts the playback
  useEffect(() => {
    const cannotPlay = `This browser cannot play this file (${format}): download it, or render the recording to MP4.`;
    const made = new Playback({ api, scope, name: { recordingId, file }, stream: kind === 'stream', cannotPlay });
    setPlaying(made);
    return () => {
      made.close();
      setPlaying(undefined);
    };
  }, [api, scope, recordingId, file, kind, format, attempt]);
  useEffect(() => {
    section.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  return (
    <section className={`player ${kind}`} aria-label={`Player: ${title}`} data-testid="player" ref={section}>
      <header className="player-head">
        <h2>
          <bdi>{originName}</bdi>: {kind}
        </h2>
        <button type="button" className="button small" data-testid="player-close" onClick={onClose}>
          Close
        </button>
      </header>
      <div className="player-media">
        {playback && <PlayerMedia playing={playback} kind={kind} title={title} onRetry={() => setAttempt((before) => before + 1)} />}
      </div>
    </section>
  );
}

function PlayerMedia({ playing, kind, title, onRetry }: { playing: Playback; kind: Playable['kind']; title: string; onRetry: () => void }) {
  const { now } = useStore(playing);
  if (now.phase === 'ready') {
    const props = { source: now.source, from: now.from, title, onFailed: (at: number) => void playing.failed(at) };
    if (kind === 'stream') return <StreamVideo key={now.source.url} {...props} />;
    return <FileMedia key={now.source.url} kind={kind} {...props} />;
  }
  if (now.phase === 'failed') {
    return (
      <div className="player-message">
        <ErrorAlert problem={now.message} testId="player-problem" />
        <button type="button" className="button" data-testid="player-retry" onClick={onRetry}>
          Try again
        </button>
      </div>
    );
  }
  if (now.phase === 'lost') return <Alert tone="warning">Cannot reach the server. Retrying…</Alert>;
  const { bytes, all } = now;
  return (
    <p className="player-message" role="status">
      {bytes === 0 ? 'Opening…' : `Loading: ${formatBytes(bytes)}${all === undefined ? '' : ` of ${formatBytes(all)}`}`}
    </p>
  );
}

type MediaProps = { source: Source; from: number; title: string; onFailed: (at: number) => void };

function FileMedia({ kind, source, from, title, onFailed }: MediaProps & { kind: 'audio' | 'video' }) {
  const element = useRef<HTMLVideoElement & HTMLAudioElement>(null);
  const shared = {
    ref: element,
    src: source.url,
    controls: true,
    autoPlay: true,
    'aria-label': title,
    'data-testid': 'media',
    onLoadedMetadata: () => goTo(element, from),
    onError: () => onFailed(element.current?.currentTime ?? 0),
  };
  return kind === 'audio' ? <audio {...shared} /> : <video {...shared} playsInline />;
}

function StreamVideo({ source, from, title, onFailed }: MediaProps) {
  const element = useRef<HTMLVideoElement>(null);
  const failed = useRef(onFailed);
  failed.current = onFailed;
  const { url, authorization } = source;
  useEffect(() => {
    let stop: (() => void) | undefined;
    let stopped = false;
    const fail = () => !stopped && failed.current(element.current?.currentTime ?? 0);
    playStream(element, { url, authorization }, from, fail).then((ended) => {
      if (stopped) ended();
      else stop = ended;
    }, fail);
    return () => {
      stopped = true;
      stop?.();
    };
  }, [url, authorization, from]);
  // biome-ignore lint/a11y/useMediaCaption: hls.js adds the captions of streams
  return <video ref={element} controls autoPlay playsInline aria-label={title} data-testid="media" />;
}

/** @returns a function that ends it */
async function playStream(
  element: RefObject<HTMLVideoElement | null>,
  source: Source,
  from: number,
  fail: () => void,
): Promise<() => void> {
  const { default: Hls } = await import('hls.js');
  const video = element.current;
  if (!video) return () => undefined;
  if (!Hls.isSupported()) {
    // Native HLS of phones, which cannot send a header.
    if (source.authorization !== undefined) fail();
    video.addEventListener('error', fail);
    video.addEventListener('loadedmetadata', () => goTo(element, from), { once: true });
    video.src = source.url;
    return () => video.removeEventListener('error', fail);
  }
  const { authorization } = source;
  // Its worker is created from a blob, which the content security policy forbids.
  const hls = new Hls({
    enableWorker: false,
    lowLatencyMode: false,
    startPosition: from,
    ...(authorization !== undefined && {
      xhrSetup: (request: XMLHttpRequest) => request.setRequestHeader('authorization', authorization),
    }),
  });
  hls.on(Hls.Events.ERROR, (_, { fatal }) => {
    if (!fatal) return;
    hls.stopLoad();
    fail();
  });
  hls.loadSource(source.url);
  hls.attachMedia(video);
  return () => hls.destroy();
}

function goTo(element: RefObject<HTMLMediaElement | null>, seconds: number): void {
  if (element.current && seconds > 0) element.current.currentTime = seconds;
}
