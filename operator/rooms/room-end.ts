// What a room's end means for its Room: it ended, it crashed, or it is lost and to be made again.
import type { ConditionReason } from './observed.ts';

/** Crashes in so many milliseconds, of which the third and later make a pause. */
const crashWindowMs = 10 * 60_000;
const maxCrashes = 3;
/** Longer than workers and nodes take to come back, so that a Room that crashes at once again does so seldom. */
export const crashPauseMs = 30_000;

const ends: Readonly<Record<string, ConditionReason>> = {
  deleted: { reason: 'Deleted', message: 'The room ended: it was deleted over REST.' },
  peerless: { reason: 'Purged', message: 'The room ended: nobody was connected for its peerlessPurgeTimeout.' },
};

/** The node goes or went; or an older room of the same id lives elsewhere, which is found then. */
const losses: Readonly<Record<string, string>> = {
  draining: 'its node is drained',
  shutdown: 'its node was stopped',
  duplicate: 'another one of its id was found when nodes met again',
  node_lost: 'its node is lost',
};

export type RoomEnd =
  | { kind: 'ended'; why: ConditionReason }
  | { kind: 'lost'; why: ConditionReason }
  | { kind: 'crashed'; why: ConditionReason };

/** @param reason as the node tells it in its answer or event; an unknown one counts as a crash, so that nothing goes on for ever */
export function toRoomEnd(reason: string): RoomEnd {
  const ended = Object.hasOwn(ends, reason) ? ends[reason] : undefined;
  if (ended) return { kind: 'ended', why: ended };
  const loss = Object.hasOwn(losses, reason) ? losses[reason] : undefined;
  if (loss !== undefined) return { kind: 'lost', why: { reason: 'RoomLost', message: `The room is lost: ${loss}.` } };
  const crash = reason === 'crashed' ? 'The room crashed.' : `The room crashed: ${reason.slice(0, 200)}.`;
  return { kind: 'crashed', why: { reason: 'RoomCrashed', message: crash } };
}

export const roomLostEnd: RoomEnd = { kind: 'lost', why: { reason: 'RoomLost', message: 'The room is lost: no node has it any more.' } };

/** The crashes that still count, with one more now; times in RFC 3339. */
export function recordCrash(earlier: readonly string[] | undefined, now: Date): string[] {
  return [...recentCrashes(earlier, now), now.toISOString().replace(/\.\d+Z$/, 'Z')].slice(-maxCrashes);
}

/** Milliseconds until a room that crashed as often as this is made again. */
export function pauseAfterCrashes(crashes: readonly string[] | undefined, now: Date): number {
  const recent = recentCrashes(crashes, now);
  const [last] = recent.slice(-1);
  if (last === undefined || recent.length < maxCrashes) return 0;
  return Math.min(Math.max(Date.parse(last) + crashPauseMs - now.getTime(), 0), crashPauseMs);
}

function recentCrashes(crashes: readonly string[] | undefined, now: Date): string[] {
  return (crashes ?? []).filter((time) => Math.abs(now.getTime() - Date.parse(time)) < crashWindowMs);
}
