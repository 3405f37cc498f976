// Default encodings: simulcast for cameras, a single encoding for everything else.
import type { types } from 'mediasoup-client';

export type Encoding = types.RtpEncodingParameters;

/** Maximum bitrate for this frame size, in bit/s. */
export function bitrateFor(width: number, height: number): number {
  // 0.08 bits per pixel at 30 frames per second: 720p 2.2 Mbit/s, 360p 550 kbit/s, 180p 140 kbit/s.
  return Math.min(4_000_000, Math.max(100_000, Math.round((width * height * 30 * 0.08) / 10_000) * 10_000));
}

export type EncodingPreferences = { simulcast: boolean; codec: string | undefined; width: number; height: number; screen: boolean };

/**
 * Encodings from the smallest to the largest layer: three from 540 lines, two from 270, because layers below 135 lines are useless. VP9 and
 * AV1 have all layers in one stream (scalable video coding).
 */
export function defaultEncodings({ simulcast, codec, width, height, screen }: EncodingPreferences): Encoding[] {
  const short = Math.min(width, height);
  const layers = short >= 540 ? 3 : short >= 270 ? 2 : 1;
  const layered = codec === 'vp9' || codec === 'av1';
  if (layered) return [{ scalabilityMode: screen ? 'L1T3' : `L${simulcast ? layers : 1}T3${simulcast && layers > 1 ? '_KEY' : ''}` }];
  if (!simulcast || layers === 1) return [{ maxBitrate: screen ? 3_000_000 : bitrateFor(width, height), scalabilityMode: 'L1T3' }];
  return Array.from({ length: layers }, (_, index) => {
    const scale = 2 ** (layers - 1 - index);
    return { scaleResolutionDownBy: scale, maxBitrate: bitrateFor(width / scale, height / scale), scalabilityMode: 'L1T3' };
  });
}

/** Activates the encodings up to `top`, null: none, except those that the application publishes inactive. */
export function activateLayers(encodings: { active?: boolean }[], top: number | null, published: readonly Encoding[] = []): void {
  for (const [index, encoding] of encodings.entries()) {
    encoding.active = top !== null && index <= top && published[index]?.active !== false;
  }
}

/**
 * Initial bitrate in kbit/s. A browser sends a layer only if its estimate covers all smaller layers and, with reserve, the minimum of this
 * one; from its default of 300 kbit/s that takes many seconds. A slower link is detected within one second.
 */
export function startBitrate(encodings: readonly Encoding[]): number {
  const rates = encodings.map(({ maxBitrate }) => maxBitrate ?? 2_000_000);
  const top = rates.at(-1) ?? 2_000_000;
  const smaller = rates.slice(0, -1).reduce((sum, rate) => sum + rate, 0);
  return Math.round(Math.max(300_000, Math.min(2_000_000, smaller + top / 2)) / 1_000);
}

/** True if a track captures a screen: such video stays sharp in one encoding. */
export function isScreen(track: MediaStreamTrack): boolean {
  const settings: MediaTrackSettings & { displaySurface?: string } = track.getSettings?.() ?? {};
  return settings.displaySurface !== undefined || track.contentHint === 'detail' || track.contentHint === 'text';
}

/** Frame size in pixels; 720p if the track does not report it yet. */
export function videoSize(track: MediaStreamTrack): { width: number; height: number } {
  const { width = 1280, height = 720 } = track.getSettings?.() ?? {};
  return { width, height };
}
