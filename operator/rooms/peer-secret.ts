// Secret with tokens and URLs of the declared peers of a Room: name, content and token renewal.

import { createHash } from 'node:crypto';
import { peerSocketPath } from '../../api/peer.ts';
import { controllerOwner, controllerReference, isControlledBy, isOrphanOf, type ObjectMeta, type Stored } from '../kube/objects.ts';
import type { Room } from '../objects.ts';
import type { Secret } from './desired-components.ts';

/** Generation of the token keys of the cluster when the tokens were created. */
const generationAnnotation = 'mediarooms.dev/key-generation';
/** Tolerated clock skew in milliseconds. */
const tolerableSkewMs = 60_000;
const maxNameLength = 253;
const ourLabels = { 'app.kubernetes.io/managed-by': 'mediarooms-operator', 'app.kubernetes.io/name': 'mediarooms' };

export type PeerCredentials = { token: string; url: string };

/** The peer Secret: undefined if it does not exist, `foreign` if it is not ours; `left`: of a deleted Room of the same name, or without a controller. */
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
    // A Secret that is already being deleted needs no action. One of ours that lost its owner, as in a restore, is created again.
    const left = (isOrphanOf(secret, room) || isUnowned(secret)) && secret.metadata.deletionTimestamp === undefined;
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

/** Whether a peer Secret has no controller, for example after a restore from a backup. */
function isUnowned(secret: Stored<Secret>): boolean {
  const { labels = {}, annotations = {} } = secret.metadata;
  const isOurs = Object.entries(ourLabels).every(([name, value]) => labels[name] === value);
  return isOurs && annotations[generationAnnotation] !== undefined && controllerOwner(secret) === undefined;
}

/** The Secret to apply. */
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
      labels: ourLabels,
      annotations: { [generationAnnotation]: String(keyGeneration) },
      ownerReferences: [controllerReference(room)],
    },
    data,
  };
}

/** Issue and expiry time in milliseconds since 1970 by the clock of the node; undefined for an invalid token. */
export function tokenTimes(token: string): { issuedAt: number; expiresAt: number } | undefined {
  try {
    const { iat, exp } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')) as Record<string, unknown>;
    if (typeof iat === 'number' && typeof exp === 'number' && exp > iat) return { issuedAt: iat * 1000, expiresAt: exp * 1000 };
  } catch {
    // Not a token of a node.
  }
  return undefined;
}

/**
 * Milliseconds until a token must be renewed, at half of its lifetime; 0 or less means now.
 * @param now the clock of the operator
 * @param skewMs how far the clock of the node is ahead; undefined if the operator has received no token since its start
 */
export function renewalIn(token: string, now: number, skewMs: number | undefined): number {
  const times = tokenTimes(token);
  if (!times) return 0;
  const { issuedAt, expiresAt } = times;
  const nodeNow = now + (skewMs ?? 0);
  // A token issued in the future means clock skew; a fresh token measures it.
  if (skewMs === undefined && issuedAt > nodeNow + tolerableSkewMs) return 0;
  return issuedAt + (expiresAt - issuedAt) / 2 - nodeNow;
}

/** Adds a scheme for clients. @param bare `host[:port][/path]/socket/peer/websocket` @param api base URL of any node, if one exists */
export function peerUrl(bare: string | undefined, api: string | undefined): string | undefined {
  if (api !== undefined) return `${api.replace(/^http/, 'ws').replace(/\/$/, '')}${peerSocketPath}`;
  return bare === undefined ? undefined : `ws://${bare}`;
}
