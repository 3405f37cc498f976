// Cluster API: lists nodes, reads their drains, starts and cancels a drain.
import type { DrainView, Node } from '../../../server-sdk/src/generated/schemas.ts';
import type { Api } from './rest.ts';

export const drainPath = (node: string): string => `cluster/nodes/${encodeURIComponent(node)}/drain`;

export async function listNodes(api: Api, signal?: AbortSignal): Promise<Node[]> {
  return (await api.call('GET', 'cluster/nodes', undefined, signal)).data as Node[];
}

export async function getDrain(api: Api, node: string, signal?: AbortSignal): Promise<DrainView> {
  return (await api.call('GET', drainPath(node), undefined, signal)).data as DrainView;
}

/** `deadline` in seconds. */
export async function drainNode(api: Api, node: string, options: { deadline?: number }): Promise<void> {
  await api.call('POST', drainPath(node), options);
}

export async function cancelDrain(api: Api, node: string): Promise<void> {
  await api.call('DELETE', drainPath(node));
}
