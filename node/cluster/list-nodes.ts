// List of nodes: all nodes of the cluster with their state and load.
import type { NodeView } from '../../api/node.ts';
import { nodeRpcs } from '../../api/operations/node-rpcs.ts';
import { operations } from '../../api/operations/table.ts';
import type { NodeName } from './cluster-transport.ts';
import type { Membership, NodeDescription } from './membership.ts';
import type { Members } from './nodes.ts';
import type { Dispatcher } from './rpc/dispatcher.ts';

type ListNodesOptions = {
  dispatcher: Dispatcher;
  members: Pick<Members, 'all'>;
  membership: Pick<Membership, 'own'>;
};

export function serveListNodes({ dispatcher, members, membership }: ListNodesOptions): void {
  const loadOf = async (node: NodeName): Promise<NodeView['load']> => {
    const { rooms, forwardedTracks, cpu, accepting } = await dispatcher.at(node, nodeRpcs.load, null);
    return { rooms, forwardedTracks, cpu, accepting };
  };
  dispatcher.serve(operations, {
    listNodes: async () => {
      const { self } = dispatcher;
      const own = { name: self, ...shown(membership.own), load: await loadOf(self) };
      const others = members.all().map(async (member) => ({
        name: member.name,
        ...shown(member),
        load: await loadOf(member.name).catch(() => null),
      }));
      return [own, ...(await Promise.all(others))].sort((a, b) => (a.name < b.name ? -1 : 1));
    },
  });
}

function shown({ address, version, state }: NodeDescription): Pick<NodeView, 'address' | 'version' | 'state'> {
  return { address, version, state };
}
