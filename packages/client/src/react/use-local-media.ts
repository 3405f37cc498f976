// Local media hook: requests camera and microphone, publishes and switches them, and releases them on unmount.
import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';
import type { Json, Kind } from '../generated/protocol.ts';
import { useLocalTracks, useRoom } from './hooks.ts';
import { LocalMediaPublisher, type MediaEnabled } from './local-media-publisher.ts';
import { useStore } from './room-provider.ts';

export type LocalMediaOptions = {
  /** Constraints of getUserMedia(); default `true`. */
  audio?: boolean | MediaTrackConstraints;
  video?: boolean | MediaTrackConstraints;
  /** Metadata of the tracks for other peers; only the first value is used. */
  metadata?: Json;
  /** Requests the devices while true; default `true`. */
  enabled?: boolean;
};

export type LocalMedia = {
  /** Stream for the local preview; undefined until the devices are available. */
  stream: MediaStream | undefined;
  /** Why there is no stream, or why it could not be published. */
  problem: Error | undefined;
  /** True if other peers receive audio or video; false also if the server muted or removed the track, or the device was disconnected. */
  microphone: boolean;
  camera: boolean;
  /** Switch a device on or off. A removed track is published again; denied or disconnected devices are requested again. */
  setMicrophone: (on: boolean) => void;
  setCamera: (on: boolean) => void;
};

/** Publishes the user's camera and microphone while the component is mounted. */
export function useLocalMedia({ audio = true, video = true, metadata, enabled = true }: LocalMediaOptions = {}): LocalMedia {
  const room = useRoom();
  const store = useStore();
  const locals = useLocalTracks();
  const [problem, setProblem] = useState<Error>();
  const [on, setOn] = useState<MediaEnabled>({ audio: true, video: true });
  const sender = useRef<LocalMediaPublisher>(undefined);
  // Mirrors the state `on`: publications before the next rendering must use the latest choice.
  const latest = useRef({ metadata, on });
  const choose = useCallback((kind: Kind, value: boolean) => {
    latest.current.on = { ...latest.current.on, [kind]: value };
    setOn(latest.current.on);
  }, []);

  const { stream, refused, renew } = useDevices(enabled ? JSON.stringify({ audio, video }) : undefined, setProblem);
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
      if (sender.current?.set(kind, value) === false || (value && refused.current)) renew();
    },
    [choose, refused, renew],
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

type Devices = { stream: MediaStream | undefined; refused: RefObject<boolean>; renew: () => void };

/** @param wanted constraints as JSON; undefined releases the devices */
function useDevices(wanted: string | undefined, setProblem: (problem: Error | undefined) => void): Devices {
  const [stream, setStream] = useState<MediaStream>();
  /** Number of repeated requests for denied or disconnected devices. */
  const [renewals, setRenewals] = useState(0);
  const refused = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each renewal requests the devices again
  useEffect(() => {
    if (wanted === undefined) return;
    let over = false;
    let mine: MediaStream | undefined;
    refused.current = false;
    navigator.mediaDevices.getUserMedia(JSON.parse(wanted)).then(
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
  }, [wanted, renewals, setProblem]);
  return { stream, refused, renew: useCallback(() => setRenewals((count) => count + 1), []) };
}

function stop(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}
