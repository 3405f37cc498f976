// `--uninstall`: ends Rooms and MediaClusters of the own namespaces while the operator still runs, and lets go of what it could not end.
// Where another release's operator stays, nothing would be left alone: then only the MediaCluster of the release goes, by Helm.
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeClient } from './kube/client.ts';
import { isConflict } from './kube/http/kube-error.ts';
import { type KubeObject, keyOf, type Resource, resources, type Stored } from './kube/objects.ts';
import type { Log } from './log.ts';

export type UninstallOptions = {
  client: Pick<KubeClient, 'list' | 'delete' | 'patch'>;
  /** None: all. */
  namespaces: readonly string[];
  /** The release that is uninstalled: of its operator's pods the label `app.kubernetes.io/instance`. */
  release?: string | undefined;
  /** How long Rooms and then MediaClusters with their pods may take to end, together, in milliseconds. */
  timeout: number;
  log: Log;
  pollInterval?: number;
};

const operatorPods = 'app.kubernetes.io/name=mediarooms,app.kubernetes.io/component=operator';

/** Rooms first, which need nodes to end in order; then MediaClusters, and their pods. Resolves when none is left or time is up. */
export async function uninstall(options: UninstallOptions): Promise<void> {
  const until = performance.now() + options.timeout;
  const { release, log } = options;
  if (release !== undefined) {
    const others = await all(resources.pods, options, `${operatorPods},app.kubernetes.io/instance!=${release}`);
    if (others.length > 0) {
      log.info({ others: others.slice(0, 20).map(keyOf) }, 'operators of other releases stay and look after what there is');
      return;
    }
  }
  await end(resources.rooms, options, until);
  await end(resources.mediaClusters, options, until);
  await waitForPods(options, until);
}

async function all(resource: Resource, { client, namespaces }: UninstallOptions, labelSelector?: string): Promise<Stored<KubeObject>[]> {
  const places = namespaces.length === 0 ? [undefined] : namespaces;
  const lists = await Promise.all(places.map((namespace) => client.list(resource, { namespace, labelSelector })));
  return lists.flatMap(({ items }) => items);
}

async function end(resource: Resource, options: UninstallOptions, until: number): Promise<void> {
  const { client, log, pollInterval = 500 } = options;
  const found = await all(resource, options);
  log.info({ kind: resource.kind, count: found.length }, 'deleting');
  for (const { metadata } of found) await client.delete(resource, metadata, { uid: metadata.uid });
  for (;;) {
    const left = await all(resource, options);
    if (left.length === 0) return;
    if (performance.now() > until) {
      log.warn(
        { kind: resource.kind, left: left.slice(0, 20).map(keyOf), count: left.length },
        'not gone in time: their finalizers are taken away',
      );
      if (await letGo(resource, left, client)) return;
    }
    await sleep(pollInterval);
  }
}

/** @returns whether nobody wrote one of them meanwhile */
async function letGo(resource: Resource, left: readonly Stored<KubeObject>[], client: UninstallOptions['client']): Promise<boolean> {
  let all = true;
  for (const { metadata } of left) {
    const theirs = (metadata.finalizers ?? []).filter((finalizer) => !finalizer.startsWith('mediarooms.dev/'));
    try {
      await client.patch(resource, metadata, { metadata: { resourceVersion: metadata.resourceVersion, finalizers: theirs } });
    } catch (error) {
      if (!isConflict(error)) throw error;
      all = false;
    }
  }
  return all;
}

async function waitForPods(options: UninstallOptions, until: number): Promise<void> {
  const { log, pollInterval = 500 } = options;
  for (;;) {
    const left = await all(resources.pods, options, 'app.kubernetes.io/name=mediarooms,app.kubernetes.io/component=node');
    if (left.length === 0) return;
    if (performance.now() > until) {
      log.warn({ count: left.length }, 'pods of media nodes still end: Kubernetes ends them after their grace period');
      return;
    }
    await sleep(pollInterval);
  }
}
