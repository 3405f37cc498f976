// Agents: assigns jobs of local rooms to workers of all nodes, and jobs of rooms of all nodes to local workers.

import { ServiceError } from '../../../api/errors.ts';
import type { RoomEvent } from '../../../api/events.ts';
import {
  type AgentDispatchView,
  type AgentJob,
  type AgentParticipant,
  type AgentRequest,
  agentMessages,
  agentRpcs,
  maxAgentWorkers,
} from '../../../api/operations/agent-rpcs.ts';
import type { Log } from '../../common/log.ts';
import type { EventFeed } from '../../rooms/event-feed.ts';
import type { LocalRooms } from '../../rooms/local-rooms.ts';
import type { Peer } from '../../rooms/peers/peer.ts';
import { agentRefusedError } from '../../rooms/peers/peers.ts';
import type { Room } from '../../rooms/room.ts';
import type { NodeMessages } from '../../rooms/services/node-messages.ts';
import type { OperationRegistry } from '../../rooms/services/operations.ts';
import { namesOf, textOf } from '../participants.ts';
import type { Candidate, DispatchTimes, JobPlacement, TargetType } from './dispatch.ts';
import { RoomAgents } from './room-agents.ts';
import type { AgentWorker } from './worker.ts';
import { AgentWorkers, type AgentWorkersOptions } from './workers.ts';

export type AgentsOptions = Omit<AgentWorkersOptions, 'jobUpdated' | 'simulate' | 'adopt' | 'free'> & {
  log: Log;
  nodes: NodeMessages;
  registry: Pick<OperationRegistry, 'serve'>;
  rooms: Pick<LocalRooms, 'all' | 'find' | 'findPeer' | 'room'>;
  /** Events of local rooms. */
  events: Pick<EventFeed, 'subscribe'>;
  times?: DispatchTimes;
};

const defaultTimes: DispatchTimes = { orphanGrace: 1_000, retry: 2_000, restart: 1_000 };
/** Agents for single peers that a node remembers; beyond it, peers of the oldest wait for its next worker. */
const maxTargetAgents = 10_000;
/** The agent whose name is empty gets every room. */
const everyRoom: AgentRequest = { agentName: '', metadata: '', attributes: {}, restart: true };

export class Agents {
  readonly workers: AgentWorkers;
  readonly #options: AgentsOptions;
  /** By id of local rooms. */
  readonly #rooms = new Map<string, RoomAgents>();
  /** Types and names of agents of which a worker for single peers has registered, at any node. */
  readonly #targetAgents = new Set<string>();

  constructor(options: AgentsOptions) {
    const { nodes, events } = options;
    this.#options = options;
    this.workers = new AgentWorkers({
      ...options,
      free: (agentName, type) => nodes.broadcast('agentWorkerFree', { agentName, type }),
      jobUpdated: (owner, update) => nodes.cast(owner, 'agentJobUpdated', update),
      simulate: (roomId, agentName) => this.dispatch(roomId, { ...everyRoom, agentName }),
      adopt: (worker, jobIds) => this.#adopt(worker, jobIds),
    });
    this.#serve();
    this.#receive();
    events.subscribe(({ event }) => this.#roomEvent(event));
  }

  /** Dispatches an agent to a room of any node. @throws ServiceError `room_not_found`, `conflict`, also if the room is encrypted */
  async dispatch(roomId: string, request: AgentRequest): Promise<AgentDispatchView> {
    return this.#options.nodes.at(await this.#owner(roomId), agentRpcs.dispatchAgent, { roomId, ...request });
  }

  /** @throws ServiceError `room_not_found`, `not_found` */
  async deleteDispatch(roomId: string, dispatchId: string): Promise<AgentDispatchView> {
    return this.#options.nodes.at(await this.#owner(roomId), agentRpcs.deleteAgentDispatch, { roomId, dispatchId });
  }

  /** @throws ServiceError `room_not_found` */
  async listDispatches(roomId: string): Promise<AgentDispatchView[]> {
    return this.#options.nodes.at(await this.#owner(roomId), agentRpcs.listAgentDispatches, { roomId });
  }

  /** This node responds for rooms without an owner. */
  async #owner(roomId: string): Promise<string> {
    const { nodes } = this.#options;
    return (await nodes.locate(roomId)) ?? nodes.self;
  }

