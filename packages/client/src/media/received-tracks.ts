// Received tracks: attaches them to elements of the application, in the layers that fit.
import type { types } from 'mediasoup-client';
import type { Unsubscribe } from '../emitter.ts';
import type { Layers } from '../generated/protocol.ts';
import { AttachedTrack } from './attached-track.ts';
import { layersOf } from './layers.ts';

export type ReceivedTracksOptions = {
  consumer: (trackId: string) => types.Consumer | undefined;
  setPreferredLayers: (trackId: string, layers: Layers) => void;
};

/**
 * Layers of a received track. `current`: the received layer, 0 the smallest; null if unknown. `spatial` and `temporal`: number of layers.
 */
export type ReceivedLayers = { current: Layers | null; spatial: number; temporal: number };

type Entry = { watched: AttachedTrack; attached: Set<HTMLMediaElement> };

export class ReceivedTracks {
  readonly #options: ReceivedTracksOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #current = new Map<string, Layers | null>();

  constructor(options: ReceivedTracksOptions) {
    this.#options = options;
  }

  /** Plays the track in the element, also after a resubscription, and selects layers for it. @returns a function that stops it */
  attach(trackId: string, element: HTMLMediaElement): Unsubscribe {
    const entry = this.#entry(trackId);
    entry.attached.add(element);
    const consumer = this.#options.consumer(trackId);
    if (consumer) play(element, consumer.track);
    const stop = this.observe(trackId, element);
    return () => {
      stop();
      if (!entry.attached.delete(element)) return;
      const { track } = this.#options.consumer(trackId) ?? {};
      if (track && element.srcObject instanceof MediaStream && element.srcObject.getTracks().includes(track)) element.srcObject = null;
    };
  }

  /** Selects layers for the rendered size of the element. @returns a function that stops it */
  observe(trackId: string, element: HTMLElement): Unsubscribe {
    const { watched } = this.#entry(trackId);
    watched.add(element);
    return () => {
      watched.remove(element);
      this.#forget(trackId);
    };
  }

  /** Undefined if the track is not received or has only one layer. */
  layers(trackId: string): ReceivedLayers | undefined {
    const consumer = this.#options.consumer(trackId);
    const { spatial, temporal } = layersOf(consumer && scalabilityMode(consumer));
    return spatial === 1 && temporal === 1 ? undefined : { current: this.#current.get(trackId) ?? null, spatial, temporal };
  }

  subscribed(trackId: string, consumer: types.Consumer): void {
    this.#current.delete(trackId);
    const entry = this.#entries.get(trackId);
    if (!entry) return;
    for (const element of entry.attached) play(element, consumer.track);
    entry.watched.received(scalabilityMode(consumer));
  }

  /** Plays another MediaStreamTrack in the elements that have the previous one. @returns true if it is attached to an element */
  replaced(trackId: string, consumer: types.Consumer, previous: MediaStreamTrack): boolean {
    const entry = this.#entries.get(trackId);
    if (!entry) return false;
    for (const element of entry.attached) exchange(element, consumer.track, previous);
    entry.watched.received(scalabilityMode(consumer));
    return entry.attached.size > 0;
  }

  unsubscribed(trackId: string): void {
    this.#current.delete(trackId);
  }

  layersChanged(trackId: string, layers: Layers | null): void {
    this.#current.set(trackId, layers);
    this.#entries.get(trackId)?.watched.layersChanged(layers);
  }

  close(): void {
    for (const { watched } of this.#entries.values()) watched.close();
    this.#entries.clear();
    this.#current.clear();
  }

  #entry(trackId: string): Entry {
    const known = this.#entries.get(trackId);
    if (known) return known;
    const watched = new AttachedTrack({ setPreferredLayers: (layers) => this.#options.setPreferredLayers(trackId, layers) });
    const consumer = this.#options.consumer(trackId);
    if (consumer) watched.received(scalabilityMode(consumer));
    const entry: Entry = { watched, attached: new Set() };
    this.#entries.set(trackId, entry);
    return entry;
  }

  #forget(trackId: string): void {
    const entry = this.#entries.get(trackId);
    if (!entry || [...entry.watched.places].length > 0) return;
    entry.watched.close();
    this.#entries.delete(trackId);
  }
}

function scalabilityMode(consumer: types.Consumer): string | undefined {
  return consumer.rtpParameters.encodings?.[0]?.scalabilityMode;
}

function play(element: HTMLMediaElement, track: MediaStreamTrack): void {
  if (element.srcObject instanceof MediaStream && element.srcObject.getTracks().includes(track)) return;
  element.autoplay = true;
  if (element instanceof HTMLVideoElement) element.playsInline = true;
  element.srcObject = new MediaStream([track]);
  // If the browser requires a user gesture, autoplay continues after it.
  element.play().catch(() => {});
}

/** In this order and in one task: the other order stops the video for good, and a new stream shows an empty frame. */
function exchange(element: HTMLMediaElement, track: MediaStreamTrack, previous: MediaStreamTrack): void {
  const stream = element.srcObject;
  if (!(stream instanceof MediaStream) || !stream.getTracks().includes(previous)) {
    play(element, track);
    return;
  }
  stream.removeTrack(previous);
  stream.addTrack(track);
}
