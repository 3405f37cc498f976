// A room client against a scripted server, with everything that it tells.
import type { TestContext } from 'node:test';
import { RoomClient, type RoomClientOptions, type RoomEvents } from '../../../node/client/src/index.ts';
import type { FakeServer } from './fake-server.ts';

export const timing = { retryDelays: [0, 10], resumePause: 10 };
const names = [
  'stateChanged',
  'closed',
  'peerJoined',
  'peerLeft',
  'peerUpdated',
  'componentAdded',
  'componentUpdated',
  'componentRemoved',
  'trackAdded',
  'trackRemoved',
  'trackUpdated',
  'trackSubscribed',
  'trackUnsubscribed',
  'activeSpeaker',
  'data',
  'dataDropped',
  'localTrackEnded',
  'localTrackMuted',
  'permissionsUpdated',
  'draining',
] as const satisfies readonly (keyof RoomEvents)[];

export function roomAt(t: TestContext, server: FakeServer, options: Partial<RoomClientOptions> = {}) {
  const room = new RoomClient({ url: server.url, token: 'token', timing, ...options });
  t.after(() => room.leave());
  const told: { name: keyof RoomEvents; data: unknown }[] = [];
  const waiting = new Set<() => void>();
  for (const name of names) {
    room.on(name, (data) => {
      told.push({ name, data });
      for (const wake of waiting) wake();
    });
  }
  const until = async <Name extends keyof RoomEvents>(
    name: Name,
    matches: (data: RoomEvents[Name]) => boolean = () => true,
  ): Promise<RoomEvents[Name]> => {
    for (;;) {
      const found = told.find((each) => each.name === name && matches(each.data as RoomEvents[Name]));
      if (found) return found.data as RoomEvents[Name];
      await new Promise<void>((resolve) => waiting.add(resolve));
    }
  };
  return { room, told, until };
}
