// Observed state of a Room for tests.
import type { ComponentType } from '../../../../api/component/types.ts';
import { mapNames, type RoomFieldName, roomFieldNames } from '../../../../api/room.ts';
import { roomSpecSchema } from '../../../../crds/room.ts';
import type { RoomStatus } from '../../../../crds/types.ts';
import type { NodeComponent, NodePeer, NodeRoom } from '../../../../operator/nodes/schemas.ts';
import type { Decision, Observed } from '../../../../operator/rooms/observed.ts';
import { reconcile } from '../../../../operator/rooms/reconcile.ts';

export const now = new Date('2026-11-21T12:00:00Z');
export const uid = '6c5b6c0e-8a30-4d52-9f7b-0d7a3c8f1e11';
export const incarnation = '01JD7Z0000000000000000000A';

export type Given = Partial<Omit<Observed, 'room' | 'spec'>> & {
  spec?: object;
  metadata?: Partial<Observed['room']['metadata']>;
  message?: string;
};

/** The MediaCluster of every Room. */
export const cluster = {
  name: 'media',
  defaults: { peerDisconnectedTimeout: 120, peerlessPurgeTimeout: null },
  api: undefined as string | undefined,
  keyGeneration: 0,
};

/** Finalized, generation 1, for the MediaCluster `media`; no room exists yet. */
export function observed({ spec = {}, metadata = {}, message, ...given }: Given = {}): Observed {
  const status = given.status ?? {};
  return {
    room: {
      apiVersion: 'mediarooms.dev/v1alpha2',
      kind: 'Room',
      metadata: { name: 'r', namespace: 'n', uid, resourceVersion: '1', generation: 1, ...metadata },
      spec: roomSpecSchema.parse(spec),
      status,
    },
    roomId: 'r',
    spec: message === undefined ? { spec: roomSpecSchema.parse(spec) } : { message },
    status,
    finalized: true,
    cluster,
    conflictsWith: undefined,
    location: { kind: 'absent' },
    desiredComponents: [],
    componentEnds: new Map(),
    componentCrashes: new Map(),
    refusedComponents: new Map(),
    refusedPeers: new Map(),
    refusedConfig: undefined,
    secret: undefined,
    newTokens: new Map(),
    now,
    skewMs: undefined,
    countsAgeMs: 60_000,
    waitingForMs: 0,
    deletingForMs: 0,
    createPendingMs: 0,
    ...given,
  };
}

/** The room as reported by a node, on media-0. */
export function present(room: Partial<NodeRoom> = {}): Extract<Observed['location'], { kind: 'present' }> {
  return { kind: 'present', room: nodeRoom(room), node: 'media-0', address: '127.0.0.1:5002' };
}

export function nodeRoom(room: Partial<NodeRoom> = {}): NodeRoom {
  return {
    id: 'r',
    incarnation,
    externalId: uid,
    config: {
      ...mapNames<RoomFieldName, NodeRoom['config']>(roomFieldNames, () => null),
      admission: 'automatic',
      peerDisconnectedTimeout: 120,
    },
    components: [],
    peers: [],
    legs: [],
    ...room,
  };
}

export function nodePeer(id: string, peer: Partial<NodePeer> = {}): NodePeer {
  const permissions = { publish: ['audio', 'video'], subscribe: true, data: true };
  return { id, externalId: `${uid}/${id}`, status: 'disconnected', permissions, attributes: {}, admitted: true, ...peer };
}

export function nodeComponent(name: string, revision: string, component: Partial<NodeComponent> = {}): NodeComponent {
  return { id: `id-of-${name}`, type: 'file', externalId: `${uid}/${name}/${revision}`, ...component };
}

export function desiredComponent(name: string, revision = 'v1', type: ComponentType = 'file'): Observed['desiredComponents'][number] {
  return { name, type, revision, request: { type, options: {}, externalId: `${uid}/${name}/${revision}` } };
}

/** Status of a Room that is Ready like `present`. */
export function readyStatus(given: Given = {}): RoomStatus {
  return reconcile(observed({ ...given, location: given.location ?? present() })).status;
}

export function conditionsOf({ status }: Pick<Decision, 'status'>): Record<string, string> {
  return Object.fromEntries((status.conditions ?? []).map(({ type, status: is, reason }) => [type, `${is} ${reason}`]));
}

/** A token issued and expiring at these times, in hours from now. */
export function token(issued: number, expires: number): string {
  const seconds = (hours: number) => Math.floor(now.getTime() / 1000 + hours * 3600);
  const payload = Buffer.from(JSON.stringify({ iat: seconds(issued), exp: seconds(expires) })).toString('base64url');
  return `e30.${payload}.c2ln`;
}
