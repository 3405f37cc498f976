// Outage messages: duration, recovery attempts and effect on other participants while media or the server is unreachable.
import type { MediaPath, Outage } from '@mediarooms/client';
import { pluralize } from '../format.ts';

export type OutageText = { title: string; tried: string; others: string };

/** Milliseconds that media may take to connect or to recover before a message is shown. */
const outageNoticeDelayMs = 3_000;

export type OutageState = {
  outage: Outage | undefined;
  mediaPath: MediaPath;
  /** When the media path entered its state. */
  mediaSince: Date;
};

export const isInterrupted = (path: MediaPath): boolean => path === 'broken' || path === 'connecting';

/** Keeps the state and start of an ongoing interruption, because each new attempt passes through the other states. */
export function withMediaPath(outageState: OutageState, mediaPath: MediaPath, now: Date): OutageState {
  return isInterrupted(outageState.mediaPath) && isInterrupted(mediaPath) ? outageState : { ...outageState, mediaPath, mediaSince: now };
}

/** Undefined if nothing is interrupted. */
export function outageText({ outage, mediaPath, mediaSince }: OutageState, now: Date): OutageText | undefined {
  if (outage) return lostServer(outage, mediaPath, now);
  const lasts = now.getTime() - mediaSince.getTime();
  if (lasts < outageNoticeDelayMs || !isInterrupted(mediaPath)) return undefined;
  const others = 'Others cannot see or hear you. Chat still works.';
  if (mediaPath === 'broken') {
    return { title: `Audio and video interrupted for ${duration(lasts)}`, tried: 'Trying other network paths…', others };
  }
  return {
    title: `No media connection for ${duration(lasts)}`,
    tried: 'Retrying… A firewall may be blocking media. Try another network, for example a phone hotspot.',
    others,
  };
}

function lostServer({ since, attempts, keptUntil }: Outage, mediaPath: MediaPath, now: Date): OutageText {
  const time = since.toLocaleTimeString();
  const title = `Disconnected from the server for ${duration(now.getTime() - since.getTime())}, since ${time}`;
  const tried = attempts === 0 ? 'Reconnecting…' : `Reconnecting automatically, ${pluralize(attempts, 'attempt')} so far.`;
  if (!keptUntil || keptUntil <= now) {
    // The server may detect the loss later than this page.
    return { title, tried, others: 'Others see you as disconnected. You will rejoin automatically.' };
  }
  if (mediaPath === 'connected') return { title, tried, others: 'Media still flows: others can probably see and hear you.' };
  const left = duration(keptUntil.getTime() - now.getTime());
  return {
    title,
    tried,
    others: `Your video is frozen and muted for others. They will see you as disconnected in ${left}.`,
  };
}

/** `8 seconds`, `2 minutes`. */
function duration(milliseconds: number): string {
  const seconds = Math.max(1, Math.round(milliseconds / 1_000));
  return seconds < 100 ? pluralize(seconds, 'second') : pluralize(Math.round(seconds / 60), 'minute');
}
