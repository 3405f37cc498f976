// The health of the node that answers, and the configuration in force on any node.
import type { NodeConfig as ConfigAnswer, ConfigValue, Health } from '../../../server-sdk/src/generated/schemas.ts';
import type { Api } from './rest.ts';

/** Of one node. */
export type NodeConfig = Omit<ConfigAnswer, 'data'> & { values: ConfigValue[] };
export type ConfigFiles = NodeConfig['config'];

export async function getHealth(api: Api, signal?: AbortSignal): Promise<Health> {
  return (await api.call('GET', 'health', undefined, signal)).data as Health;
}

/** Of the node that answers where none is named. */
export async function getConfig(api: Api, node: string | undefined, signal?: AbortSignal): Promise<NodeConfig> {
  const query = node === undefined ? '' : `?${new URLSearchParams({ node })}`;
  const { data: values, ...more } = (await api.call('GET', `config${query}`, undefined, signal)) as ConfigAnswer;
  return { ...more, values };
}
