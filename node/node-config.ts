// Configuration of a node over REST: its effective values, and those of any other node.
import { nodeRpcs } from '../api/operations/node-rpcs.ts';
import { operations } from '../api/operations/table.ts';
import type { Dispatcher } from './cluster/rpc/dispatcher.ts';
import { effectiveConfig } from './config/effective-config.ts';
import type { NodeAddress } from './config/node-address.ts';
import type { ReloadableConfig } from './config/reloadable-config.ts';
import type { Config } from './config.ts';
import { filesOf } from './node-health.ts';

type Sources = { config: Config; hot: ReloadableConfig; address: NodeAddress; warnings: readonly string[] };

export function serveConfig(dispatcher: Dispatcher, { config, hot, address, warnings }: Sources): void {
  const { self } = dispatcher;
  dispatcher.serve(nodeRpcs, {
    config: () => {
      const actual = { HOST: address.host, INTERNAL_ADDRESS: address.internal, DIST_NODE_NAME: self };
      return { node: self, values: effectiveConfig(config, hot, actual), config: filesOf(hot), warnings: [...warnings] };
    },
  });
  dispatcher.serve(operations, {
    getConfig: async ({ query: { node = self } }) => {
      dispatcher.requireMember(node);
      const { values: data, ...rest } = await dispatcher.at(node, nodeRpcs.config, null);
      return { data, ...rest };
    },
  });
}
