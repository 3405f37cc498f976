// Drain impact: the consequences of draining a node as messages, from its current rooms.
import type { DrainView } from '../../../server-sdk/src/generated/schemas.ts';
import { plural, pluralize } from '../format.ts';

/** Time of day, with the date if it is not today; in the time zone of the browser. */
export function formatTime(time: number, now: number = Date.now()): string {
  const sameDay = new Date(time).toDateString() === new Date(now).toDateString();
  return new Intl.DateTimeFormat(undefined, { timeStyle: 'short', ...(!sameDay && { dateStyle: 'medium' }) }).format(time);
}

/** Nodes older than 0.8 do not report `busy`. */
type Impact = Pick<DrainView, 'rooms' | 'roomsWithPeers' | 'connectedPeers' | 'busy'>;

/** @param others number of other nodes that accept rooms. @param seconds until busy rooms are closed */
export function drainImpact(
  { rooms, roomsWithPeers, connectedPeers, busy = { ...none, rooms: roomsWithPeers, peers: connectedPeers } }: Impact,
  others: number,
  seconds: number,
): string[] {
  const idle = rooms - busy.rooms;
  return [
    others > 0
      ? plural(
          others,
          'New rooms will be created on the one other node that accepts rooms.',
          'New rooms will be created on the # other nodes that accept rooms.',
        )
      : 'No other node accepts rooms: new rooms will be rejected until the drain is cancelled.',
    idle > 0 ? plural(idle, '# idle room ends immediately.', '# idle rooms end immediately.') : 'No rooms end immediately.',
    busy.rooms === 0 ? 'No participants are connected, and nothing else is live.' : occupied(busy, seconds),
  ];
}

const none = { calls: 0, streams: 0, recordings: 0, files: 0 } as const;

function occupied({ rooms, ...busy }: NonNullable<Impact['busy']>, seconds: number): string {
  const live = contentsOf(busy);
  return seconds === 0
    ? plural(rooms, `# room with ${live} ends immediately.`, `# rooms with ${live} end immediately.`)
    : plural(
        rooms,
        `# room with ${live} continues until it is idle or the deadline; participants are notified.`,
        `# rooms with ${live} continue until they are idle or the deadline; participants are notified.`,
      );
}

function contentsOf({ peers, calls, streams, recordings, files }: Omit<NonNullable<Impact['busy']>, 'rooms'>): string {
  const all: readonly [count: number, noun: string][] = [
    [peers, 'participant'],
    [calls, 'phone call'],
    [streams, 'watched stream'],
    [recordings, 'recording'],
    [files, 'playing file'],
  ];
  return all
    .filter(([count]) => count > 0)
    .map(([count, noun]) => pluralize(count, noun))
    .join(', ');
}
