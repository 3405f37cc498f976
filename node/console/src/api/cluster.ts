// The nodes of the cluster, and calling one to drain.
import type { Api } from './rest.ts';

export type NodeState = 'accepting' | 'draining' | 'terminating';
export type NodeLoad = { rooms: number; forwardedTracks: number; cpu: number; accepting: boolean };
/** `load`: null where the node did not answer in time. */
export type ClusterNode = { name: string; address: string; version: string; state: NodeState; load: NodeLoad | null };
/** What a drain would meet now, or what one that runs waits for. `defaultDeadline` is in seconds, `deadline` a point in time. */
export type DrainView = {
  state: NodeState;
  deadline: string | null;
  defaultDeadline: number;
  rooms: number;
  roomsWithPeers: number;
  connectedPeers: number;
};

export const drainPath = (node: string): string => `cluster/nodes/${encodeURIComponent(node)}/drain`;

export async function listNodes(api: Api, signal?: AbortSignal): Promise<ClusterNode[]> {
  return (await api.call('GET', 'cluster/nodes', undefined, signal)).data as ClusterNode[];
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
