// The Secret with the tokens and URLs of a Room's declared peers: its name, what is in it, and which tokens are to be renewed.
import { createHash } from 'node:crypto';
import { controllerReference, isControlledBy, isOrphanOf, type ObjectMeta, type Stored } from '../kube/objects.ts';
import type { Room } from '../objects.ts';
import type { Secret } from './desired-components.ts';

/** Which rotation of the cluster's keys the tokens were made in. */
const generationAnnotation = 'mediarooms.dev/key-generation';
/** A clock may be so wrong without anybody caring, in milliseconds. */
const tolerableSkewMs = 60_000;
const maxNameLength = 253;

export type PeerCredentials = { token: string; url: string };

/** What is in the Secret: undefined where there is none, `foreign` where the name is somebody else's; `left`: of a Room of that name before. */
export type FoundSecret =
  | { foreign: true; left?: true }
  | { foreign: false; peers: ReadonlyMap<string, Partial<PeerCredentials>>; keyGeneration: number }
  | undefined;

export function peerSecretName(room: Pick<ObjectMeta, 'name'>): string {
  const name = `${room.name}-peers`;
  if (name.length <= maxNameLength) return name;
  const digest = createHash('sha256').update(room.name).digest('hex').slice(0, 10);
  return `${room.name.slice(0, maxNameLength - 17)}-${digest}-peers`;
}

export function readPeerSecret(secret: Stored<Secret> | undefined, room: Stored<Room>): FoundSecret {
  if (!secret) return undefined;
  if (!isControlledBy(secret, room.metadata.uid)) {
    // One that is being deleted already goes without us.
    const left = isOrphanOf(secret, room) && secret.metadata.deletionTimestamp === undefined;
    return left ? { foreign: true, left } : { foreign: true };
  }
  const peers = new Map<string, Partial<PeerCredentials>>();
  for (const [key, value] of Object.entries(secret.data ?? {})) {
    const [, peer, field] = /^(.+)\.(token|url)$/.exec(key) ?? [];
    if (peer === undefined || field === undefined) continue;
    peers.set(peer, { ...peers.get(peer), [field]: Buffer.from(value, 'base64').toString('utf8') });
  }
  return { foreign: false, peers, keyGeneration: Number(secret.metadata.annotations?.[generationAnnotation] ?? 0) };
}

/** As it is to be applied. */
export function peerSecret(room: Stored<Room>, peers: ReadonlyMap<string, PeerCredentials>, keyGeneration: number) {
  const data: Record<string, string> = {};
  for (const [peer, { token, url }] of peers) {
    data[`${peer}.token`] = Buffer.from(token).toString('base64');
    data[`${peer}.url`] = Buffer.from(url).toString('base64');
  }
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {
      name: peerSecretName(room.metadata),
      namespace: room.metadata.namespace,
      labels: { 'app.kubernetes.io/managed-by': 'mediarooms-operator', 'app.kubernetes.io/name': 'mediarooms' },
      annotations: { [generationAnnotation]: String(keyGeneration) },
      ownerReferences: [controllerReference(room)],
    },
    data,
  };
}

/** Issued and expiring when, in milliseconds since 1970 by the node's clock; undefined for what is no token. */
export function tokenTimes(token: string): { issuedAt: number; expiresAt: number } | undefined {
  try {
    const { iat, exp } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')) as Record<string, unknown>;
    if (typeof iat === 'number' && typeof exp === 'number' && exp > iat) return { issuedAt: iat * 1000, expiresAt: exp * 1000 };
  } catch {
    // Nothing that a node made.
  }
  return undefined;
}

/**
 * Milliseconds until a token is to be renewed, at half of its life; 0 or less: now.
 * @param now the operator's clock
 * @param skewMs how far the node's clock is ahead of it; undefined where no token came since the operator started
 */
export function renewalIn(token: string, now: number, skewMs: number | undefined): number {
  const times = tokenTimes(token);
  if (!times) return 0;
  const { issuedAt, expiresAt } = times;
  const nodeNow = now + (skewMs ?? 0);
  // A token from the future says that one of the clocks is wrong: a fresh one tells by how much.
  if (skewMs === undefined && issuedAt > nodeNow + tolerableSkewMs) return 0;
  return issuedAt + (expiresAt - issuedAt) / 2 - nodeNow;
}

/** With a scheme, as clients use it. @param bare `host[:port][/path]/socket/peer/websocket` @param api of any node, where there is one for all */
export function peerUrl(bare: string | undefined, api: string | undefined): string | undefined {
  if (api !== undefined) return `${api.replace(/^http/, 'ws').replace(/\/$/, '')}/socket/peer/websocket`;
  return bare === undefined ? undefined : `ws://${bare}`;
}
