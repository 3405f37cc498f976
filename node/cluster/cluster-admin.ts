// Cluster administration: serves the operations on nodes (state, load, drain, configuration).
import type { DrainView, NodeConfig, NodeView } from '../../api/node.ts';
import { nodeRpcs } from '../../api/operations/node-rpcs.ts';
import { operations } from '../../api/operations/table.ts';
import type { NodeName } from './cluster-transport.ts';
import type { LocalNodeDescription, Membership } from './membership.ts';
import type { Dispatcher } from './rpc/dispatcher.ts';

export type AdminOptions = {
  dispatcher: Dispatcher;
  membership: Membership;
  describe: () => LocalNodeDescription;
  drain: { start(timeout: number): void; cancel(): void };
  drainView: () => DrainView;
  config: () => NodeConfig;
  /** Default drain timeout in milliseconds, if a request has none. */
  drainTimeout: () => number;
};

export function serveAdmin({ dispatcher, membership, describe, drain, drainView, config, drainTimeout }: AdminOptions): void {
  const { self } = dispatcher;
  const loadOf = async (node: NodeName): Promise<NodeView['load']> => {
    const { rooms, forwardedTracks, cpu, accepting } = await dispatcher.at(node, nodeRpcs.load, null);
    return { rooms, forwardedTracks, cpu, accepting };
  };
  dispatcher.serve(operations, {
    listNodes: async () => {
      const own = { name: self, ...shown(describe()), load: await loadOf(self) };
      const others = [...membership.members.values()].map(async (member) => ({
        name: member.name,
        ...shown(member),
        load: await loadOf(member.name).catch(() => null),
      }));
      return [own, ...(await Promise.all(others))].sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    getDrain: () => drainView(),
    drainNode: ({ body: { deadline } }) => drain.start(deadline === undefined ? drainTimeout() : deadline * 1000),
    cancelDrain: () => drain.cancel(),
    getConfig: async ({ query: { node = self } }) => {
      dispatcher.requireMember(node);
      const { values: data, ...rest } = await dispatcher.at(node, nodeRpcs.config, null);
      return { data, ...rest };
    },
  });
  dispatcher.serve(nodeRpcs, { config: () => config() });
}

function shown({ address, version, state }: LocalNodeDescription): Pick<NodeView, 'address' | 'version' | 'state'> {
  return { address, version, state };
}
