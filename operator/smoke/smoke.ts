// `--smoke URL`: whether an installation works, from inside: a room over REST, a peer's socket, an answer of the media address, and the end.
// Media itself would need a stack of WebRTC here (DTLS, SRTP), so it goes as far as ICE: packets reach the node and its answers come back.
import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { readdirSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { namesOf } from '../clusters/names.ts';
import type { Log } from '../log.ts';
import { NodeClient } from '../nodes/node-client.ts';
import { NodeError } from '../nodes/node-error.ts';
import { type Candidate, checkMediaAddress } from './check-media-address.ts';
import { PeerSession } from './peer-session.ts';

export type SmokeOptions = {
  /** `http[s]://host:port` of any node, or of the Service of all. */
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
  const roomId = `smoke-${randomUUID()}`;
  const { node, room } = await untilAccepted(async (attempt) => {
    const node = await nodeBehind(url, token, attempt);
    return { node, room: await makeRoom(node, roomId) };
  }, until);
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
        await checkMediaAddress(candidate, iceParameters, reachTimeout);
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

/**
 * Over TLS whichever node answers, with the token. Without it one of the pods in turn, with a signature, which is good at one address only: those of a
 * Service are told by the headless one beside it.
 */
async function nodeBehind(url: string, token: string, attempt: number): Promise<NodeClient> {
  const { protocol, hostname, port } = new URL(url);
  if (protocol === 'https:') return new NodeClient({ url, token: () => token, signed: false });
  const given = hostname.replace(/^\[|\]$/g, '');
  const [service = '', ...domain] = given.split('.');
  const name = isIP(given) > 0 ? given : [namesOf(service).nodes, ...domain].join('.');
  const pods = await lookup(name, { all: true }).catch((cause: unknown) => {
    throw new NodeError({ status: 0, code: 'unreachable', sentence: `${name} leads nowhere.`, cause });
  });
  const { address, family } = pods[attempt % pods.length] ?? { address: hostname, family: 0 };
  const host = family === 6 ? `[${address}]` : address;
  return new NodeClient({ url: `http://${host}${port && `:${port}`}`, token: () => token, signed: true });
}

/** Nodes may only just be starting. */
async function untilAccepted<T>(ask: (attempt: number) => Promise<T>, until: number): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await ask(attempt);
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
