// Agents of a room at its owning node: one dispatch, and so at most one job, for each agent name, and one for each publisher and agent name.
import { ServiceError } from '../../../api/errors.ts';
import {
  type AgentDispatchView,
  type AgentJob,
  type AgentJobType,
  type AgentJobUpdate,
  type AgentPublisher,
  type AgentRequest,
  maxAgentDispatches,
  maxAgentJobViews,
} from '../../../api/operations/agent-rpcs.ts';
import { Dispatch, type DispatchOptions } from './dispatch.ts';

export type RoomAgentsOptions = Omit<DispatchOptions, 'request' | 'target'> & {
  /** True if a worker of this agent has registered for publishers. Otherwise no node is asked for each publisher. */
  servesPublishers: (agentName: string) => boolean;
};

export class RoomAgents {
  readonly #options: RoomAgentsOptions;
  readonly #dispatches = new Map<string, Dispatch>();
  /** Connected peers that have published, by id. */
  readonly #publishers = new Map<string, AgentPublisher>();
  /** Dispatches to publishers, by agent name and id of the publisher. */
  readonly #publisherJobs = new Map<string, Map<string, Dispatch>>();

  constructor(options: RoomAgentsOptions) {
    this.#options = options;
  }

  /** @returns the existing dispatch if the room has an active one of this agent. @throws ServiceError `conflict` if the room has too many */
  dispatch(request: AgentRequest): AgentDispatchView {
    const known = this.#of(request.agentName).find(({ active }) => active);
    if (known) return this.#view(known);
    this.#makeSpace();
    const dispatch = new Dispatch({ ...this.#options, request });
    this.#dispatches.set(dispatch.id, dispatch);
    dispatch.seek();
    this.#seekForPublishers(request.agentName);
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
    const jobs = [...(this.#publisherJobs.get(agentName)?.values() ?? [])];
    const view = this.#view(dispatch);
    if (this.#of(agentName).length > 0) return view;
    for (const each of jobs) each.close();
    this.#publisherJobs.delete(agentName);
    return view;
  }

  list(): AgentDispatchView[] {
    return [...this.#dispatches.values()].map((dispatch) => this.#view(dispatch));
  }

  /** A peer that is no agent published a track. */
  published(publisher: AgentPublisher): void {
    if (this.#publishers.has(publisher.peerId)) return;
    this.#publishers.set(publisher.peerId, publisher);
    for (const agentName of new Set([...this.#dispatches.values()].map((dispatch) => dispatch.agentName)))
      this.#seekForPublishers(agentName);
  }

  /** A peer disconnected: the jobs for it end. */
  left(peerId: string): void {
    this.#publishers.delete(peerId);
    for (const jobs of this.#publisherJobs.values()) {
      jobs.get(peerId)?.close();
      jobs.delete(peerId);
    }
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
    if (type === 'publisher') this.#seekForPublishers(agentName);
    else for (const dispatch of this.#of(agentName)) dispatch.seek();
  }

  nodeDown(node: string): void {
    for (const dispatch of this.#all()) dispatch.nodeDown(node);
  }

  close(): void {
    for (const dispatch of this.#all()) dispatch.close();
  }

  /** A publisher whose job was done gets no other one of the agent. */
  #seekForPublishers(agentName: string): void {
    const requested = this.#of(agentName).at(-1);
    if (!requested || !this.#options.servesPublishers(agentName)) return;
    const jobs = this.#publisherJobs.get(agentName) ?? new Map<string, Dispatch>();
    this.#publisherJobs.set(agentName, jobs);
    const { request, id: dispatchId } = requested;
    for (const [peerId, publisher] of this.#publishers)
      if (!jobs.has(peerId)) jobs.set(peerId, new Dispatch({ ...this.#options, request, target: { publisher, dispatchId } }));
    for (const job of jobs.values()) job.seek();
  }

  *#all(): Iterable<Dispatch> {
    yield* this.#dispatches.values();
    for (const jobs of this.#publisherJobs.values()) yield* jobs.values();
  }

  #view(dispatch: Dispatch): AgentDispatchView {
    const ofPublishers = [...(this.#publisherJobs.get(dispatch.agentName)?.values() ?? [])].filter(({ id }) => id === dispatch.id);
    const view = dispatch.view();
    return { ...view, jobs: [...view.jobs, ...ofPublishers.flatMap(({ jobs }) => jobs)].slice(-maxAgentJobViews) };
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
