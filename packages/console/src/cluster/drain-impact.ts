// What draining a node will do, in sentences, from what lives on it now.
import type { DrainView } from '../../../server-sdk/src/generated/schemas.ts';
import { pluralize } from '../format.ts';

/** Hours and minutes where that is today, else the day as well; in the zone of the browser. */
export function formatTime(time: number, now: number = Date.now()): string {
  const sameDay = new Date(time).toDateString() === new Date(now).toDateString();
  return new Intl.DateTimeFormat(undefined, { timeStyle: 'short', ...(!sameDay && { dateStyle: 'medium' }) }).format(time);
}

/** @param others nodes that take rooms beside this one; @param seconds until rooms end that still have people in them */
export function drainImpact(
  { rooms, roomsWithPeers, connectedPeers }: Pick<DrainView, 'rooms' | 'roomsWithPeers' | 'connectedPeers'>,
  others: number,
  seconds: number,
): string[] {
  const empty = rooms - roomsWithPeers;
  return [
    others > 0
      ? `New rooms go to the ${others === 1 ? 'one other node that takes some' : `${others} other nodes that take some`}.`
      : 'No other node takes rooms: until this one is called back, whoever asks for a new room is refused.',
    empty > 0 ? `${pluralize(empty, 'room')} without anybody connected ${empty === 1 ? 'ends' : 'end'} at once.` : 'No room ends at once.',
    roomsWithPeers === 0 ? 'Nobody is connected here.' : occupied(roomsWithPeers, connectedPeers, seconds),
  ];
}

function occupied(rooms: number, peers: number, seconds: number): string {
  const who = `${pluralize(rooms, 'room')} with ${pluralize(peers, 'person', 'people')}`;
  if (seconds === 0) return `${who} ${rooms === 1 ? 'ends' : 'end'} at once as well.`;
  return `${who} ${rooms === 1 ? 'goes' : 'go'} on until everybody left, or the deadline; those in ${rooms === 1 ? 'it' : 'them'} are told when that is.`;
}
