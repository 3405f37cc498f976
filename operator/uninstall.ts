// `--uninstall`: by default everything that users created stays, and only the finalizers of the operator are removed. On request it deletes
// Rooms and MediaClusters while the operator runs. If operators of other releases run there, it does nothing.
import { setTimeout as sleep } from 'node:timers/promises';
import { namesOf } from './clusters/names.ts';
import { eachOf } from './each-of.ts';
import type { KubeClient } from './kube/client.ts';
import { hasFinalizer, setFinalizer } from './kube/finalizers.ts';
import { isConflict } from './kube/http/kube-error.ts';
import { controllerOwner, type KubeObject, keyOf, type Resource, resources, type Stored } from './kube/objects.ts';
import type { Log } from './log.ts';

export type UninstallOptions = {
  client: Pick<KubeClient, 'list' | 'delete' | 'patch'>;
  /** Of the operator. */
  namespace: string;
  /** Empty: all. */
  namespaces: readonly string[];
  /** The release to uninstall, from the label `app.kubernetes.io/instance` of its operator pods. */
  release?: string | undefined;
  /** Delete Rooms and MediaClusters; otherwise only finalizers are removed. */
  deleteResources: boolean;
  /** Delete claims and generated Secrets with their MediaClusters. */
  deleteClaims: boolean;
  /** Total timeout in milliseconds. */
  timeout: number;
  log: Log;
  pollInterval?: number;
};

const operatorPods = 'app.kubernetes.io/name=mediarooms,app.kubernetes.io/component=operator';
const nodePods = 'app.kubernetes.io/name=mediarooms,app.kubernetes.io/component=node';
const managed = 'app.kubernetes.io/managed-by=mediarooms-operator';
const ourFinalizers = 'mediarooms.dev/';
/** Holds a deleted MediaCluster until its claims and Secrets do not depend on it any more. */
const holdFinalizer = 'mediarooms.dev/uninstall';
const defaultPollMs = 500;
/** Timeout of a step that waits for nothing but its own writes, in milliseconds. */
const stepTimeoutMs = 30_000;
/** Concurrent writes. */
const atOnce = 8;

export async function uninstall(options: UninstallOptions): Promise<void> {
  const until = performance.now() + options.timeout;
  if (await othersRun(options)) return;
  if (!options.deleteResources) {
    await waitForOperator(options, until);
    await release(resources.rooms, options);
    await release(resources.mediaClusters, options);
    return;
  }
  // Rooms first, because their deletion needs nodes.
  await end(resources.rooms, options, until);
  if (!options.deleteClaims) await keepData(options);
  await end(resources.mediaClusters, options, until);
  await waitForPods(options, until);
}

async function othersRun({ release, ...options }: UninstallOptions): Promise<boolean> {
  if (release === undefined) return false;
  const others = await all(resources.pods, options, `${operatorPods},app.kubernetes.io/instance!=${release}`);
  if (others.length === 0) return false;
  options.log.info({ others: others.slice(0, 20).map(keyOf) }, 'operators of other releases are running, changing nothing');
  return true;
}

type Scope = Pick<UninstallOptions, 'client' | 'namespaces'>;

async function all(resource: Resource, { client, namespaces }: Scope, labelSelector?: string): Promise<Stored<KubeObject>[]> {
  const places = namespaces.length === 0 ? [undefined] : namespaces;
  const lists = await Promise.all(places.map((namespace) => client.list(resource, { namespace, labelSelector })));
  return lists.flatMap(({ items }) => items);
}

/** An operator that still runs would add its finalizers again. */
async function waitForOperator(options: UninstallOptions, until: number): Promise<void> {
  const { client, namespace, release, log } = options;
  if (release === undefined) return;
  const scope = { client, namespaces: [namespace] };
  await whileAny(options, until, 'operator pods still terminating', () =>
    all(resources.pods, scope, `${operatorPods},app.kubernetes.io/instance=${release}`),
  );
  log.info('no operator of the release is running');
}

/** Removes the finalizers of the operator. */
async function release(resource: Resource, options: UninstallOptions): Promise<void> {
  const { kind } = resource;
  await repeat(options, `the finalizers of objects of kind ${kind} could not be removed, because the objects keep changing`, async () => {
    const held = (await all(resource, options)).filter(({ metadata }) => metadata.finalizers?.some(isOurs));
    options.log.info({ kind, count: held.length }, 'removing finalizers');
    await removeFinalizers(resource, held, options.client);
    return held.length === 0;
  });
}

async function end(resource: Resource, options: UninstallOptions, until: number): Promise<void> {
  const { client, log } = options;
  const found = await all(resource, options);
  log.info({ kind: resource.kind, count: found.length }, 'deleting');
  for (const { metadata } of found) await client.delete(resource, metadata, { uid: metadata.uid });
  await poll(options, until, async (late) => {
    const left = await all(resource, options);
    if (left.length === 0 || !late) return left.length === 0;
    log.warn(
      { kind: resource.kind, left: left.slice(0, 20).map(keyOf), count: left.length },
      'objects not deleted in time, removing finalizers',
    );
    return removeFinalizers(resource, left, client);
  });
}

