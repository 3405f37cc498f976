// Cluster API: lists nodes, reads their drains, starts and cancels a drain.
import type { DrainOptions, DrainView, Node } from '../../../server-sdk/src/generated/schemas.ts';
import { operationRequest } from './operation-request.ts';
import type { Api } from './rest.ts';

export async function listNodes(api: Api, signal?: AbortSignal): Promise<Node[]> {
  return (await api.send(operationRequest('listNodes'), signal)).data;
}

export async function getDrain(api: Api, nodeName: string, signal?: AbortSignal): Promise<DrainView> {
  return (await api.send(operationRequest('getDrain', { path: { nodeName } }), signal)).data;
}

export const drainEndpoints = {
  /** `deadline` in seconds. */
  start: (nodeName: string, options: DrainOptions) => operationRequest('drainNode', { path: { nodeName }, body: options }),
  cancel: (nodeName: string) => operationRequest('cancelDrain', { path: { nodeName } }),
};

export async function drainNode(api: Api, nodeName: string, options: DrainOptions): Promise<void> {
  await api.send(drainEndpoints.start(nodeName, options));
}

export async function cancelDrain(api: Api, nodeName: string): Promise<void> {
  await api.send(drainEndpoints.cancel(nodeName));
}
