// The hook of the own camera and microphone: asked for, published, switched off and on, stopped with the component.
import { useCallback, useEffect, useRef, useState } from 'react';
import type { Json, Kind } from '../protocol.ts';
import { useLocalTracks, useRoom } from './hooks.ts';
import { LocalMediaPublisher, type MediaEnabled } from './local-media-publisher.ts';
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
  /** Whether the others get sound and picture: off too where the server muted or took them away, or the device is gone. */
  microphone: boolean;
  camera: boolean;
  /** What was taken away is published again; devices that were refused, or are gone, are asked for anew. */
  setMicrophone: (on: boolean) => void;
  setCamera: (on: boolean) => void;
};

export function useLocalMedia({ audio = true, video = true, metadata, enabled = true }: LocalMediaOptions = {}): LocalMedia {
  const room = useRoom();
  const store = useStore();
  const locals = useLocalTracks();
  const [stream, setStream] = useState<MediaStream>();
  const [problem, setProblem] = useState<Error>();
  const [on, setOn] = useState<MediaEnabled>({ audio: true, video: true });
  /** Times that devices which were refused, or are gone, were asked for anew. */
  const [renewals, setRenewals] = useState(0);
  const refused = useRef(false);
  const sender = useRef<LocalMediaPublisher>(undefined);
  // `on` beside its state: what is published before the next rendering follows what was chosen meanwhile.
  const latest = useRef({ metadata, on });
  const choose = useCallback((kind: Kind, value: boolean) => {
    latest.current.on = { ...latest.current.on, [kind]: value };
    setOn(latest.current.on);
  }, []);

  const wanted = enabled ? JSON.stringify({ audio, video, renewals }) : undefined;
  useEffect(() => {
    if (wanted === undefined) return;
    let over = false;
    let mine: MediaStream | undefined;
    refused.current = false;
    const { renewals: _, ...constraints } = JSON.parse(wanted) as MediaStreamConstraints & { renewals: number };
    navigator.mediaDevices.getUserMedia(constraints).then(
      (found) => {
        mine = found;
        if (over) stop(found);
        else {
          setProblem(undefined);
          setStream(found);
        }
      },
      (error: unknown) => {
        if (over) return;
        refused.current = true;
        setProblem(error instanceof Error ? error : new Error(String(error)));
      },
    );
    return () => {
      over = true;
      if (mine) stop(mine);
      setStream(undefined);
    };
  }, [wanted]);

  useEffect(() => {
    if (!room || !stream) return;
    const changed = () => store.changed(['localTracks']);
    const sending = new LocalMediaPublisher({
      room,
      stream,
      ...latest.current,
      changed,
      problem: setProblem,
      off: (kind) => choose(kind, false),
    });
    sender.current = sending;
    return () => {
      sender.current = undefined;
      sending.close();
      changed();
    };
  }, [room, stream, store, choose]);

  const set = useCallback(
    (kind: Kind, value: boolean) => {
      choose(kind, value);
      if (!refused.current) setProblem(undefined);
      if (sender.current?.set(kind, value) === false || (value && refused.current)) setRenewals((count) => count + 1);
    },
    [choose],
  );
  const isOn = (kind: Kind) => {
    const muted = locals.some((local) => local.kind === kind && local.muted && stream?.getTracks().includes(local.mediaStreamTrack));
    return stream !== undefined && on[kind] && !muted;
  };
  return {
    stream,
    problem,
    microphone: audio !== false && isOn('audio'),
    camera: video !== false && isOn('video'),
    setMicrophone: useCallback((value) => set('audio', value), [set]),
    setCamera: useCallback((value) => set('video', value), [set]),
  };
}

function stop(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}