function isOurs(finalizer: string): boolean {
  return finalizer.startsWith(ourFinalizers);
}

/** @returns false if one of them was changed concurrently */
async function removeFinalizers(
  resource: Resource,
  left: readonly Stored<KubeObject>[],
  client: UninstallOptions['client'],
): Promise<boolean> {
  let all = true;
  await eachOf(left, atOnce, async ({ metadata: { name, namespace, resourceVersion, finalizers = [] } }) => {
    const theirs = finalizers.filter((finalizer) => !isOurs(finalizer));
    const write = client.patch(resource, { namespace, name }, { metadata: { resourceVersion, finalizers: theirs } });
    if (!(await unlessChanged(write))) all = false;
  });
  return all;
}

/** @returns false if the object was changed concurrently */
async function unlessChanged(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (!isConflict(error)) throw error;
    return false;
  }
}

/**
 * Deletes MediaClusters, and removes them from the owners of their claims and generated Secrets before the garbage collector runs. The
 * operator ignores a deleted MediaCluster, so it does not restore the owners. If a step fails, the finalizer holds the MediaClusters, and
 * nothing is lost.
 */
async function keepData(options: UninstallOptions): Promise<void> {
  const { client } = options;
  const kind = resources.mediaClusters;
  const clusters = async (held: boolean) => (await all(kind, options)).filter((cluster) => hasFinalizer(cluster, holdFinalizer) === held);
  const setHeld = (wanted: boolean, found: readonly Stored<KubeObject>[]) =>
    eachOf(found, atOnce, (cluster) => unlessChanged(setFinalizer(client, kind, cluster, holdFinalizer, wanted)));
  const changing = `MediaClusters keep changing; the finalizer ${holdFinalizer} holds them`;
  await repeat(options, changing, async () => {
    const unheld = (await clusters(false)).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    await setHeld(true, unheld);
    return unheld.length === 0;
  });
  const held = await clusters(true);
  for (const { metadata } of held) await client.delete(kind, metadata, { uid: metadata.uid });
  const uids = new Set(held.map(({ metadata }) => metadata.uid));
  // Until nothing is found, because a reconcile that was running may restore an owner.
  await repeat(options, `claims and Secrets keep changing; the finalizer ${holdFinalizer} holds their MediaClusters`, async () => {
    const claims = await disown(resources.persistentVolumeClaims, uids, options);
    const secrets = await disown(resources.secrets, uids, options);
    options.log.info({ claims, secrets }, 'removing owners of claims and Secrets');
    return claims + secrets === 0;
  });
  await repeat(options, changing, async () => {
    const left = await clusters(true);
    await setHeld(false, left);
    return left.length === 0;
  });
}

/** @returns the number of objects that had one of the owners */
async function disown(resource: Resource, uids: ReadonlySet<string>, options: UninstallOptions): Promise<number> {
  const owned = (await all(resource, options, managed)).filter((object) => {
    const owner = controllerOwner(object);
    // The operator writes the Secret of the configuration again.
    return owner !== undefined && uids.has(owner.uid) && object.metadata.name !== namesOf(owner.name).config;
  });
  await eachOf(owned, atOnce, ({ metadata: { name, namespace, resourceVersion, ownerReferences = [] } }) => {
    const others = ownerReferences.filter(({ uid }) => !uids.has(uid));
    return unlessChanged(options.client.patch(resource, { namespace, name }, { metadata: { resourceVersion, ownerReferences: others } }));
  });
  return owned.length;
}

async function waitForPods(options: UninstallOptions, until: number): Promise<void> {
  await whileAny(options, until, 'media pods still terminating', () => all(resources.pods, options, nodePods));
}

/** Waits until nothing is found; warns after the timeout. */
function whileAny(options: UninstallOptions, until: number, warning: string, find: () => Promise<unknown[]>): Promise<void> {
  return poll(options, until, async (late) => {
    const left = await find();
    if (left.length > 0 && late) options.log.warn({ count: left.length }, warning);
    return left.length === 0 || late;
  });
}

/** Repeats a step until it returns true. @throws Error with the message after the timeout */
function repeat(options: UninstallOptions, message: string, step: () => Promise<boolean>): Promise<void> {
  return poll(options, performance.now() + stepTimeoutMs, async (late) => {
    const done = await step();
    if (!done && late) throw new Error(message);
    return done;
  });
}

/** Repeats a step until it returns true. `late`: whether the deadline has passed, after which the step must end or throw. */
async function poll(
  { pollInterval = defaultPollMs }: UninstallOptions,
  deadline: number,
  step: (late: boolean) => Promise<boolean>,
): Promise<void> {
  while (!(await step(performance.now() > deadline))) await sleep(pollInterval);
}
