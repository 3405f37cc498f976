// Room kit: a room client against a scripted server, with its recorded events.
import { EventEmitter } from 'node:events';
import type { TestContext } from 'node:test';
import type { JoinResponse } from '../../../packages/client/src/generated/protocol.ts';
import { RoomClient, type RoomClientOptions, type RoomEvents } from '../../../packages/client/src/index.ts';
import { emits, eventually } from '../../kit/eventually.ts';
import { type FakeServer, type FakeSocket, startFakeServer } from './fake-server.ts';

export const timing = { retryDelays: [0, 10], resumePause: 10 };
const names = [
  'stateChanged',
  'waiting',
  'admitted',
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
  'trackNotSupported',
  'activeSpeaker',
  'data',
  'transcriptAdded',
  'dataDropped',
  'localTrackEnded',
  'localTrackMuted',
  'permissionsUpdated',
  'profileUpdated',
  'roomUpdated',
  'draining',
] as const satisfies readonly (keyof RoomEvents)[];

export function roomAt(t: TestContext, server: FakeServer, options: Partial<RoomClientOptions> = {}) {
  const room = new RoomClient({ url: server.url, ...(options.accessToken === undefined && { token: 'token' }), timing, ...options });
  t.after(() => room.leave());
  const reported: { name: keyof RoomEvents; data: unknown }[] = [];
  const events = new EventEmitter();
  for (const name of names) {
    room.on(name, (data) => {
      reported.push({ name, data });
      events.emit('reported');
    });
  }
  const until = async <Name extends keyof RoomEvents>(
    name: Name,
    matches: (data: RoomEvents[Name]) => boolean = () => true,
  ): Promise<RoomEvents[Name]> => {
    const find = () => reported.find((each) => each.name === name && matches(each.data as RoomEvents[Name]));
    return (await eventually(name, find, { wakes: emits(events, 'reported') })).data as RoomEvents[Name];
  };
  return { room, reported, until };
}

/** A room client that has joined; `prepare` runs for each socket of the server. */
export async function joinedRoom(
  t: TestContext,
  options: Partial<RoomClientOptions> = {},
  welcome: Partial<JoinResponse> = {},
  prepare?: (socket: FakeSocket) => void,
) {
  const server = await startFakeServer(t);
  if (prepare) server.prepare(prepare);
  const reported = roomAt(t, server, options);
  const joined = reported.room.join();
  const socket = await server.next();
  await socket.welcome(welcome);
  await joined;
  return { server, socket, ...reported };
}
