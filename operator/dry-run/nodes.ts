// Dry run of requests to media nodes: prints them and simulates their results, so that dependent steps are included.
import { mapNames, roomFieldNames } from '../../api/room.ts';
import type { NodeApiFactory } from '../clusters/pods/node-poll.ts';
import { keyOf } from '../kube/objects.ts';
import type { NodeRoom } from '../nodes/schemas.ts';
import type { ActContext, NodeAction } from '../rooms/act.ts';

type Say = (sentence: string, about: string) => void;

/** Placeholder in a status for values that only a node can assign. */
const unknownYet = '(known after creation)';
const hour = 3_600;

/** For MediaClusters: nodes are read, and changes are only printed. */
export function dryRunNodeCalls(say: Say): (make: NodeApiFactory) => NodeApiFactory {
  return (make) => (target) => {
    const calls = make(target);
    return {
      health: (signal) => calls.health(signal),
      resetBackoff: () => calls.resetBackoff(),
      drain: async (node, seconds) => say(`would drain media node ${node}${seconds === undefined ? '' : ` within ${seconds} s`}`, node),
      cancelDrain: async (node) => say(`would cancel the drain of media node ${node}`, node),
    };
  };
}

/** For Rooms. */
export function dryRunActions(tell: Say): (context: ActContext, action: NodeAction) => void {
  return (context, action) => {
    const { state, link, cluster } = context;
    const say = (sentence: string) => tell(sentence, keyOf(state.room));
    const { roomId, now } = state;
    const nodes = link.candidates({ ready: true }).map(({ node }) => node.pod);
    const where = state.fate.kind === 'present' ? state.fate.node : undefined;
    const of = `room ${roomId}${where === undefined ? '' : ` on ${where}`}`;
    const change = (to: Partial<NodeRoom>) => {
      if (state.fate.kind === 'present') state.fate = { ...state.fate, room: { ...state.fate.room, ...to } };
    };
    const { components, peers, config } = state.fate.kind === 'present' ? state.fate.room : nothing;
    const give = (peer: string) => context.fresh.set(peer, { token: madeUp(now), url: `${unknownYet}/socket/peer/websocket` });
    switch (action.type) {
      case 'create': {
        if (nodes.length === 0) {
          const message = `MediaCluster ${cluster} has no ready node that accepts rooms.`;
          state.fate = { kind: 'retryable', reason: 'NoReadyNode', message };
          return;
        }
        const [only] = nodes;
        say(`would create room ${roomId} on ${nodes.length === 1 ? only : `a node of MediaCluster ${cluster}`}`);
        const { roomId: id, externalId, ...wanted } = action.request;
        const room = { id, incarnation: unknownYet, externalId, config: wanted, components: [], peers: [] };
        state.fate = { kind: 'present', room, address: unknownYet, node: nodes.length === 1 && only ? only : unknownYet };
        return;
      }
      case 'delete':
        say(`would delete ${of}`);
        state.fate = { kind: 'absent' };
        return;
      case 'patch':
        say(`would change ${Object.keys(action.config).join(', ')} of ${of}`);
        change({ config: { ...(config ?? unlimited), ...action.config } });
        return;
      case 'removeComponents':
        for (const id of action.ids) say(`would remove component ${id} of ${of}`);
        change({ components: components.filter(({ id }) => !action.ids.includes(id)) });
        return;
      case 'addComponents':
        for (const { name, type } of action.components) say(`would add component ${name} (${type}) to ${of}`);
        change({
          components: [
            ...components,
            ...action.components.map(({ request: { type, externalId } }) => ({ id: unknownYet, type, externalId })),
          ],
        });
        return;
      case 'removePeers':
        for (const id of action.ids) say(`would remove peer ${id} of ${of}`);
        change({ peers: peers.filter(({ id }) => !action.ids.includes(id)) });
        return;
      case 'addPeers':
        for (const { peerId } of action.peers) {
          say(`would add peer ${peerId} to ${of}`);
          give(peerId);
        }
        change({
          peers: [
            ...peers,
            ...action.peers.map(({ peerId: id, externalId, permissions }) => ({ id, externalId, permissions, status: 'disconnected' })),
          ],
        });
        return;
      case 'patchPeers': {
        const wanted = new Map(action.peers.map(({ peerId, permissions }) => [peerId, permissions]));
        for (const id of wanted.keys()) say(`would change permissions of peer ${id} of ${of}`);
        change({ peers: peers.map((peer) => ({ ...peer, permissions: wanted.get(peer.id) ?? peer.permissions })) });
        return;
      }
      case 'tokens':
        for (const peer of action.peers) {
          say(`would get a fresh token for peer ${peer} of ${of}`);
          give(peer);
        }
    }
  };
}

const nothing = { components: [], peers: [], config: undefined };
const unlimited: NodeRoom['config'] = mapNames(roomFieldNames, () => null);

/** Placeholder of a token from a node: correct times, invalid signature. */
function madeUp(now: Date): string {
  const iat = Math.floor(now.getTime() / 1000);
  return `.${Buffer.from(JSON.stringify({ iat, exp: iat + 24 * hour })).toString('base64url')}.`;
}
