// Node client of a dry run: sends reads, and records writes as messages instead of sending them. Their results are simulated, so that
// dependent steps are included.
import { peerSocketPath } from '../../api/peer.ts';
import { NodeClient, type NodeClientOptions } from '../nodes/node-client.ts';
import { NodeError } from '../nodes/node-error.ts';
import {
  type ComponentRequest,
  type NodeComponent,
  type NodePeer,
  type NodeRoom,
  type NodeRoomConfig,
  nodeRoomSchema,
  type PeerPatchRequest,
  type PeerRequest,
  type RoomRequest,
} from '../nodes/schemas.ts';
import type { ConnectNode, NodePlace } from '../rooms/cluster-client.ts';

/** Records a message that begins with `would`, and the object that it is about. */
type Say = (message: string, about: string) => void;

/** A room as it would be. `where`: the node as in messages; that of the client if omitted. */
type PlannedRoom = { room: NodeRoom; where?: string };

/** Placeholder for values that only a node can assign. */
const unknownYet = '(known after creation)';
const url = `${unknownYet}${peerSocketPath}`;
const tokenLifetimeSeconds = 24 * 3_600;

const nowhere: NodePlace = { namespace: '', cluster: '', pod: '', nodes: () => [] };

/** Creates the clients of all nodes of a dry run. */
export function recordingNodes(say: Say): ConnectNode {
  const rooms = new Map<string, PlannedRoom>();
  return (options, place = nowhere) => new RecordingNodeClient(options, place, say, rooms);
}

export class RecordingNodeClient extends NodeClient {
  readonly #say: Say;
  /** By namespace, MediaCluster and room id, because each node of a MediaCluster has a client. */
  readonly #rooms: Map<string, PlannedRoom>;
  readonly #place: NodePlace;

  constructor(options: NodeClientOptions, place: NodePlace, say: Say, rooms: Map<string, PlannedRoom>) {
    // A write that is not recorded here is rejected.
    super({ ...options, readOnly: true });
    this.#say = say;
    this.#rooms = rooms;
    this.#place = place;
  }

  override async room(roomId: string, signal?: AbortSignal, timeoutMs?: number): Promise<NodeRoom> {
    const room = await super.room(roomId, signal, timeoutMs);
    this.#rooms.set(this.#key(roomId), { room });
    return room;
  }

  override async createRoom(request: RoomRequest, signal?: AbortSignal): ReturnType<NodeClient['createRoom']> {
    const { roomId, externalId, ...config } = request;
    const { cluster, pod, nodes } = this.#place;
    const found = this.#rooms.get(this.#key(roomId));
    if (found?.room.externalId === externalId) {
      // It requests the address of an existing room; a dry run does not learn it.
      this.#rooms.set(this.#key(roomId), { ...found, where: '' });
      return super.createRoom(request, signal);
    }
    const isOnly = nodes().filter(({ ready, terminating, lost }) => ready && !terminating && !lost).length === 1;
    this.#say(`would create room ${roomId} on ${isOnly ? pod : `a node of MediaCluster ${cluster}`}`, this.#about(roomId));
    const room = {
      id: roomId,
      incarnation: unknownYet,
      externalId,
      config: nodeRoomSchema.shape.config.parse(config),
      components: [],
      peers: [],
      legs: [],
    };
    const node = isOnly ? pod : unknownYet;
    this.#rooms.set(this.#key(roomId), { room, where: ` on ${node}` });
    return { room, address: unknownYet, node };
  }

  override async patchRoom(roomId: string, config: Partial<NodeRoomConfig>): Promise<NodeRoom> {
    const message = `would change ${Object.keys(config).join(', ')} of`;
    return this.#plan(roomId, message, (room) => ({ config: { ...room.config, ...config } }));
  }

  override async deleteRoom(roomId: string): Promise<void> {
    this.#plan(roomId, 'would delete', () => ({}));
    this.#rooms.delete(this.#key(roomId));
  }

  override async addPeer(roomId: string, request: PeerRequest): ReturnType<NodeClient['addPeer']> {
    const { peerId } = request;
    const peer = peerOf(request);
    this.#plan(roomId, `would add peer ${peerId} to`, ({ peers }) => ({ peers: [...peers, peer] }));
    return { peer, token: placeholderToken(), url };
  }

  override async patchPeer(roomId: string, request: PeerPatchRequest): Promise<NodePeer> {
    const { peerId } = request;
    const changed = peerOf(request);
    const change = ({ peers }: NodeRoom) => ({ peers: peers.map((peer) => (peer.id === peerId ? { ...peer, ...changed } : peer)) });
    const { peers } = this.#plan(roomId, `would change peer ${peerId} of`, change);
    return peers.find(({ id }) => id === peerId) ?? changed;
  }

  override async deletePeer(roomId: string, peerId: string): Promise<void> {
    const change = ({ peers }: NodeRoom) => ({ peers: peers.filter(({ id }) => id !== peerId) });
    this.#plan(roomId, `would remove peer ${peerId} of`, change);
  }

  override async peerToken(roomId: string, peerId: string): Promise<string> {
    this.#plan(roomId, `would get a fresh token for peer ${peerId} of`, () => ({}));
    return placeholderToken();
  }

  override async addComponent(roomId: string, { type, externalId }: ComponentRequest): Promise<NodeComponent> {
    const [, name] = externalId.split('/');
    const component = { id: unknownYet, type, externalId };
    this.#plan(roomId, `would add component ${name} (${type}) to`, ({ components }) => ({ components: [...components, component] }));
    return component;
  }

  override async deleteComponent(roomId: string, componentId: string): Promise<void> {
    const change = ({ components }: NodeRoom) => ({ components: components.filter(({ id }) => id !== componentId) });
    this.#plan(roomId, `would remove component ${componentId} of`, change);
  }

  override async drain(node: string, seconds?: number): Promise<void> {
    this.#say(`would drain media node ${node}${seconds === undefined ? '' : ` within ${seconds} s`}`, node);
  }

  override async cancelDrain(node: string): Promise<void> {
    this.#say(`would cancel the drain of media node ${node}`, node);
  }

  #key(roomId: string): string {
    return `${this.#about(roomId)}/${this.#place.cluster}`;
  }

  #about(roomId: string): string {
    return `${this.#place.namespace}/${roomId}`;
  }

  /** Records the message, to which the name of the room is added. @returns the room as it would be */
  #plan(roomId: string, message: string, change: (room: NodeRoom) => Partial<NodeRoom>): NodeRoom {
    const planned = this.#rooms.get(this.#key(roomId));
    if (!planned) throw new NodeError({ status: 404, code: 'room_not_found', message: `Room ${roomId} does not exist` });
    const { room, where = ` on ${this.#place.pod}` } = planned;
    this.#say(`${message} room ${roomId}${where}`, this.#about(roomId));
    const changed = { ...room, ...change(room) };
    this.#rooms.set(this.#key(roomId), { ...planned, room: changed });
    return changed;
  }
}

/** A token with correct times and without a signature. */
function placeholderToken(): string {
  const iat = Math.floor(Date.now() / 1000);
  return `.${Buffer.from(JSON.stringify({ iat, exp: iat + tokenLifetimeSeconds })).toString('base64url')}.`;
}

function peerOf({ peerId, externalId, permissions, attributes = {}, admitted = true }: PeerPatchRequest): NodePeer {
  const { publishSources, ...others } = permissions;
  const given = { ...others, ...(publishSources && { publishSources }) };
  return { id: peerId, externalId, status: 'disconnected', permissions: given, attributes, admitted };
}
