// The health of the node that answers, and the configuration in force on any node.
import type { NodeState } from './cluster.ts';
import type { Api } from './rest.ts';

export type ConfigFiles = { files: { name: string; sha256: string }[]; shadowed: string[]; error: string | null };
/** `uptime` in seconds. */
export type Health = {
  status: 'UP' | 'DOWN';
  uptime: number;
  version: string;
  gitCommit: string;
  distribution: { enabled: boolean; nodeStatus: 'UP' | 'DOWN'; nodesInCluster: number };
  state: NodeState;
  load: { rooms: number; connectedPeers: number; forwardedTracks: number };
  config: ConfigFiles;
};
export type ConfigValue = {
  name: string;
  value: string | number | boolean | string[] | null;
  source: 'environment' | 'file' | 'default';
  secret: boolean;
  reloadable: boolean;
  meaning: string;
};
export type NodeConfig = { node: string; values: ConfigValue[]; config: ConfigFiles; warnings: string[] };

export async function getHealth(api: Api, signal?: AbortSignal): Promise<Health> {
  return (await api.call('GET', 'health', undefined, signal)).data as Health;
}

/** Of the node that answers where none is named. */
export async function getConfig(api: Api, node: string | undefined, signal?: AbortSignal): Promise<NodeConfig> {
  const query = node === undefined ? '' : `?${new URLSearchParams({ node })}`;
  const { data, ...more } = await api.call('GET', `config${query}`, undefined, signal);
  return { ...(more as Omit<NodeConfig, 'values'>), values: data as ConfigValue[] };
}
