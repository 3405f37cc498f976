// Test server: a peer websocket with real rooms and sockets on a separate port, and fake media.
import { createServer } from 'node:http';
import type { TestContext } from 'node:test';
import type { RoomEvent } from '../../../api/events.ts';
import { peerSocketPath } from '../../../api/peer.ts';
import { AccessAdmission } from '../../../node/rooms/access-admission.ts';
import type { LocalRooms } from '../../../node/rooms/local-rooms.ts';
import { AccessTokens } from '../../../node/rooms/tokens/access-tokens.ts';
import { PeerSockets, type PeerSocketsOptions } from '../../../node/signaling/peer-sockets.ts';
import { accessKey } from '../../kit/access-tokens.ts';
import { makeRooms } from '../../kit/fakes/rooms.ts';
import { listen } from '../../kit/network/listen.ts';
import { PeerSocket } from '../../kit/network/peer-socket.ts';
import { silentLog } from '../../kit/silent-log.ts';

export type SocketServer = Awaited<ReturnType<typeof startSocketServer>>;

function accessTo(rooms: LocalRooms): AccessAdmission {
  return new AccessAdmission({
    rooms,
    tokens: new AccessTokens({ keys: () => [accessKey], maxTtl: () => 86_400_000 }),
    openRoom: async (room) => void (await rooms.createRoom(room)),
    discovering: () => false,
  });
}

/** Starts the server; it is closed at the end of the test. */
export async function startSocketServer(test: TestContext, options: Partial<PeerSocketsOptions> = {}) {
  const listeners = new Set<() => void>();
  const onEvent = () => {
    for (const listener of listeners) listener();
  };
  const { rooms, media, events, keys } = makeRooms({}, { clustered: true, onEvent });
  const sockets = new PeerSockets({
    log: silentLog(),
    findPeer: (roomId, peerId) => rooms.findPeer(roomId, peerId),
    whyMissing: (...who) => rooms.roomNotFoundError(...who),
    verifyToken: (token) => keys.verify(token),
    signToken: (claims) => keys.sign(claims),
    access: accessTo(rooms),
    iceServers: ({ id }) => [{ urls: 'turn:turn.example.com', username: id }],
    resumeWindow: () => 10,
    rateLimit: () => 50,
    checkOrigin: () => 'any',
    address: () => 'media.example.com:5002/rooms',
    ...options,
  });
  const server = createServer();
  server.on('upgrade', (request, socket, head) => sockets.handleUpgrade(request, socket, head));
  test.after(async () => {
    rooms.close('test');
    await sockets.close();
  });
  const url = `ws://127.0.0.1:${await listen(test, server)}${peerSocketPath}`;

  /** Adds a peer to a room, which is created if missing, and returns its token. */
  const addPeer = async (peerId: string, roomId = 'room') => {
    if (![...rooms.all()].some((room) => room.id === roomId)) await rooms.createRoom({ roomId });
    const { token } = await rooms.addPeer(roomId, { type: 'webrtc', peerId });
    const peer = rooms.findPeer(roomId, peerId);
    if (!peer) throw new Error(`no peer ${peerId}`);
    return { peer, token };
  };
  /** Resolves after an event of that type and peer. */
  const happened = (type: RoomEvent['type'], peerId: string, count = 1) =>
    new Promise<void>((resolve) => {
      const check = () => {
        if (events.filter((event) => event.type === type && event.peerId === peerId).length < count) return;
        listeners.delete(check);
        resolve();
      };
      listeners.add(check);
      check();
    });
  const enter = async (peerId: string, more: Record<string, unknown> = {}) => {
    const { token, peer } = await addPeer(peerId);
    const socket = await PeerSocket.enter(url, token, more);
    return Object.assign(socket, { token, peer });
  };
  const types = (peerId: string) => events.filter((event) => event.peerId === peerId).map((event) => event.type);
  return { url, rooms, sockets, media, events, keys, server, addPeer, enter, happened, types };
}

/** A server with a peer `a` that has entered. */
export async function enteredServer(test: TestContext, options: Partial<PeerSocketsOptions> = {}) {
  const server = await startSocketServer(test, options);
  return { server, socket: await server.enter('a') };
}

/** The fields of a response to authenticate that tests use. */
export type WelcomeData = { sessionId: string; resumed: boolean; lastRequest: number; resumeWindow: number };
