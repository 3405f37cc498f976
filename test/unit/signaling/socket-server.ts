// Test server: a peer websocket with real rooms and sockets on a separate port, and fake media.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { RoomEvent } from '../../../api/events.ts';
import { peerSocketPath } from '../../../api/peer.ts';
import { silentLog } from '../../../node/common/log.ts';
import { PeerTokens } from '../../../node/rooms/tokens/peer-tokens.ts';
import { PeerSockets, type PeerSocketsOptions } from '../../../node/signaling/peer-sockets.ts';
import { FakeComponentRegistry } from '../../kit/fakes/fake-components.ts';
import { FakeMedia } from '../../kit/fakes/fake-media.ts';
import { TestLocalRooms } from '../../kit/fakes/local-rooms.ts';
import { noLimits } from '../../kit/fakes/rooms.ts';
import { PeerSocket } from '../../kit/network/peer-socket.ts';

export type SocketServer = Awaited<ReturnType<typeof startSocketServer>>;

/** Starts the server; it is closed at the end of the test. */
export async function startSocketServer(test: TestContext, options: Partial<PeerSocketsOptions> = {}) {
  const log = silentLog();
  const keys = new PeerTokens(['a secret of the tests']);
  const media = new FakeMedia();
  const events: RoomEvent[] = [];
  const listeners = new Set<(event: RoomEvent) => void>();
  const rooms = new TestLocalRooms({
    node: 'test',
    log,
    engine: media,
    components: new FakeComponentRegistry(),
    clustered: true,
    address: () => 'media.example.com:5002/rooms',
    limits: () => noLimits,
    signToken: (claims) => keys.sign(claims),
    onEvent: (event) => {
      events.push(event);
      for (const listener of listeners) listener(event);
    },
  });
  const sockets = new PeerSockets({
    log,
    findPeer: (roomId, peerId) => rooms.findPeer(roomId, peerId),
    whyMissing: (...who) => rooms.roomNotFoundError(...who),
    verifyToken: (token) => keys.verify(token),
    signToken: (claims) => keys.sign(claims),
    iceServers: ({ id }) => [{ urls: 'turn:turn.example.com', username: id }],
    resumeWindow: () => 10,
    rateLimit: () => 50,
    checkOrigin: () => 'any',
    address: () => 'media.example.com:5002/rooms',
    ...options,
  });
  const server = createServer();
  server.on('upgrade', (request, socket, head) => sockets.handleUpgrade(request, socket, head));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}${peerSocketPath}`;
  test.after(async () => {
    rooms.close('test');
    await sockets.close();
    await new Promise((resolve) => server.close(resolve));
  });

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

/** The fields of a response to authenticate that tests use. */
export type WelcomeData = { sessionId: string; resumed: boolean; lastRequest: number; resumeWindow: number };
