// `--smoke URL`: tests an installation from inside the cluster: a room over REST, a peer websocket, the media address, and the deletion.
// A media test would need a WebRTC stack (DTLS, SRTP), so it covers ICE: packets reach the node and its responses return.

import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { readdirSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { type Permissions, peerSocketPath } from '../../api/peer.ts';
import { namesOf } from '../clusters/names.ts';
import type { Log } from '../log.ts';
import { NodeClient } from '../nodes/node-client.ts';
import { clientError, NodeError } from '../nodes/node-error.ts';
import { type Candidate, checkMediaAddress } from './check-media-address.ts';
import { PeerSession } from './peer-session.ts';

export type SmokeOptions = {
  /** `http[s]://host:port` of any node, or of the API Service. */
  url: string;
  token: string;
  /** Whether the media address is tested; it may be reachable from outside only. */
  media: boolean;
  /** Timeout of the whole test, in milliseconds. */
  timeout: number;
  log: Log;
};

const pollInterval = 1_000;
const socketTimeout = 20_000;
const reachTimeout = 8_000;
const permissions: Permissions = { publish: ['audio', 'video'], subscribe: true, data: true };

/** Deletes its room at the end. @throws Error with a message about the failed step */
export async function smoke({ url, token, media, timeout, log }: SmokeOptions): Promise<void> {
  const until = performance.now() + timeout;
  const roomId = `smoke-${randomUUID()}`;
  const { node, room } = await untilAccepted(async (attempt) => {
    const node = await nodeBehind(url, token, attempt);
    return { node, room: await makeRoom(node, roomId) };
  }, until);
  log.info({ roomId, address: room.address }, 'room created');
  try {
    const peer = await node.addPeer(roomId, { peerId: 'smoke', externalId: roomId, permissions });
    log.info({ roomId, url: peer.url }, 'peer added');
    // Any node proxies the websocket to the owning node.
    const session = await PeerSession.open(`${url.replace(/^http/, 'ws')}${peerSocketPath}`, peer.token, socketTimeout);
    try {
      log.info({ roomId }, 'peer websocket authenticated');
      const { iceParameters, iceCandidates } = await session.transport();
      for (const candidate of media ? firstOfEach(iceCandidates) : []) {
        await checkMediaAddress(candidate, iceParameters, reachTimeout);
        log.info(candidate, 'media address responded');
      }
    } finally {
      session.close();
    }
  } finally {
    await node.deleteRoom(roomId);
  }
  log.info({ roomId }, 'room deleted');
}

function makeRoom(node: NodeClient, roomId: string) {
  return node.createRoom({
    roomId,
    externalId: roomId,
    videoCodec: null,
    maxPeers: 1,
    webhookUrl: null,
    // If this process is killed, the room ends by its timeout.
    peerlessPurgeTimeout: 60,
    peerDisconnectedTimeout: null,
  });
}

/**
 * Over TLS any node, with the token. Otherwise one of the pods in turn, with a signature, which is valid for one address only: the
 * addresses of the pods come from the headless Service.
 */
async function nodeBehind(url: string, token: string, attempt: number): Promise<NodeClient> {
  const { protocol, hostname, port } = new URL(url);
  if (protocol === 'https:') return new NodeClient({ url, token: () => token, signed: false });
  const given = hostname.replace(/^\[|\]$/g, '');
  const [service = '', ...domain] = given.split('.');
  const name = isIP(given) > 0 ? given : [namesOf(service).nodes, ...domain].join('.');
  const pods = await lookup(name, { all: true }).catch((cause: unknown) => {
    throw clientError('unreachable', `${name} could not be resolved.`, { cause });
  });
  const { address, family } = pods[attempt % pods.length] ?? { address: hostname, family: 0 };
  const host = family === 6 ? `[${address}]` : address;
  return new NodeClient({ url: `http://${host}${port && `:${port}`}`, token: () => token, signed: true });
}

/** Retries, because nodes may just be starting. */
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

/** The first address of each protocol is the preferred one. */
function firstOfEach(candidates: readonly Candidate[]): Candidate[] {
  return (['udp', 'tcp'] as const).flatMap((protocol) => candidates.find((each) => each.protocol === protocol) ?? []);
}

/** A full-access token from a mounted Secret: the key `admin`, otherwise the first. @throws Error with a message */
export function readToken(folder: string): string {
  const keys = readdirSync(folder).filter((key) => !key.startsWith('..') && !key.endsWith('.read'));
  const key = keys.includes('admin') ? 'admin' : keys.sort()[0];
  if (key === undefined) throw new Error(`${folder} contains no API token.`);
  return readFileSync(join(folder, key), 'utf8').trim();
}
