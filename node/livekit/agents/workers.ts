// Workers of agents that are connected to this node: accepts their websockets, and offers them jobs of rooms on any node.
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { ServiceError } from '../../../api/errors.ts';
import type { AgentAvailability, AgentJob, AgentJobType, OfferedWorker } from '../../../api/operations/agent-rpcs.ts';
import type { WorkerKey } from '../../rooms/tokens/access-claims.ts';
import {
  BinaryAcceptor,
  type BinaryAcceptorOptions,
  type BinaryListener,
  type BinarySocket,
  type UpgradeRequest,
} from '../../websocket/binary-acceptor.ts';
import { readConnection } from '../connection-query.ts';
import { jobClaims } from './job-claims.ts';
import type { AgentLimits } from './limits.ts';
import { AgentWorker, type WorkerOptions } from './worker.ts';

/** Tokens of workers and of the participants of their jobs. */
export type WorkerTokens = {
  /** @throws ServiceError `invalid_token`, `forbidden` */
  verifyWorker(token: string): Promise<WorkerKey>;
  /** @throws ServiceError `invalid_token` if the key does not exist any more */
  sign(keyId: string, claims: Record<string, unknown>, lifetime: number): Promise<string>;
};
export type AgentWorkersOptions = Omit<BinaryAcceptorOptions, 'authenticate' | 'limits'> &
  Pick<WorkerOptions, 'jobUpdated' | 'simulate' | 'adopt'> & {
    limits: AgentLimits;
    tokens: WorkerTokens;
    /** A worker of this agent accepts jobs of a type. */
    free: (agentName: string, type: AgentJobType) => void;
  };

/** Validity of the token of a participant in seconds; its session renews it. */
const tokenLifetime = 3_600;

export class AgentWorkers {
  readonly #options: AgentWorkersOptions;
  readonly #acceptor: BinaryAcceptor;
  readonly #workers = new Map<string, AgentWorker>();

  constructor(options: AgentWorkersOptions) {
    this.#options = options;
    this.#acceptor = new BinaryAcceptor({ ...options, authenticate: (request) => this.#authenticate(request) });
  }

  /** Agents of its workers and the types of their jobs, each once. */
  get agents(): { agentName: string; type: AgentJobType }[] {
    const agents = [...this.#workers.values()].flatMap(({ agentName, type }) =>
      agentName === undefined || !type ? [] : { agentName, type },
    );
    return [...new Map(agents.map((agent) => [`${agent.type} ${agent.agentName}`, agent])).values()];
  }

  get size(): number {
    return this.#workers.size;
  }

  get jobs(): number {
    let jobs = 0;
    for (const worker of this.#workers.values()) jobs += worker.jobs;
    return jobs;
  }

  handleUpgrade(request: IncomingMessage, raw: Duplex, head: Buffer, client?: string): void {
    this.#acceptor.handleUpgrade(request, raw, head, client);
  }

  /** The workers that accept jobs of an agent in a room. */
  accepting(agentName: string, roomId: string, type: AgentJobType): OfferedWorker[] {
    const accepting = [...this.#workers.values()].filter((worker) => worker.accepts(agentName, roomId, type));
    return accepting.map(({ id: workerId, load }) => ({ workerId, load }));
  }

  /** `owner`: the owning node of the room. */
  async offer(owner: string, workerId: string, job: AgentJob): Promise<AgentAvailability> {
    return (await this.#workers.get(workerId)?.offer(owner, job)) ?? { available: false };
  }

  async assign(workerId: string, jobId: string): Promise<boolean> {
    return (await this.#workers.get(workerId)?.assign(jobId)) ?? false;
  }

  endJob(jobId: string): void {
    for (const worker of this.#workers.values()) worker.endJob(jobId);
  }

  nodeDown(node: string): void {
    for (const worker of this.#workers.values()) worker.ownerLost(node);
  }

  /** Workers connect again, to another node. Resolves when all sockets are closed. Idempotent. */
  async close(): Promise<void> {
    for (const worker of [...this.#workers.values()]) worker.close('goingAway');
    await this.#acceptor.close();
  }

  async #authenticate(request: UpgradeRequest): Promise<(socket: BinarySocket) => BinaryListener> {
    const { limits, tokens } = this.#options;
    const key = await tokens.verifyWorker(readConnection(request).token);
    if (this.#workers.size >= limits.workers)
      throw new ServiceError('unavailable', `This node has ${limits.workers} workers of agents, the maximum`, { retryAfter: 10 });
    return (socket) => this.#open(socket, key).listener();
  }

  #open(socket: BinarySocket, key: WorkerKey): AgentWorker {
    const { log, limits, tokens, free, jobUpdated, simulate, adopt } = this.#options;
    const id = `AW_${randomBytes(12).toString('base64url')}`;
    const worker = new AgentWorker(socket, {
      ...{ id, limits, jobUpdated, simulate, adopt },
      log: log.child({ worker: id }),
      permits: (roomId) => roomId.startsWith(key.roomPrefix ?? ''),
      sign: (job, participant, permissions) => tokens.sign(key.id, jobClaims(job, participant, permissions), tokenLifetime),
      free: ({ agentName, type }) => free(agentName ?? '', type ?? 'room'),
      ended: () => this.#workers.delete(id),
    });
    this.#workers.set(id, worker);
    return worker;
  }
}
