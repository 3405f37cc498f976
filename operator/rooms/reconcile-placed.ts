// Decision for a Room whose room exists: the next difference between room and spec. Pure.
import { peerSocketPath } from '../../api/peer.ts';
import type { RoomSpec, RoomStatus } from '../../crds/types.ts';
import type { ConditionReason } from '../kube/conditions.ts';
import type { NodeComponent, NodeRoomConfig, PeerPatchRequest, PeerRequest } from '../nodes/schemas.ts';
import { configChanges, configOf, declaredName, externalIdOf, isAsDeclared, peerChange, peerRequest } from './desired.ts';
import type { DesiredComponent } from './desired-components.ts';
import type { Action, Decision, Observed, ObservedRoom } from './observed.ts';
import { type PeerCredentials, peerSecretName, peerUrl, renewalIn } from './peer-secret.ts';
import { contextOf, placedStatus } from './status.ts';

/** Minimum interval between writes of peer counts, in milliseconds. */
export const countsIntervalMs = 10_000;
const slowMs = 60_000;
const minRequeueMs = 200;
const maxRequeueMs = 24 * 60 * 60_000;
const finishedMessage = 'The component finished.';

type Cluster = { name: string; api: string | undefined; keyGeneration: number; defaults: Parameters<typeof configOf>[1] };
type Present = Extract<ObservedRoom, { kind: 'present' }>;
type ComponentStatus = NonNullable<RoomStatus['components']>[number];

/** Differences between the room and the spec, and what the status reports about them. */
type Diff = {
  /** Without a configuration that the node rejected. */
  config: Partial<NodeRoomConfig> | undefined;
  components: ComponentsDiff;
  peers: PeersDiff;
  access: AccessDiff;
};

/** The steps of a placed Room, in order: the first that is needed ends the pass. Without any, the Room is reported as placed. */
const steps: Readonly<Record<string, (diff: Diff) => Action | false | undefined>> = {
  patchConfig: ({ config }) => config && { type: 'patch', config },
  removeComponents: ({ components: { superfluous } }) => superfluous.length > 0 && { type: 'removeComponents', ids: superfluous },
  addComponents: ({ components: { missing } }) => missing.length > 0 && { type: 'addComponents', components: missing },
  removePeers: ({ peers: { superfluous } }) => superfluous.length > 0 && { type: 'removePeers', ids: superfluous },
  addPeers: ({ peers: { missing } }) => missing.length > 0 && { type: 'addPeers', peers: missing },
  patchPeers: ({ peers: { changed } }) => changed.length > 0 && { type: 'patchPeers', peers: changed },
  deleteSecret: ({ access: { obsolete } }) => obsolete && { type: 'deleteSecret' },
  getTokens: ({ access: { due } }) => due.length > 0 && { type: 'tokens', peers: due },
  writeSecret: ({ access: { unwritten } }) => unwritten && { type: 'writeSecret', ...unwritten },
};

export function reconcilePlaced(observed: Observed, cluster: Cluster, spec: RoomSpec, location: Present): Decision {
  const { status, refusedConfig } = observed;
  const config = configChanges(configOf(spec, cluster.defaults), location.room.config);
  const diff = {
    config: refusedConfig ? undefined : config,
    components: componentsOf(observed, location),
    peers: peersOf(observed, spec, location),
    access: accessOf(observed, cluster, spec, location),
  };
  for (const step of Object.values(steps)) {
    const action = step(diff);
    if (action) return { status, action };
  }
  const refused = config && refusedConfig ? [refusedConfig] : [];
  return placed(observed, cluster, location, diff, [...refused, ...diff.access.unmet, ...diff.peers.unmet, ...diff.components.unmet]);
}

function placed(observed: Observed, cluster: Cluster, location: Present, { components, access }: Diff, unmet: ConditionReason[]): Decision {
  const { status, room, countsAgeMs } = observed;
  const { connected, total } = countsOf(location);
  const countsDiffer = status.peers !== undefined && (status.peers.connected !== connected || status.peers.total !== total);
  const countPeers = !countsDiffer || countsAgeMs >= countsIntervalMs;
  const requeue = Math.min(
    access.renewInMs,
    countPeers ? Number.POSITIVE_INFINITY : countsIntervalMs - countsAgeMs,
    unmet.length > 0 ? slowMs : Number.POSITIVE_INFINITY,
  );
  return {
    status: placedStatus(status, contextOf(observed), {
      cluster: cluster.name,
      room: location.room,
      node: location.node,
      address: location.address,
      components: components.statuses,
      countPeers,
      peersSecretName: access.written ? peerSecretName(room.metadata) : undefined,
      unmet,
      degradations: components.troubles,
    }),
    action: Number.isFinite(requeue)
      ? { type: 'wait', requeueAfterMs: Math.min(Math.max(requeue, minRequeueMs), maxRequeueMs) }
      : { type: 'wait' },
  };
}

