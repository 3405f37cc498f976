// What is said while sound, pictures or the server are lost: since when, what is tried, and what the others see of it.
import type { MediaPath, Outage } from '@mediarooms/client';

export type OutageText = { title: string; tried: string; others: string };

/** Milliseconds that a way for sound and pictures may take to be found, or to come back, before anybody is told. */
const outageNoticeDelayMs = 3_000;

export type OutageState = {
  outage: Outage | undefined;
  mediaPath: MediaPath;
  /** When the media path became what it is. */
  mediaSince: Date;
};

export const isInterrupted = (path: MediaPath): boolean => path === 'broken' || path === 'connecting';

/** Trouble that goes on stays what it was, from its beginning on: each new attempt goes through the other states. */
export function withMediaPath(outageState: OutageState, mediaPath: MediaPath, now: Date): OutageState {
  return isInterrupted(outageState.mediaPath) && isInterrupted(mediaPath) ? outageState : { ...outageState, mediaPath, mediaSince: now };
}

/** Undefined where there is nothing to tell. */
export function outageText({ outage, mediaPath, mediaSince }: OutageState, now: Date): OutageText | undefined {
  if (outage) return lostServer(outage, mediaPath, now);
  const lasts = now.getTime() - mediaSince.getTime();
  if (lasts < outageNoticeDelayMs || !isInterrupted(mediaPath)) return undefined;
  const others = 'The others do not see or hear you now. Messages still arrive.';
  if (mediaPath === 'broken') {
    return {
      title: `Sound and pictures have been interrupted for ${duration(lasts)}.`,
      tried: 'Another way is being looked for all the time.',
      others,
    };
  }
  return {
    title: `Sound and pictures have found no way for ${duration(lasts)}.`,
    tried: 'It is tried again and again. A firewall may be in between: another network, such as the hotspot of a phone, may help.',
    others,
  };
}

function lostServer({ since, attempts, keptUntil }: Outage, mediaPath: MediaPath, now: Date): OutageText {
  const time = since.toLocaleTimeString();
  const title = `The connection to the server has been lost for ${duration(now.getTime() - since.getTime())}, since ${time}.`;
  const tried =
    attempts === 0 ? 'It is being tried again.' : `Trying again by itself, ${attempts === 1 ? 'once' : `${attempts} times`} so far.`;
  if (!keptUntil || keptUntil <= now) {
    // The server may have noticed later than this page.
    return { title, tried, others: 'The others see that you are gone, or will soon. When the server answers, you come back as you were.' };
  }
  if (mediaPath === 'connected')
    return { title, tried, others: 'Sound and pictures seem to go through: the others should still see and hear you.' };
  const left = duration(keptUntil.getTime() - now.getTime());
  return {
    title,
    tried,
    others: `The others see your picture stand still and do not hear you. If it lasts ${left} more, they will see you gone.`,
  };
}

/** E.g. `8 seconds`, `2 minutes`. */
function duration(milliseconds: number): string {
  const seconds = Math.max(1, Math.round(milliseconds / 1_000));
  const [count, unit] = seconds < 100 ? [seconds, 'second'] : [Math.round(seconds / 60), 'minute'];
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
