// Agents of a room at its owning node: one dispatch, and so at most one job, for each agent name.
import { ServiceError } from '../../../api/errors.ts';
import {
  type AgentDispatchView,
  type AgentJob,
  type AgentJobUpdate,
  type AgentRequest,
  maxAgentDispatches,
} from '../../../api/operations/agent-rpcs.ts';
import { Dispatch, type DispatchOptions } from './dispatch.ts';

export type RoomAgentsOptions = Omit<DispatchOptions, 'request'>;

export class RoomAgents {
  readonly #options: RoomAgentsOptions;
  readonly #dispatches = new Map<string, Dispatch>();

  constructor(options: RoomAgentsOptions) {
    this.#options = options;
  }

  /** @returns the existing dispatch if the room has an active one of this agent. @throws ServiceError `conflict` if the room has too many */
  dispatch(request: AgentRequest): AgentDispatchView {
    const known = this.#of(request.agentName).find(({ active }) => active);
    if (known) return known.view();
    this.#makeSpace();
    const dispatch = new Dispatch({ ...this.#options, request });
    this.#dispatches.set(dispatch.id, dispatch);
    dispatch.seek();
    return dispatch.view();
  }

  /** Like dispatch(), once in the life of the room. */
  dispatchOnce(request: AgentRequest): void {
    if (this.#of(request.agentName).length === 0) this.dispatch(request);
  }

  /** Ends the job of a dispatch. @throws ServiceError `not_found` */
  delete(dispatchId: string): AgentDispatchView {
    const dispatch = this.#dispatches.get(dispatchId);
    if (!dispatch) throw new ServiceError('not_found', `Dispatch ${dispatchId} does not exist`);
    this.#dispatches.delete(dispatchId);
    dispatch.close();
    return dispatch.view();
  }

  list(): AgentDispatchView[] {
    return [...this.#dispatches.values()].map((dispatch) => dispatch.view());
  }

  updated(node: string, update: AgentJobUpdate): void {
    for (const dispatch of this.#dispatches.values()) dispatch.updated(node, update);
  }

  adopt(node: string, workerId: string, jobId: string): AgentJob | undefined {
    for (const dispatch of this.#dispatches.values()) {
      const job = dispatch.adopt(node, workerId, jobId);
      if (job) return job;
    }
    return undefined;
  }

  workerFree(agentName: string): void {
    for (const dispatch of this.#of(agentName)) dispatch.seek();
  }

  nodeDown(node: string): void {
    for (const dispatch of this.#dispatches.values()) dispatch.nodeDown(node);
  }

  close(): void {
    for (const dispatch of this.#dispatches.values()) dispatch.close();
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
