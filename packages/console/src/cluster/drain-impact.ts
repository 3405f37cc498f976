// Drain impact: the consequences of draining a node as messages, from its current rooms.
import type { DrainView } from '../../../server-sdk/src/generated/schemas.ts';
import { plural, pluralize } from '../format.ts';

/** Time of day, with the date if it is not today; in the time zone of the browser. */
export function formatTime(time: number, now: number = Date.now()): string {
  const sameDay = new Date(time).toDateString() === new Date(now).toDateString();
  return new Intl.DateTimeFormat(undefined, { timeStyle: 'short', ...(!sameDay && { dateStyle: 'medium' }) }).format(time);
}

/** @param others number of other nodes that accept rooms. @param seconds until rooms with participants are closed */
export function drainImpact(
  { rooms, roomsWithPeers, connectedPeers }: Pick<DrainView, 'rooms' | 'roomsWithPeers' | 'connectedPeers'>,
  others: number,
  seconds: number,
): string[] {
  const empty = rooms - roomsWithPeers;
  return [
    others > 0
      ? plural(
          others,
          'New rooms will be created on the one other node that accepts rooms.',
          'New rooms will be created on the # other nodes that accept rooms.',
        )
      : 'No other node accepts rooms: new rooms will be rejected until the drain is cancelled.',
    empty > 0
      ? plural(empty, '# room without participants ends immediately.', '# rooms without participants end immediately.')
      : 'No rooms end immediately.',
    roomsWithPeers === 0 ? 'No participants are connected.' : occupied(roomsWithPeers, connectedPeers, seconds),
  ];
}

function occupied(rooms: number, peers: number, seconds: number): string {
  const participants = pluralize(peers, 'participant');
  return seconds === 0
    ? plural(rooms, `# room with ${participants} ends immediately.`, `# rooms with ${participants} end immediately.`)
    : plural(
        rooms,
        `# room with ${participants} continues until everyone has left or the deadline; participants are notified.`,
        `# rooms with ${participants} continue until everyone has left or the deadline; participants are notified.`,
      );
}
