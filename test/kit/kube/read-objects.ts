// Objects as the API server has them, over a kept connection: a kubectl for each look would take more of the machine than what is looked at.

import { collectionPath, objectPath, type Query, queryText } from '../../../operator/kube/http/paths.ts';
import { type KubeObject, resources } from '../../../operator/kube/objects.ts';
import { eventually } from '../eventually.ts';
import type { ApiServer } from './api-server.ts';

export type Kind = keyof typeof resources;

/** @returns undefined where there is none. @throws with what the API server says where it refuses */
export async function readObject(server: ApiServer, kind: Kind, name: string, namespace?: string): Promise<KubeObject | undefined> {
  const path = objectPath(resources[kind], { namespace, name });
  const { status, body } = await server.client.call(path);
  if (status === 404) return undefined;
  return answered(path, status, body) as KubeObject;
}

/** Those of one namespace. @throws with what the API server says where it refuses */
export async function readObjects(server: ApiServer, kind: Kind, namespace: string, query: Query = {}): Promise<KubeObject[]> {
  const path = `${collectionPath(resources[kind], namespace)}${queryText(query)}`;
  const { status, body } = await server.client.call(path);
  return (answered(path, status, body) as { items: KubeObject[] }).items;
}

type Told = KubeObject & { reason: string; regarding: { name: string } };

/** When an Event of the namespace `default` tells of the object, for that reason: Events come after the status that they are about. */
export async function waitForEvent(server: ApiServer, name: string, reason: string): Promise<void> {
  let told: string[] = [];
  await eventually(
    () => `an Event ${reason} of ${name}, there are ${told}`,
    async () => {
      const events = (await readObjects(server, 'events', 'default')) as Told[];
      told = events.filter(({ regarding }) => regarding.name === name).map((event) => event.reason);
      return told.includes(reason);
    },
  );
}

function answered(path: string, status: number, body: unknown): unknown {
  if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
  return body;
}
