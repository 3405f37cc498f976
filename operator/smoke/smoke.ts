// `--smoke URL`: whether an installation works, from inside: a room over REST, a peer's socket, an answer of the media address, and the end.
// Media itself would need a stack of WebRTC here (DTLS, SRTP), so it goes as far as ICE: packets reach the node and its answers come back.
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../log.ts';
import { NodeClient } from '../nodes/node-client.ts';
import { NodeError } from '../nodes/node-error.ts';
import { PeerSession } from './peer-session.ts';
import { type Candidate, reach } from './reach.ts';

export type SmokeOptions = {
  /** `http://host:port` of any node. */
  url: string;
  token: string;
  /** Whether the media address is asked: it may be one that only clients outside reach. */
  media: boolean;
  /** For everything, in milliseconds. */
  timeout: number;
  log: Log;
};

const pollInterval = 1_000;
const socketTimeout = 20_000;
const reachTimeout = 8_000;
const permissions = { publish: ['audio', 'video'], subscribe: true, data: true };

/** Leaves no room behind. @throws Error with one sentence that says what does not work */
export async function smoke({ url, token, media, timeout, log }: SmokeOptions): Promise<void> {
  const until = performance.now() + timeout;
  const node = new NodeClient({ url, token: () => token });
  const roomId = `smoke-${randomUUID()}`;
  const room = await untilAccepted(() => makeRoom(node, roomId), until);
  log.info({ roomId, address: room.address }, 'a room was made');
  try {
    const peer = await node.addPeer(roomId, { peerId: 'smoke', externalId: roomId, permissions });
    log.info({ roomId, url: peer.url }, 'a peer was added');
    // Whichever node answers here leads to that of the room.
    const session = await PeerSession.open(`${url.replace(/^http/, 'ws')}/socket/peer/websocket`, peer.token, socketTimeout);
    try {
      log.info({ roomId }, 'the socket of the peer is authenticated');
      const { iceParameters, iceCandidates } = await session.transport();
      for (const candidate of media ? firstOfEach(iceCandidates) : []) {
        await reach(candidate, iceParameters, reachTimeout);
        log.info(candidate, 'the media address answers');
      }
    } finally {
      session.close();
    }
  } finally {
    await node.deleteRoom(roomId);
  }
  log.info({ roomId }, 'the room was deleted');
}

function makeRoom(node: NodeClient, roomId: string) {
  return node.createRoom({
    roomId,
    externalId: roomId,
    videoCodec: null,
    maxPeers: 1,
    webhookUrl: null,
    // Where this process is killed, the room ends by itself.
    peerlessPurgeTimeout: 60,
    peerDisconnectedTimeout: null,
  });
}

/** Nodes may only just be starting. */
async function untilAccepted<T>(ask: () => Promise<T>, until: number): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const passing = error instanceof NodeError && (error.status === 0 || error.status >= 500);
      if (!passing || performance.now() + pollInterval > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, pollInterval));
    }
  }
}

/** The first address is the one that clients are meant to use. */
function firstOfEach(candidates: readonly Candidate[]): Candidate[] {
  return (['udp', 'tcp'] as const).flatMap((protocol) => candidates.find((each) => each.protocol === protocol) ?? []);
}

/** A token that may do everything, out of a mounted Secret: of the key `admin`, else the first. @throws Error with one sentence */
export function readToken(folder: string): string {
  const keys = readdirSync(folder).filter((key) => !key.startsWith('..') && !key.endsWith('.read'));
  const key = keys.includes('admin') ? 'admin' : keys.sort()[0];
  if (key === undefined) throw new Error(`There is no API token in ${folder}.`);
  return readFileSync(join(folder, key), 'utf8').trim();
}
