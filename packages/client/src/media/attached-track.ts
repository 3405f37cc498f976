// Attached track: the elements that show one received track. Their size and visibility select the layer to request.

import type { Layers } from '../generated/protocol.ts';
import { chooseLayers, fullSize, layersOf, type RenderedSize } from './layers.ts';

export type WatchedTrackOptions = {
  setPreferredLayers: (layers: Layers) => void;
};

/** Assumed size of videos of unknown size, in pixels. */
const assumedSize: RenderedSize = { width: 1280, height: 720 };
/** Debounce of size changes in milliseconds: dragging a window is one change. */
const settleTime = 150;

/** Owns its DOM observers until close(). */
export class AttachedTrack {
  readonly #options: WatchedTrackOptions;
  readonly #places = new Map<HTMLElement, { shown: RenderedSize; visible: boolean }>();
  readonly #resize: ResizeObserver | undefined;
  readonly #intersection: IntersectionObserver | undefined;
  readonly #update = () => this.#schedule();
  #modes = { spatial: 1, temporal: 1 };
  #current: Layers | null = null;
  #asked: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: WatchedTrackOptions) {
    this.#options = options;
    if (typeof ResizeObserver !== 'function') return;
    this.#resize = new ResizeObserver((entries) => {
      for (const { target, contentRect } of entries) this.#sized(target as HTMLElement, contentRect);
    });
    this.#intersection = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) this.#seen(target as HTMLElement, isIntersecting);
    });
    document.addEventListener('visibilitychange', this.#update);
  }

  get places(): Iterable<HTMLElement> {
    return this.#places.keys();
  }

  add(place: HTMLElement): void {
    if (this.#places.has(place)) return;
    const { width, height } = place.getBoundingClientRect();
    this.#places.set(place, { shown: pixels({ width, height }), visible: true });
    place.addEventListener('resize', this.#update);
    this.#resize?.observe(place);
    this.#intersection?.observe(place);
    this.#schedule();
  }

  remove(place: HTMLElement): void {
    if (!this.#places.delete(place)) return;
    place.removeEventListener('resize', this.#update);
    this.#resize?.unobserve(place);
    this.#intersection?.unobserve(place);
    this.#schedule();
  }

  /** The track is received (again): sets its layers and clears the last request. */
  received(scalabilityMode: string | undefined): void {
    this.#modes = layersOf(scalabilityMode);
    this.#current = null;
    this.#asked = undefined;
    this.#ask();
  }

  layersChanged(layers: Layers | null): void {
    this.#current = layers;
    this.#schedule();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#resize?.disconnect();
    this.#intersection?.disconnect();
    for (const place of this.#places.keys()) place.removeEventListener('resize', this.#update);
    this.#places.clear();
    if (typeof document === 'object') document.removeEventListener('visibilitychange', this.#update);
  }

  #sized(place: HTMLElement, size: { width: number; height: number }): void {
    const known = this.#places.get(place);
    if (known) known.shown = pixels(size);
    this.#schedule();
  }

  #seen(place: HTMLElement, visible: boolean): void {
    const known = this.#places.get(place);
    if (known) known.visible = visible;
    this.#schedule();
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#ask();
    }, settleTime);
  }

  #ask(): void {
    if (this.#places.size === 0 || (this.#modes.spatial === 1 && this.#modes.temporal === 1)) return;
    const layers = chooseLayers(this.#modes, this.#fullSize(), this.#largest());
    const text = JSON.stringify(layers);
    if (text === this.#asked) return;
    this.#asked = text;
    this.#options.setPreferredLayers(layers);
  }

  #fullSize(): RenderedSize {
    const video = [...this.#places.keys()].find((place) => place instanceof HTMLVideoElement && place.videoWidth > 0);
    if (!(video instanceof HTMLVideoElement) || !this.#current) return assumedSize;
    return fullSize({ width: video.videoWidth, height: video.videoHeight }, this.#current.spatialLayer, this.#modes.spatial);
  }

  #largest(): RenderedSize {
    const hidden = document.visibilityState === 'hidden';
    const places = [...this.#places].filter(([place, { visible }]) => (visible && !hidden) || isPictureInPicture(place));
    return places.reduce((most, [, { shown }]) => (shown.width * shown.height > most.width * most.height ? shown : most), {
      width: 0,
      height: 0,
    });
  }
}

function pixels({ width, height }: { width: number; height: number }): RenderedSize {
  const ratio = globalThis.devicePixelRatio || 1;
  return { width: width * ratio, height: height * ratio };
}

function isPictureInPicture(place: HTMLElement): boolean {
  return document.pictureInPictureElement === place;
}
