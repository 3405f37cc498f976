// `--uninstall`: deletes Rooms and MediaClusters of the watched namespaces while the operator runs, and removes finalizers after a timeout.
// If operators of other releases run there, it does nothing: Helm deletes the MediaCluster of the release.
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeClient } from './kube/client.ts';
import { isConflict } from './kube/http/kube-error.ts';
import { type KubeObject, keyOf, type Resource, resources, type Stored } from './kube/objects.ts';
import type { Log } from './log.ts';

export type UninstallOptions = {
  client: Pick<KubeClient, 'list' | 'delete' | 'patch'>;
  /** Empty: all. */
  namespaces: readonly string[];
  /** The release to uninstall, from the label `app.kubernetes.io/instance` of its operator pods. */
  release?: string | undefined;
  /** Total timeout for Rooms, then MediaClusters and their pods, in milliseconds. */
  timeout: number;
  log: Log;
  pollInterval?: number;
};

const operatorPods = 'app.kubernetes.io/name=mediarooms,app.kubernetes.io/component=operator';

/** Deletes Rooms first, because they need nodes; then MediaClusters, and waits for their pods. Resolves at the latest after the timeout. */
export async function uninstall(options: UninstallOptions): Promise<void> {
  const until = performance.now() + options.timeout;
  const { release, log } = options;
  if (release !== undefined) {
    const others = await all(resources.pods, options, `${operatorPods},app.kubernetes.io/instance!=${release}`);
    if (others.length > 0) {
      log.info({ others: others.slice(0, 20).map(keyOf) }, 'operators of other releases are running, deleting nothing');
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
        'objects not deleted in time, removing finalizers',
      );
      if (await letGo(resource, left, client)) return;
    }
    await sleep(pollInterval);
  }
}

/** @returns false if one of them was changed concurrently */
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
      log.warn({ count: left.length }, 'media pods still terminating');
      return;
    }
    await sleep(pollInterval);
  }
}
