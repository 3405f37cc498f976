// Agents for single peers of a room at its owning node, of one type of job: one dispatch, and so at most one job, for each peer and agent name.
import type { AgentParticipant, AgentRequest } from '../../../api/operations/agent-rpcs.ts';
import { Dispatch, type DispatchOptions, type TargetType } from './dispatch.ts';

export type ParticipantAgentsOptions = Omit<DispatchOptions, 'request' | 'target'> & {
  type: TargetType;
  /** True if a worker of this agent has registered for jobs of a type. Otherwise no node is asked for each peer. */
  serves: (agentName: string, type: TargetType) => boolean;
};

export class ParticipantAgents {
  readonly #options: ParticipantAgentsOptions;
  /** Connected peers, by id. */
  readonly #participants = new Map<string, AgentParticipant>();
  /** By agent name and id of the peer. */
  readonly #dispatches = new Map<string, Map<string, Dispatch>>();

  constructor(options: ParticipantAgentsOptions) {
    this.#options = options;
  }

  get all(): Dispatch[] {
    return [...this.#dispatches.values()].flatMap((each) => [...each.values()]);
  }

  /** @returns false if the peer was added before */
  add(participant: AgentParticipant): boolean {
    const isNew = !this.#participants.has(participant.peerId);
    if (isNew) this.#participants.set(participant.peerId, participant);
    return isNew;
  }

  /** A peer disconnected: the jobs for it end. */
  left(peerId: string): void {
    this.#participants.delete(peerId);
    for (const dispatches of this.#dispatches.values()) {
      dispatches.get(peerId)?.close();
      dispatches.delete(peerId);
    }
  }

  /** A peer whose job was done gets no other one of the agent. `dispatchId`: of the dispatch to the room. */
  seek(request: AgentRequest, dispatchId: string): void {
    const { type, serves } = this.#options;
    const { agentName } = request;
    if (!serves(agentName, type)) return;
    const dispatches = this.#dispatches.get(agentName) ?? new Map<string, Dispatch>();
    this.#dispatches.set(agentName, dispatches);
    for (const [peerId, participant] of this.#participants)
      if (!dispatches.has(peerId))
        dispatches.set(peerId, new Dispatch({ ...this.#options, request, target: { type, participant, dispatchId } }));
    for (const dispatch of dispatches.values()) dispatch.seek();
  }

  of(agentName: string): Dispatch[] {
    return [...(this.#dispatches.get(agentName)?.values() ?? [])];
  }

  /** The room has no dispatch of the agent any more: its jobs end. */
  end(agentName: string): void {
    for (const dispatch of this.of(agentName)) dispatch.close();
    this.#dispatches.delete(agentName);
  }
}
