// The hook of the own camera and microphone: asked for, published, switched off and on, stopped with the component.
import { useCallback, useEffect, useRef, useState } from 'react';
import type { LocalTrack } from '../local-track.ts';
import type { Json, Kind } from '../protocol.ts';
import { useRoom } from './hooks.ts';
import { useStore } from './room-provider.ts';

export type LocalMediaOptions = {
  /** What getUserMedia() takes; `true` by default. */
  audio?: boolean | MediaTrackConstraints;
  video?: boolean | MediaTrackConstraints;
  /** What the others see of the tracks; that of the first time counts. */
  metadata?: Json;
  /** Asks for the devices only while this is true; `true` by default. */
  enabled?: boolean;
};

export type LocalMedia = {
  /** For the own picture; undefined until the devices are there. */
  stream: MediaStream | undefined;
  /** Why there is none, or why it could not be published. */
  problem: Error | undefined;
  /** Whether the others get sound and picture. */
  microphone: boolean;
  camera: boolean;
  setMicrophone: (on: boolean) => void;
  setCamera: (on: boolean) => void;
};

export function useLocalMedia({ audio = true, video = true, metadata, enabled = true }: LocalMediaOptions = {}): LocalMedia {
  const room = useRoom();
  const store = useStore();
  const [stream, setStream] = useState<MediaStream>();
  const [problem, setProblem] = useState<Error>();
  const [on, setOn] = useState({ audio: true, video: true });
  const published = useRef(new Map<Kind, LocalTrack>());
  // `on` beside its state: a track whose publishing ends before the next rendering follows what was chosen meanwhile.
  const first = useRef({ metadata, on });

  const wanted = enabled ? JSON.stringify({ audio, video }) : undefined;
  useEffect(() => {
    if (wanted === undefined) return;
    let over = false;
    let mine: MediaStream | undefined;
    navigator.mediaDevices.getUserMedia(JSON.parse(wanted)).then(
      (found) => {
        mine = found;
        if (over) stop(found);
        else {
          setProblem(undefined);
          setStream(found);
        }
      },
      (error: unknown) => !over && setProblem(asError(error)),
    );
    return () => {
      over = true;
      if (mine) stop(mine);
      setStream(undefined);
    };
  }, [wanted]);

  useEffect(() => {
    if (!room || !stream) return;
    let over = false;
    const tracks = published.current;
    for (const track of stream.getTracks()) {
      const kind = track.kind === 'audio' ? 'audio' : 'video';
      const paused = !first.current.on[kind];
      const { metadata: shown } = first.current;
      room
        .publish(track, { paused, ...(shown !== undefined && { metadata: shown }) })
        .then(async (local) => {
          if (over) {
            await local.unpublish();
            return;
          }
          tracks.set(kind, local);
          await follow(local, first.current.on[kind]);
          store.changed(['localTracks']);
        })
        .catch((error: unknown) => !over && setProblem(asError(error)));
    }
    return () => {
      over = true;
      for (const local of tracks.values()) local.unpublish().catch(() => {});
      tracks.clear();
      store.changed(['localTracks']);
    };
  }, [room, stream, store]);

  const set = useCallback(
    (kind: Kind, value: boolean) => {
      first.current.on = { ...first.current.on, [kind]: value };
      setOn(first.current.on);
      const local = published.current.get(kind);
      if (local)
        follow(local, value).then(
          () => store.changed(['localTracks']),
          (error: unknown) => setProblem(asError(error)),
        );
    },
    [store],
  );
  return {
    stream,
    problem,
    microphone: stream !== undefined && audio !== false && on.audio,
    camera: stream !== undefined && video !== false && on.video,
    setMicrophone: useCallback((value) => set('audio', value), [set]),
    setCamera: useCallback((value) => set('video', value), [set]),
  };
}

async function follow(local: LocalTrack, on: boolean): Promise<void> {
  if (local.paused === !on) return;
  await (on ? local.resume() : local.pause());
}

function stop(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
