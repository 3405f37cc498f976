// Nodes with real distribution that serve agents of LiveKit.
import type { TestContext } from 'node:test';
import { accessKeysText } from '../access-tokens.ts';
import { waitForMesh } from '../processes/node-pair.ts';
import { startNode } from '../processes/start-node.ts';

/** Milliseconds in which the job of a lost worker must be assigned again. */
export const reassignedWithin = 2_000;

let clusters = 0;

export async function startAgentCluster(t: TestContext, size: number) {
  clusters += 1;
  const name = (index: number) => `agents${index}-${process.pid}-${clusters}@localhost`;
  const nodes = [];
  for (let index = 0; index < size; index += 1)
    nodes.push(
      await startNode(t, {
        SVC_ACCESS_KEYS: accessKeysText,
        SVC_LIVEKIT_ENABLED: 'true',
        SVC_DIST_ENABLED: 'true',
        SVC_DIST_NODE_NAME: name(index),
        SVC_DIST_NODES: name(0),
      }),
    );
  await waitForMesh(nodes.map((node) => node.api));
  return nodes;
}