function countsOf({ room }: Present): { total: number; connected: number } {
  return { total: room.peers.length, connected: room.peers.filter((peer) => peer.status === 'connected').length };
}

type CreatableComponent = Extract<DesiredComponent, { request: unknown }>;
type ComponentsDiff = {
  superfluous: string[];
  missing: CreatableComponent[];
  statuses: ComponentStatus[];
  unmet: ConditionReason[];
  troubles: ConditionReason[];
};

function componentsOf(observed: Observed, { room }: Present): ComponentsDiff {
  const { uid } = observed.room.metadata;
  const mine = new Map(
    room.components.flatMap((each) => (declaredName(each.externalId, uid) === undefined ? [] : [[each.externalId ?? '', each]])),
  );
  // If a Secret is missing, a component running with an earlier Secret is kept.
  const keeps = (externalId: string) =>
    observed.desiredComponents.some((desired) =>
      'problem' in desired
        ? declaredName(externalId, uid) === desired.name
        : externalIdOf(uid, desired.name, desired.revision) === externalId,
    );
  const superfluous = [...mine].filter(([externalId]) => !keeps(externalId)).map(([, { id }]) => id);
  const missing: CreatableComponent[] = [];
  const statuses: ComponentStatus[] = [];
  const unmet: ConditionReason[] = [];
  const troubles: ConditionReason[] = [];
  for (const desired of observed.desiredComponents) {
    const { name, type } = desired;
    const prefix = { name, type };
    if ('problem' in desired) {
      const running = [...mine].find(([externalId]) => declaredName(externalId, uid) === name)?.[1];
      const message = `Component ${name}: ${desired.problem.message}`;
      statuses.push({ ...prefix, ...(running && { id: running.id }), ready: running !== undefined, message: desired.problem.message });
      unmet.push({ reason: desired.problem.reason, message });
      continue;
    }
    const { revision } = desired;
    const running = mine.get(externalIdOf(uid, name, revision));
    const refusal = observed.refusedComponents.get(`${name}/${revision}`);
    const finished = running ? undefined : finishedOne(observed, room.incarnation, desired);
    if (running) {
      const trouble = troubleOf(running);
      statuses.push({ ...prefix, id: running.id, ready: true, revision, ...(trouble && { message: trouble.message }) });
      if (trouble) troubles.push({ ...trouble, message: `Component ${name}: ${trouble.message}` });
    } else if (finished) statuses.push(finished);
    else if (refusal) {
      statuses.push({ ...prefix, ready: false, revision, message: refusal.message });
      unmet.push({ reason: refusal.reason, message: `Component ${name}: ${refusal.message}` });
    } else missing.push(desired);
  }
  return { superfluous, missing, statuses, unmet, troubles };
}

/** It runs, but its uploads fail. The message of the node contains no keys. */
function troubleOf({ properties }: NodeComponent): ConditionReason | undefined {
  const problem = properties?.uploadProblem;
  return problem ? { reason: 'UploadsFail', message: `Its uploads fail: ${problem}.` } : undefined;
}

/** A component that finished its work is not recreated. */
function finishedOne(
  observed: Observed,
  incarnation: string,
  desired: { name: string; type: string; revision: string },
): ComponentStatus | undefined {
  const { status, componentEnds } = observed;
  const last = status.components?.find(({ name }) => name === desired.name);
  if (!last?.id || last.revision !== desired.revision || status.incarnation !== incarnation) return undefined;
  const end = componentEnds.get(last.id);
  // Only a file ends on its own, and the event may be missing or late; a later event takes precedence.
  const finished = end === undefined ? last.message === finishedMessage || desired.type === 'file' : end === 'finished';
  return finished ? { ...last, ready: false, message: finishedMessage } : undefined;
}

type PeersDiff = { superfluous: string[]; missing: PeerRequest[]; changed: PeerPatchRequest[]; unmet: ConditionReason[] };

