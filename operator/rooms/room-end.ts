// Maps the end of a room to its consequence: ended, crashed, or lost and to be recreated.
import type { ConditionReason } from '../kube/conditions.ts';
import { timeText } from '../kube/times.ts';

/** Window in milliseconds in which crashes of a Room or of one of its components count; the third and later ones cause a pause. */
export const crashWindowMs = 10 * 60_000;
export const maxCrashes = 3;
/** Longer than the restart of workers and nodes, so that a Room that crashes immediately is recreated rarely. */
export const crashPauseMs = 30_000;

const ends: Readonly<Record<string, ConditionReason>> = {
  deleted: { reason: 'Deleted', message: 'The room ended: it was deleted over REST.' },
  peerless: { reason: 'Purged', message: 'The room ended: no peer was connected for its peerlessPurgeTimeout.' },
};

/** The node is shutting down or lost; or an older room with the same id exists on another node. */
const losses: Readonly<Record<string, string>> = {
  draining: 'its node was drained',
  shutdown: 'its node was stopped',
  duplicate: 'a duplicate of its id was found after a network partition',
  node_lost: 'its node was lost',
};

export type RoomEnd =
  | { kind: 'ended'; why: ConditionReason }
  | { kind: 'lost'; why: ConditionReason }
  | { kind: 'crashed'; why: ConditionReason };

/** @param reason from a response or event of the node; an unknown reason counts as a crash, which limits the rate of recreation */
export function toRoomEnd(reason: string): RoomEnd {
  const ended = Object.hasOwn(ends, reason) ? ends[reason] : undefined;
  if (ended) return { kind: 'ended', why: ended };
  const loss = Object.hasOwn(losses, reason) ? losses[reason] : undefined;
  if (loss !== undefined) return { kind: 'lost', why: { reason: 'RoomLost', message: `The room was lost: ${loss}.` } };
  const crash = reason === 'crashed' ? 'The room crashed.' : `The room crashed: ${reason.slice(0, 200)}.`;
  return { kind: 'crashed', why: { reason: 'RoomCrashed', message: crash } };
}

export const roomLostEnd: RoomEnd = {
  kind: 'lost',
  why: { reason: 'RoomLost', message: 'The room was lost: no node of the MediaCluster has it.' },
};

/** The crashes within the window and one crash now; times in RFC 3339. */
export function recordCrash(earlier: readonly string[] | undefined, now: Date): string[] {
  return [...recentCrashes(earlier, now), timeText(now)].slice(-maxCrashes);
}

/** Milliseconds until a room with these crashes is recreated. */
export function pauseAfterCrashes(crashes: readonly string[] | undefined, now: Date): number {
  const recent = recentCrashes(crashes, now);
  const [last] = recent.slice(-1);
  if (last === undefined || recent.length < maxCrashes) return 0;
  return Math.min(Math.max(Date.parse(last) + crashPauseMs - now.getTime(), 0), crashPauseMs);
}

function recentCrashes(crashes: readonly string[] | undefined, now: Date): string[] {
  return (crashes ?? []).filter((time) => Math.abs(now.getTime() - Date.parse(time)) < crashWindowMs);
}
