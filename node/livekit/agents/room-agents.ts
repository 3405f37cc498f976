// Agents of a room at its owning node: one dispatch, and so at most one job, for each agent name, and those for single peers.
import { ServiceError } from '../../../api/errors.ts';
import {
  type AgentDispatchView,
  type AgentJob,
  type AgentJobType,
  type AgentJobUpdate,
  type AgentParticipant,
  type AgentRequest,
  maxAgentDispatches,
  maxAgentJobViews,
} from '../../../api/operations/agent-rpcs.ts';
import { Dispatch, type TargetType } from './dispatch.ts';
import { ParticipantAgents, type ParticipantAgentsOptions } from './participant-agents.ts';

export type RoomAgentsOptions = Omit<ParticipantAgentsOptions, 'type'>;

export class RoomAgents {
  readonly #options: RoomAgentsOptions;
  readonly #dispatches = new Map<string, Dispatch>();
  /** For peers, and for those that have published. */
  readonly #targets: Readonly<Record<TargetType, ParticipantAgents>>;

  constructor(options: RoomAgentsOptions) {
    this.#options = options;
    const targets = (type: TargetType) => new ParticipantAgents({ ...options, type });
    this.#targets = { participant: targets('participant'), publisher: targets('publisher') };
  }

  /** @returns the existing dispatch if the room has an active one of this agent. @throws ServiceError `conflict` if the room has too many */
  dispatch(request: AgentRequest): AgentDispatchView {
    const known = this.#of(request.agentName).find(({ active }) => active);
    if (known) return this.#view(known);
    this.#makeSpace();
    const dispatch = new Dispatch({ ...this.#options, request });
    this.#dispatches.set(dispatch.id, dispatch);
    dispatch.seek();
    for (const targets of this.#allTargets) this.#seekFor(targets, request.agentName);
    return this.#view(dispatch);
  }

  /** Like dispatch(), once in the life of the room. */
  dispatchOnce(request: AgentRequest): void {
    if (this.#of(request.agentName).length === 0) this.dispatch(request);
  }

  /** Ends the jobs of a dispatch. @throws ServiceError `not_found` */
  delete(dispatchId: string): AgentDispatchView {
    const dispatch = this.#dispatches.get(dispatchId);
    if (!dispatch) throw new ServiceError('not_found', `Dispatch ${dispatchId} does not exist`);
    const { agentName } = dispatch;
    this.#dispatches.delete(dispatchId);
    dispatch.close();
    const view = this.#view(dispatch);
    if (this.#of(agentName).length === 0) for (const targets of this.#allTargets) targets.end(agentName);
    return view;
  }

  list(): AgentDispatchView[] {
    return [...this.#dispatches.values()].map((dispatch) => this.#view(dispatch));
  }

  /** A peer that is no agent connected (`participant`), or published a track. */
  joined(participant: AgentParticipant, type: TargetType): void {
    const targets = this.#targets[type];
    if (!targets.add(participant)) return;
    for (const agentName of new Set([...this.#dispatches.values()].map((dispatch) => dispatch.agentName)))
      this.#seekFor(targets, agentName);
  }

  /** A peer disconnected: the jobs for it end. */
  left(peerId: string): void {
    for (const targets of this.#allTargets) targets.left(peerId);
  }

  updated(node: string, update: AgentJobUpdate): void {
    for (const dispatch of this.#all()) dispatch.updated(node, update);
  }

  adopt(node: string, workerId: string, jobId: string): AgentJob | undefined {
    for (const dispatch of this.#all()) {
      const job = dispatch.adopt(node, workerId, jobId);
      if (job) return job;
    }
    return undefined;
  }

  workerFree(agentName: string, type: AgentJobType): void {
    if (type === 'room') for (const dispatch of this.#of(agentName)) dispatch.seek();
    else this.#seekFor(this.#targets[type], agentName);
  }

  nodeDown(node: string): void {
    for (const dispatch of this.#all()) dispatch.nodeDown(node);
  }

  close(): void {
    for (const dispatch of this.#all()) dispatch.close();
  }

  get #allTargets(): ParticipantAgents[] {
    return Object.values(this.#targets);
  }

  #seekFor(targets: ParticipantAgents, agentName: string): void {
    const requested = this.#of(agentName).at(-1);
    if (requested) targets.seek(requested.request, requested.id);
  }

  *#all(): Iterable<Dispatch> {
    yield* this.#dispatches.values();
    for (const targets of this.#allTargets) yield* targets.all;
  }

  #view(dispatch: Dispatch): AgentDispatchView {
    const ofTargets = this.#allTargets.flatMap((targets) => targets.of(dispatch.agentName)).filter(({ id }) => id === dispatch.id);
    const view = dispatch.view();
    return { ...view, jobs: [...view.jobs, ...ofTargets.flatMap(({ jobs }) => jobs)].slice(-maxAgentJobViews) };
  }

  #of(agentName: string): Dispatch[] {
    return [...this.#dispatches.values()].filter((dispatch) => dispatch.agentName === agentName);
  }

  /** Forgets the oldest dispatch that is done. */
  #makeSpace(): void {
    if (this.#dispatches.size < maxAgentDispatches) return;
    const done = [...this.#dispatches.values()].find(({ active }) => !active);
    if (!done)
      throw new ServiceError(
        'conflict',
        `The room has ${maxAgentDispatches} active dispatches of agents, the maximum; no further one is created`,
      );
    this.#dispatches.delete(done.id);
  }
}