function peersOf(observed: Observed, spec: RoomSpec, { room }: Present): PeersDiff {
  const { uid } = observed.room.metadata;
  const declared = new Map((spec.peers ?? []).map((peer) => [peer.name, peerRequest(uid, peer)]));
  const superfluous = room.peers.filter(({ externalId, id }) => declaredName(externalId, uid) !== undefined && !declared.has(id));
  const found = new Map(room.peers.map((peer) => [peer.id, peer]));
  const unmet: ConditionReason[] = [];
  const missing: PeerRequest[] = [];
  const changed: PeerPatchRequest[] = [];
  for (const [name, request] of declared) {
    const peer = found.get(name);
    const refusal = observed.refusedPeers.get(name);
    const foreign = peer !== undefined && peer.externalId !== request.externalId;
    if (foreign) unmet.push({ reason: 'PeerIdTaken', message: `Peer ${name}: the room has a foreign peer with that id.` });
    else if (peer && isAsDeclared(peer, request)) continue;
    else if (refusal) unmet.push({ reason: refusal.reason, message: `Peer ${name}: ${refusal.message}` });
    else if (peer) changed.push(peerChange(peer, request));
    else missing.push(request);
  }
  return { superfluous: superfluous.map(({ id }) => id), missing, changed, unmet };
}

type AccessDiff = {
  /** The Secret has no peers any more, or belongs to a deleted Room of the same name. */
  obsolete: boolean;
  /** Peers that need a token. */
  due: string[];
  /** Content of a Secret that is not written. */
  unwritten: { peers: ReadonlyMap<string, PeerCredentials>; keyGeneration: number } | undefined;
  written: boolean;
  renewInMs: number;
  unmet: ConditionReason[];
};
const noAccess: AccessDiff = {
  obsolete: false,
  due: [],
  unwritten: undefined,
  written: false,
  renewInMs: Number.POSITIVE_INFINITY,
  unmet: [],
};

/** Tokens and URLs of the declared peers that exist, stored in their Secret. */
function accessOf(observed: Observed, cluster: Cluster, spec: RoomSpec, location: Present): AccessDiff {
  const { secret, newTokens, now, skewMs } = observed;
  const { uid } = observed.room.metadata;
  const ours = location.room.peers.filter(({ externalId, id }) => externalId === externalIdOf(uid, id));
  if ((spec.peers ?? []).length === 0) return { ...noAccess, obsolete: secret?.foreign === false };
  // The garbage collector is slow, or does not support Rooms yet.
  if (secret?.foreign && secret.left) return { ...noAccess, obsolete: true };
  if (secret?.foreign) {
    const message = `Secret ${peerSecretName(observed.room.metadata)} is not controlled by this Room and was not changed; peers get no tokens.`;
    return { ...noAccess, unmet: [{ reason: 'SecretNotOurs', message }] };
  }
  const stored = secret?.peers ?? new Map<string, Partial<PeerCredentials>>();
  const sameKeys = secret?.keyGeneration === cluster.keyGeneration;
  const due: string[] = [];
  const wanted = new Map<string, PeerCredentials>();
  let renewInMs = Number.POSITIVE_INFINITY;
  for (const { id } of ours) {
    const kept = stored.get(id);
    const keptIn = kept?.token === undefined || !sameKeys ? 0 : renewalIn(kept.token, now.getTime(), skewMs);
    const given = newTokens.get(id);
    const token = keptIn > 0 ? kept?.token : given?.token;
    const bare = given?.url ?? (location.address === undefined ? undefined : `${location.address}${peerSocketPath}`);
    const url = peerUrl(bare, cluster.api) ?? kept?.url;
    if (token === undefined || url === undefined) due.push(id);
    else {
      wanted.set(id, { token, url });
      renewInMs = Math.min(renewInMs, keptIn > 0 ? keptIn : renewalIn(token, now.getTime(), skewMs ?? 0));
    }
  }
  const written = secret !== undefined && sameKeys && sameAccess(stored, wanted);
  const unwritten = written ? undefined : { peers: wanted, keyGeneration: cluster.keyGeneration };
  return { ...noAccess, due, unwritten, written, renewInMs };
}

function sameAccess(stored: ReadonlyMap<string, Partial<PeerCredentials>>, wanted: ReadonlyMap<string, PeerCredentials>): boolean {
  if (stored.size !== wanted.size) return false;
  return [...wanted].every(([peer, { token, url }]) => stored.get(peer)?.token === token && stored.get(peer)?.url === url);
}
