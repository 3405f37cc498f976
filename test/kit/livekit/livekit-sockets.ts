// LiveKit sockets of a node on fake media, in one process with a test.
import { createServer } from 'node:http';
import type { TestContext } from 'node:test';
import { AddTrackRequest, SessionDescription } from '@livekit/protocol';
import { TokenBucket } from '../../../node/common/token-bucket.ts';
import { livekitLimits } from '../../../node/livekit/limits.ts';
import { LiveKitSockets, type LiveKitSocketsOptions } from '../../../node/livekit/sockets.ts';
import { AccessAdmission } from '../../../node/rooms/access-admission.ts';
import { AccessTokens } from '../../../node/rooms/tokens/access-tokens.ts';
import { accessKey, signAccessToken } from '../access-tokens.ts';
import { offers } from '../media/sdp-offers.ts';
import { listen } from '../network/listen.ts';
import { silentLog } from '../silent-log.ts';
import { makeLiveKitRooms } from './livekit-rooms.ts';
import { LiveKitSocket } from './livekit-socket.ts';

/** With the room `room`. */
export async function startLiveKitSockets(t: TestContext, options: Partial<LiveKitSocketsOptions> = {}) {
  const { rooms, media } = await makeLiveKitRooms(t);
  const sockets = new LiveKitSockets({
    log: silentLog(),
    limits: livekitLimits,
    access: new AccessAdmission({
      rooms,
      tokens: new AccessTokens({ keys: () => [accessKey], maxTtl: () => 86_400_000 }),
      openRoom: async (given) => void (await rooms.createRoom(given)),
      discovering: () => false,
    }),
    forward: () => false,
    workOf: () => new TokenBucket(() => null, 1),
    iceServers: () => [{ urls: ['turn:turn.example.com'], username: 'u', credential: 'c' }],
    findPeer: (roomId, peerId) => rooms.findPeer(roomId, peerId),
    statsOf: async () => ({ peers: [] }),
    checkOrigin: () => 'any',
    address: () => 'node.example.com',
    rateLimit: () => 50,
    resumeWindow: () => 10_000,
    ...options,
  });
  const server = createServer();
  server.on('upgrade', (request, socket, head) => sockets.handleUpgrade(request, socket, head));
  const url = `http://127.0.0.1:${await listen(t, server)}`;
  t.after(async () => {
    rooms.close('test');
    await sockets.close();
  });
  const open = async (identity: string, query: Record<string, string> = {}, claims: Record<string, unknown> = {}) =>
    LiveKitSocket.open(url, await signAccessToken({ identity, claims }), query);
  const join = async (identity: string, claims: Record<string, unknown> = {}) => {
    const socket = await open(identity, {}, claims);
    return Object.assign(socket, { joined: await socket.waitFor('join') });
  };
  const openSingle = async (identity: string, request: Parameters<typeof LiveKitSocket.openSingle>[2]) =>
    LiveKitSocket.openSingle(url, await signAccessToken({ identity }), request);
  const peer = (peerId: string) => rooms.room('room').peers.get(peerId);
  return { rooms, room: media.room('room'), sockets, url, open, openSingle, join, peer };
}

/** Publishes a video. @returns its SID */
export async function publishVideo(client: LiveKitSocket): Promise<string> {
  client.send({ case: 'addTrack', value: new AddTrackRequest({ cid: 'c', type: 1, source: 1 }) });
  const { track } = await client.waitFor('trackPublished');
  client.send({ case: 'offer', value: new SessionDescription({ type: 'offer', sdp: offers.chromium, id: 1 }) });
  await client.waitFor('answer');
  return track?.sid ?? '';
}
