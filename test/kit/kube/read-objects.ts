// Reads objects of the API server over a kept-alive connection, and waits for changes: one kubectl process per poll would cost too much.

import { EventEmitter } from 'node:events';
import { collectionPath, objectPath, type Query, queryText } from '../../../operator/kube/http/paths.ts';
import { type KubeObject, resources } from '../../../operator/kube/objects.ts';
import { emits, eventually } from '../eventually.ts';
import type { ApiServer } from './api-server.ts';
import { Informer } from './informer.ts';
import type { ApiObject } from './pods/pod-spec.ts';

export type Kind = keyof typeof resources;
// biome-ignore lint/suspicious/noExplicitAny: tests assert the content of an object.
export type KubeJson = any;

/** @returns undefined if it does not exist. @throws with the message of a rejection */
export async function readObject(server: ApiServer, kind: Kind, name: string, namespace?: string): Promise<KubeObject | undefined> {
  const path = objectPath(resources[kind], { namespace, name });
  const { status, body } = await server.client.call(path);
  if (status === 404) return undefined;
  return answered(path, status, body) as KubeObject;
}

/** Objects of one namespace. @throws with the message of a rejection */
export async function readObjects(server: ApiServer, kind: Kind, namespace: string, query: Query = {}): Promise<KubeObject[]> {
  const path = `${collectionPath(resources[kind], namespace)}${queryText(query)}`;
  const { status, body } = await server.client.call(path);
  return (answered(path, status, body) as { items: KubeObject[] }).items;
}

const changes = new WeakMap<ApiServer, ObjectChanges>();

/** Informers of one API server, started on first use. */
class ObjectChanges {
  readonly emitter = new EventEmitter().setMaxListeners(0);
  readonly #server: ApiServer;
  readonly #informers = new Map<Kind, Informer<ApiObject>>();

  constructor(server: ApiServer) {
    this.#server = server;
    server.beforeEnd(() => this.#close());
  }

  follow(kind: Kind): void {
    if (this.#informers.has(kind)) return;
    const path = collectionPath(resources[kind], undefined);
    const informer = new Informer<ApiObject>(this.#server.client, path, () => this.emitter.emit(kind));
    this.#informers.set(kind, informer);
    void informer.start();
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#informers.values()].map((informer) => informer.close()));
  }
}

/**
 * `wakes` of eventually(): wakes on each change of an object of these kinds, because polling several times a second costs a tenth of a core.
 * Keep a poll: a watch may be interrupted.
 */
export function changesOf(server: ApiServer, ...kinds: Kind[]): (wake: () => void) => () => void {
  const found = changes.get(server) ?? new ObjectChanges(server);
  changes.set(server, found);
  for (const kind of kinds) found.follow(kind);
  return emits(found.emitter, ...kinds);
}

/** Values of a Secret as text; undefined if it does not exist. */
export async function readSecret(server: ApiServer, name: string, namespace = 'default'): Promise<Record<string, string> | undefined> {
  const secret: KubeJson = await readObject(server, 'secrets', name, namespace);
  const entries = Object.entries<string>(secret?.data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()] as const);
  return secret && Object.fromEntries(entries);
}

export function condition(object: KubeJson, type: string): KubeJson {
  return object?.status?.conditions?.find((each: KubeJson) => each.type === type);
}

/** A manifest of a Room. */
export function room(name: string, spec: object = {}, namespace = 'default') {
  return { apiVersion: 'mediarooms.dev/v1alpha2', kind: 'Room', metadata: { name, namespace }, spec };
}

/** A manifest of a MediaCluster. */
export function mediaCluster(name: string, spec: object = {}, namespace = 'default') {
  return { apiVersion: 'mediarooms.dev/v1alpha1', kind: 'MediaCluster', metadata: { name, namespace }, spec };
}

type KubeEvent = KubeObject & { reason: string; regarding: { name: string } };

/** Waits for an Event of the object with that reason in the namespace `default`; Events are written after the status. */
export async function waitForEvent(server: ApiServer, name: string, reason: string): Promise<void> {
  let reasons: string[] = [];
  await eventually(
    () => `an Event ${reason} of ${name}, found ${reasons}`,
    async () => {
      const events = (await readObjects(server, 'events', 'default')) as KubeEvent[];
      reasons = events.filter(({ regarding }) => regarding.name === name).map((event) => event.reason);
      return reasons.includes(reason);
    },
    { every: 500, wakes: changesOf(server, 'events') },
  );
}

function answered(path: string, status: number, body: unknown): unknown {
  if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
  return body;
}
