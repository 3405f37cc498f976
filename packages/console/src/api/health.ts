// Health API: health of the responding node, and effective configuration of any node.
import type { NodeConfig as ConfigAnswer, ConfigValue, Health } from '../../../server-sdk/src/generated/schemas.ts';
import { operationRequest } from './operation-request.ts';
import type { Api } from './rest.ts';

/** Effective configuration of one node. */
export type NodeConfig = Omit<ConfigAnswer, 'data'> & { values: ConfigValue[] };
export type ConfigFiles = NodeConfig['config'];

export async function getHealth(api: Api, signal?: AbortSignal): Promise<Health> {
  return (await api.send(operationRequest('getHealth'), signal)).data;
}

/** Without `node`: of the responding node. */
export async function getConfig(api: Api, signal: AbortSignal, node?: string): Promise<NodeConfig> {
  const { data: values, ...more } = await api.send(operationRequest('getConfig', { query: { node } }), signal);
  return { ...more, values };
}
