// Busy: what is live in rooms, by cause. A drain waits for busy rooms and ends the others at once.
import type { ComponentType } from '../../api/component/types.ts';
import type { BusyView } from '../../api/node.ts';
import type { Room } from './room.ts';

/** Cause under which the live parts of a component count. */
const causeOf = { file: 'files', hls: 'streams', recording: 'recordings', sip: 'calls' } as const satisfies Record<
  ComponentType,
  keyof BusyView
>;

export function busyOf(rooms: Iterable<Room>): BusyView {
  const busy: BusyView = { rooms: 0, peers: 0, calls: 0, streams: 0, recordings: 0, files: 0 };
  for (const room of rooms) {
    if (isBusy(room)) busy.rooms += 1;
    busy.peers += room.peers.connectedCount;
    for (const component of room.components.all()) busy[causeOf[component.type]] += component.busy;
  }
  return busy;
}

export function isBusy({ peers, components }: Room): boolean {
  // Agents do not keep a room open.
  return [...peers.connected()].some(({ rights }) => !rights.agent) || [...components.all()].some(({ busy }) => busy > 0);
}
