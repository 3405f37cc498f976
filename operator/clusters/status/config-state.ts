// Condition ConfigSynced: whether all nodes run with the current configuration files, by the hashes that they report. Pure.

import type { ConditionReason } from '../../kube/conditions.ts';
import type { NodeHealth } from '../../nodes/schemas.ts';
import type { ConfigFiles } from '../config-files.ts';
import { configKey, secretsKey } from '../names.ts';

/** A condition without its type. */
export type ConfigState = { status: 'True' | 'False' | 'Unknown'; reason: string; message: string };

/** A pod with a running node, and the latest report of the node. */
export type ConfigHolder = { name: string; health: NodeHealth | undefined };

type Config = Pick<NodeHealth['config'], 'files'>;

export function hasFiles(config: Config, files: ConfigFiles): boolean {
  return hasFile(config, configKey, files.config.sha256) && hasFile(config, secretsKey, files.secrets.sha256);
}

export function hasSecrets(config: Config, files: ConfigFiles): boolean {
  return hasFile(config, secretsKey, files.secrets.sha256);
}

function hasFile({ files }: Config, key: string, sha256: string): boolean {
  return files.some((file) => file.name.endsWith(`/${key}`) && file.sha256 === sha256);
}

export function configState(files: ConfigFiles | { problems: readonly ConditionReason[] }, holders: readonly ConfigHolder[]): ConfigState {
  if ('problems' in files) {
    const message = `The previous configuration stays effective: ${files.problems.map(({ message: text }) => text).join('; ')}.`;
    return { status: 'False', reason: files.problems[0]?.reason ?? 'Invalid', message };
  }
  const behind = holders.filter(({ health }) => !health || !hasFiles(health.config, files));
  const refused = behind.find(({ health }) => health && health.config.error !== null);
  if (refused)
    return {
      status: 'False',
      reason: 'Refused',
      message: `The node of pod ${refused.name} rejected the configuration: ${refused.health?.config.error}`,
    };
  if (holders.length === 0) return { status: 'Unknown', reason: 'NoNodes', message: 'No node is running.' };
  if (behind.length > 0) {
    const names = behind.map(({ name }) => name).join(', ');
    return { status: 'False', reason: 'Waiting', message: `Waiting for ${names} to load the configuration.` };
  }
  return { status: 'True', reason: 'InForce', message: `The configuration is effective on ${plural(holders.length)}.` };
}

const plural = (count: number): string => (count === 1 ? 'the node' : `all ${count} nodes`);