  #serve(): void {
    this.#options.registry.serve(agentRpcs, {
      agentWorkers: ({ agentName, roomId, type }) => this.workers.accepting(agentName, roomId, type),
      offerAgentJob: ({ workerId, job }, { from }) => this.workers.offer(from, workerId, job),
      assignAgentJob: ({ workerId, jobId }) => this.workers.assign(workerId, jobId),
      adoptAgentJobs: ({ workerId, jobIds }, { from }) => this.#adopted(from, workerId, jobIds),
      dispatchAgent: ({ roomId, ...request }) => {
        const room = this.#options.rooms.room(roomId);
        if (room.peers.encrypted) throw agentRefusedError(roomId);
        return this.#of(room).dispatch(request);
      },
      deleteAgentDispatch: ({ roomId, dispatchId }) => {
        this.#options.rooms.room(roomId);
        const agents = this.#rooms.get(roomId);
        if (!agents) throw new ServiceError('not_found', `Dispatch ${dispatchId} does not exist`);
        return agents.delete(dispatchId);
      },
      listAgentDispatches: ({ roomId }) => {
        this.#options.rooms.room(roomId);
        return this.#rooms.get(roomId)?.list() ?? [];
      },
    });
  }

  #receive(): void {
    const { nodes } = this.#options;
    const { agentWorkerFree, endAgentJob, agentJobUpdated } = agentMessages;
    nodes.receive('agentWorkerFree', agentWorkerFree, (_, { agentName, type }) => {
      if (type !== 'room') this.#serves(agentName, type);
      for (const agents of this.#rooms.values()) agents.workerFree(agentName, type);
    });
    nodes.receive('endAgentJob', endAgentJob, (_, { jobId }) => this.workers.endJob(jobId));
    nodes.receive('agentJobUpdated', agentJobUpdated, (from, update) => this.#rooms.get(update.roomId)?.updated(from, update));
    nodes.listen({
      up: (node) => {
        for (const agent of this.workers.agents) nodes.cast(node, 'agentWorkerFree', agent);
      },
      down: (node) => {
        this.workers.nodeDown(node);
        for (const agents of this.#rooms.values()) agents.nodeDown(node);
      },
    });
  }

  #roomEvent({ type, roomId, peerId = '' }: RoomEvent): void {
    if (type === 'RoomDeleted' || type === 'RoomCrashed') {
      this.#rooms.get(roomId)?.close();
      this.#rooms.delete(roomId);
    }
    if (type === 'PeerDisconnected') this.#rooms.get(roomId)?.left(peerId);
    if (type !== 'PeerConnected' && type !== 'TrackAdded') return;
    const room = this.#options.rooms.find(roomId);
    const peer = room?.peers.find(peerId);
    if (!room || !peer || peer.rights.agent) return;
    if (type === 'PeerConnected') this.#peerConnected(room, peer);
    this.#rooms.get(roomId)?.joined(participantOf(peer), type === 'PeerConnected' ? 'participant' : 'publisher');
  }

  #serves(agentName: string, type: TargetType): void {
    this.#targetAgents.add(`${type} ${agentName}`);
    const [oldest] = this.#targetAgents;
    if (this.#targetAgents.size > maxTargetAgents && oldest !== undefined) this.#targetAgents.delete(oldest);
  }

  #peerConnected(room: Room, { rights }: Peer): void {
    const { log } = this.#options;
    if (room.peers.encrypted) {
      if (rights.agents.length > 0)
        log.info({ room: room.id, reason: agentRefusedError(room.id).message }, 'agent of access token rejected');
      return;
    }
    try {
      for (const request of [everyRoom, ...rights.agents]) this.#of(room).dispatchOnce(request);
    } catch (error) {
      log.info({ room: room.id, err: error }, 'could not dispatch agent of access token');
    }
  }

  #of(room: Room): RoomAgents {
    const known = this.#rooms.get(room.id);
    if (known) return known;
    const { log, times = defaultTimes } = this.#options;
    const agents = new RoomAgents({
      ...this.#placement(),
      ...{ times, log: log.child({ room: room.id }) },
      room: { roomId: room.id, incarnation: room.incarnation, metadata: () => textOf(room.config.metadata) },
      serves: (agentName, type) => this.#targetAgents.has(`${type} ${agentName}`),
      expel: (identity) => expel(room, identity),
    });
    this.#rooms.set(room.id, agents);
    return agents;
  }

  #placement(): JobPlacement {
    const { nodes } = this.#options;
    return {
      workers: async (agentName, roomId, type) => {
        const responses = await nodes.everywhere(agentRpcs.agentWorkers, { agentName, roomId, type });
        // A node that does not respond, or has no agents, has no worker.
        const found = responses.flatMap((each): Candidate[] => {
          if (!('result' in each)) return [];
          return each.result.map((worker) => ({ ...worker, node: each.node }));
        });
        return found.slice(0, maxAgentWorkers);
      },
      offer: ({ node, workerId }, job) => nodes.at(node, agentRpcs.offerAgentJob, { workerId, job }),
      assign: ({ node, workerId }, jobId) => nodes.at(node, agentRpcs.assignAgentJob, { workerId, jobId }),
      end: (node, jobId) => nodes.cast(node, 'endAgentJob', { jobId }),
    };
  }

  /** Of a local worker: requests its jobs of the owning nodes, which it does not know. */
  async #adopt({ id: workerId }: AgentWorker, jobIds: readonly string[]): Promise<{ owner: string; job: AgentJob }[]> {
    const responses = await this.#options.nodes.everywhere(agentRpcs.adoptAgentJobs, { workerId, jobIds: [...jobIds] });
    return responses.flatMap((each) => ('result' in each ? each.result.map((job) => ({ owner: each.node, job })) : []));
  }

  /** By a worker of another node: jobs of local rooms. */
  #adopted(from: string, workerId: string, jobIds: readonly string[]): AgentJob[] {
    return jobIds.flatMap((jobId) => {
      for (const agents of this.#rooms.values()) {
        const job = agents.adopt(from, workerId, jobId);
        if (job) return job;
      }
      return [];
    });
  }
}

function participantOf({ id: peerId, externalId, profile }: Peer): AgentParticipant {
  const { metadata, attributes } = profile;
  return { peerId, identity: externalId ?? peerId, ...namesOf(metadata), attributes };
}

/** Also rejects tokens of an identity that has not joined. */
function expel(room: Room, identity: string): void {
  if (room.ended) return;
  const peer = [...room.peers.all()].find(({ id, externalId }) => id === identity || externalId === identity);
  try {
    room.peers.delete(peer?.id ?? identity);
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'peer_not_found')) throw error;
  }
}
