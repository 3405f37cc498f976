// Prepares a pod: allocates its port block, and creates its Services and its claim before the pod.
import type { KubeClient } from '../../kube/client.ts';
import type { ConditionReason } from '../../kube/conditions.ts';
import type { Stored } from '../../kube/objects.ts';
import { isControlledBy, keyOf } from '../../kube/objects.ts';
import type { PodSlot, PortRange } from '../cluster-context.ts';
import { slotObjects } from '../desired.ts';
import type { PersistentVolumeClaim } from '../manifests.ts';
import { namesOf } from '../names.ts';
import { allocatedPorts, allocatePortBlock, exposureOf, fixedPortBlock, mediaRange, portBlockSize, portRangeOf } from '../network/ports.ts';
import type { ClusterStores, ObservedService } from '../observed-objects.ts';
import { namespaceOf, type StoredCluster } from '../owned.ts';
import type { OwnedObjects } from '../owned-objects.ts';

/** How many blocks are tried per reconcile if invisible Services hold node ports. */
const maxTries = 50;
/** How long rejected ports count as used, in milliseconds. */
const refusedFor = 600_000;

type Client = Pick<KubeClient, 'apply' | 'delete' | 'find'>;

export class PodIndexes {
  readonly #stores: ClusterStores;
  readonly #objects: OwnedObjects;
  readonly #now: () => number;
  /** Rejected ports, and the time until which they are not tried again. */
  readonly #refused = new Map<number, number>();
  /** Allocated blocks that are not in the cache of Services yet. */
  readonly #given = new Map<string, { base: number; size: number; at: number }>();
  #range: PortRange | undefined;

  constructor({ stores, objects, now }: { stores: ClusterStores; objects: OwnedObjects; now: () => number }) {
    this.#stores = stores;
    this.#objects = objects;
    this.#now = now;
  }

  /** Node port range, if a rejection contained it. */
  get nodePortRange(): PortRange | undefined {
    return this.#range;
  }

  /** Creates all objects that the pod of that index needs. @throws KubeError if the API server is unavailable */
  async make(client: Client, cluster: StoredCluster, index: number): Promise<{ slot: PodSlot } | { problem: ConditionReason }> {
    const slot = await this.#withPorts(client, cluster, index);
    if ('problem' in slot) return slot;
    for (const object of slotObjects(cluster, slot.slot).others) {
      const applied = await this.#objects.apply(client, cluster, object);
      // An existing claim that rejects changes still serves its pod; the problem is reported once the pod exists.
      if ('problem' in applied && !(object.kind === 'PersistentVolumeClaim' && this.#hasClaim(cluster, object))) return applied;
    }
    return slot;
  }

  #hasClaim(cluster: StoredCluster, claim: PersistentVolumeClaim): boolean {
    const there = this.#stores.persistentVolumeClaims.get(keyOf(claim));
    return there !== undefined && isControlledBy(there, cluster.metadata.uid);
  }

  async #withPorts(client: Client, cluster: StoredCluster, index: number): Promise<{ slot: PodSlot } | { problem: ConditionReason }> {
    for (let tries = 0; tries < maxTries; tries += 1) {
      const basePort = this.#basePort(cluster, index);
      if (basePort === undefined) return { problem: noPorts(cluster) };
      const slot = { index, basePort };
      const { media } = slotObjects(cluster, slot);
      if (!media) return { slot };
      const applied = await this.#objects.apply(client, cluster, media);
      const key = keyOf(media);
      if (!('problem' in applied)) {
        if (exposureOf(cluster.spec) === 'nodePort')
          this.#given.set(key, { base: basePort, size: portBlockSize(cluster.spec), at: this.#now() });
        return { slot };
      }
      this.#given.delete(key);
      const message = applied.error?.message ?? '';
      const range = portRangeOf(message);
      const taken = allocatedPorts(message);
      if (range !== undefined && cluster.spec.media?.ports === undefined && range.from !== this.#range?.from) this.#range = range;
      else if (taken.length > 0) for (const port of taken) this.#refused.set(port, this.#now() + refusedFor);
      else return applied;
    }
    return { problem: noPorts(cluster) };
  }

  /** Base port of the existing Service, otherwise the next free block. */
  #basePort(cluster: StoredCluster, index: number): number | undefined {
    const { spec } = cluster;
    if (exposureOf(spec) !== 'nodePort') return fixedPortBlock(spec, index);
    const size = portBlockSize(spec);
    const range = mediaRange(spec, this.#range ? { nodePortRange: this.#range } : {});
    const key = `${namespaceOf(cluster)}/${namesOf(cluster.metadata.name).media(index)}`;
    const given = this.#given.get(key);
    const there = this.#stores.services.get(key);
    const kept = given ?? (there && isControlledBy(there, cluster.metadata.uid) ? blockOf(there) : undefined);
    if (kept?.size === size && kept.base >= range.from && kept.base + size - 1 <= range.to) return kept.base;
    return allocatePortBlock(range, size, this.#used(key));
  }

  #used(butOf: string): Set<number> {
    const now = this.#now();
    for (const [port, until] of this.#refused) if (until <= now) this.#refused.delete(port);
    for (const [key, { at }] of this.#given) if (this.#stores.services.get(key) || now - at > 60_000) this.#given.delete(key);
    const used = new Set(this.#refused.keys());
    for (const service of this.#stores.services.list())
      if (keyOf(service) !== butOf) for (const { nodePort } of service.spec?.ports ?? []) if (nodePort !== undefined) used.add(nodePort);
    for (const [key, { base, size }] of this.#given)
      if (key !== butOf) for (let offset = 0; offset < size; offset += 1) used.add(base + offset);
    return used;
  }
}

/** Node port block of a media Service; undefined if it has none. */
function blockOf(service: Stored<ObservedService>): { base: number; size: number } | undefined {
  const ports = [...new Set((service.spec?.ports ?? []).map(({ nodePort }) => nodePort ?? 0))].sort((one, other) => one - other);
  const [base] = ports;
  if (!base || service.spec?.type !== 'NodePort' || service.metadata.deletionTimestamp !== undefined) return undefined;
  return ports.every((port, offset) => port === base + offset) ? { base, size: ports.length } : undefined;
}

function noPorts({ spec }: StoredCluster): ConditionReason {
  const { from, to } = mediaRange(spec, {});
  return {
    reason: 'NoPorts',
    message: `the port range ${from}-${to} has no ${portBlockSize(spec)} consecutive free ports for another pod`,
  };
}
