// Two whole nodes in the test process, connected over a real distribution.
import type { TestContext } from 'node:test';
import type { Log } from '../../../node/common/log.ts';
import type { Environment } from '../../../node/env.ts';
import type { ApiClient } from '../answers/api-client.ts';
import { eventually } from '../eventually.ts';
import { type StartedNode, startNode } from './start-node.ts';

/** `api` uses the non-owner, which has no room in these tests. */
export type NodePair = { owner: StartedNode; nonOwner: StartedNode; api: ApiClient };
export type NodePairOptions = { owner?: Environment; both?: Environment; logs?: { owner: Log; wrong: Log } };

let pairs = 0;

export async function startNodePair(t: TestContext, { owner: more, both, logs }: NodePairOptions = {}): Promise<NodePair> {
  pairs += 1;
  const suffix = `${process.pid}-${pairs}@localhost`;
  const dist = (name: string) => ({
    SVC_DIST_ENABLED: 'true',
    SVC_DIST_NODE_NAME: `${name}${suffix}`,
    SVC_DIST_NODES: `owner${suffix}`,
    ...both,
  });
  const owner = await startNode(t, { ...dist('owner'), ...more }, logs?.owner);
  const nonOwner = await startNode(t, dist('wrong'), logs?.wrong);
  const { api } = nonOwner;
  await waitForMesh([api, owner.api]);
  return { owner, nonOwner, api };
}

/** Waits until each node lists all nodes: names, addresses and states arrive some time after the connection, at different times. */
export async function waitForMesh(nodes: readonly ApiClient[]): Promise<void> {
  for (const node of nodes)
    await eventually('the nodes find each other', async () => (await node.get('/cluster/nodes')).body.data.length >= nodes.length);
}
