// Worker of agents: one websocket of a process that runs agents, with the jobs that are offered and assigned to it.
import { JobStatus, WorkerStatus } from '@livekit/protocol';
import { ServiceError, toServiceError } from '../../../api/errors.ts';
import type { AgentAvailability, AgentJob, AgentJobType, AgentJobUpdate } from '../../../api/operations/agent-rpcs.ts';
import type { Log } from '../../common/log.ts';
import { Timer } from '../../common/timer.ts';
import { TokenBucket } from '../../common/token-bucket.ts';
import type { BinaryListener, BinarySocket } from '../../websocket/binary-acceptor.ts';
import { serverInfo } from '../messages.ts';
import type { AgentLimits } from './limits.ts';
import {
  type AgentPermissions,
  type Availability,
  encodeServerMessage,
  jobMessage,
  jobTypeOf,
  type Registration,
  readWorkerMessage,
  type WorkerRequest,
} from './worker-messages.ts';

/** An access token of the participant of a job. */
export type SignJobToken = (job: AgentJob, participant: Availability, permissions: AgentPermissions | undefined) => Promise<string>;
export type WorkerOptions = {
  id: string;
  log: Log;
  limits: AgentLimits;
  /** True if the key with which the worker authenticated is valid for a room. */
  permits: (roomId: string) => boolean;
  sign: SignJobToken;
  /** The worker accepts jobs. */
  free: (worker: AgentWorker) => void;
  /** A job of the owning node `owner` changed. */
  jobUpdated: (owner: string, update: AgentJobUpdate) => void;
  simulate: (roomId: string, agentName: string) => Promise<unknown>;
  /** @returns the jobs that the worker may continue, with their owning nodes */
  adopt: (worker: AgentWorker, jobIds: readonly string[]) => Promise<{ owner: string; job: AgentJob }[]>;
  ended: (worker: AgentWorker) => void;
};

type Placed = { job: AgentJob; owner: string };
type Offer = Placed & { settle: (response: Availability | undefined) => void };
type JobState = Exclude<AgentJobUpdate['status'], 'lost'>;
const statuses: Readonly<Record<number, JobState>> = {
  [JobStatus.JS_RUNNING]: 'running',
  [JobStatus.JS_SUCCESS]: 'succeeded',
  [JobStatus.JS_FAILED]: 'failed',
};
/** Requests to other nodes count as this number of messages. */
const clusterCost = 10;
/** Load that a job adds until the worker reports its load. */
const loadPerJob = 0.05;

export class AgentWorker {
  readonly id: string;
  readonly #options: WorkerOptions;
  readonly #socket: BinarySocket;
  readonly #bucket: TokenBucket;
  readonly #registering: Timer;
  /** By job id. Accepted jobs wait for their assignment. */
  readonly #offers = new Map<string, Offer>();
  readonly #accepted = new Map<string, Placed & { participant: Availability }>();
  readonly #jobs = new Map<string, Placed>();
  #registration: Registration | undefined;
  #load = 0;
  #full = false;
  #assignedSinceLoad = 0;
  #ended = false;

  constructor(socket: BinarySocket, options: WorkerOptions) {
    const { limits } = options;
    this.id = options.id;
    this.#options = options;
    this.#socket = socket;
    this.#bucket = new TokenBucket(() => limits.messagesPerSecond, limits.burst);
    this.#registering = new Timer(limits.registrationTimeout, () => this.close('authenticationTimeout'));
  }

  get agentName(): string | undefined {
    return this.#registration?.agentName;
  }

  get jobs(): number {
    return this.#jobs.size;
  }

  /** Share of its capacity that is in use, with jobs that its last report cannot include. */
  get load(): number {
    return this.#load + (this.#assignedSinceLoad + this.#offers.size + this.#accepted.size) * loadPerJob;
  }

  /** What its jobs are for; undefined before its registration. */
  get type(): AgentJobType | undefined {
    return this.#registration && jobTypeOf(this.#registration.type);
  }

  accepts(agentName: string, roomId: string, type: AgentJobType): boolean {
    const isOfAgent = this.agentName === agentName && this.type === type;
    return !this.#full && !this.#ended && isOfAgent && this.#hasCapacity() && this.#options.permits(roomId);
  }

  listener(): BinaryListener {
    return {
      message: (frame) => this.#receive(frame),
      lost: (code) => {
        this.#options.log.info({ code }, 'agent worker lost');
        this.#end();
      },
    };
  }

  /** Resolves with the response of the worker; it is not available if it does not respond in time. */
  async offer(owner: string, job: AgentJob): Promise<AgentAvailability> {
    if (!this.accepts(job.agentName, job.roomId, job.type) || this.#offers.has(job.id)) return { available: false };
    const response = await new Promise<Availability | undefined>((resolve) => {
      const timer = new Timer(this.#options.limits.availabilityTimeout, () => resolve(undefined));
      const settle = (given: Availability | undefined) => {
        timer.stop();
        resolve(given);
      };
      this.#offers.set(job.id, { job, owner, settle });
      this.#socket.send(encodeServerMessage({ case: 'availability', value: { job: jobMessage(job), resuming: job.again } }));
    });
    const offered = this.#offers.delete(job.id);
    if (!response?.available || !offered || this.#ended) return { available: false, terminate: response?.terminate === true };
    const participant = { ...response, participantIdentity: response.participantIdentity || `agent-${job.id}` };
    this.#accepted.set(job.id, { job, owner, participant });
    return { available: true, identity: participant.participantIdentity };
  }

  /** Assigns an accepted job. @returns false if it was not accepted, or the worker is lost */
  async assign(jobId: string): Promise<boolean> {
    const accepted = this.#accepted.get(jobId);
    if (!accepted) return false;
    const { job, owner, participant } = accepted;
    const token = await this.#options.sign(job, participant, this.#registration?.allowedPermissions);
    // It may have ended meanwhile.
    if (!this.#accepted.delete(jobId)) return false;
    this.#jobs.set(jobId, { job, owner });
    this.#assignedSinceLoad += 1;
    this.#socket.send(encodeServerMessage({ case: 'assignment', value: { job: jobMessage(job), token } }));
    return true;
  }

  /** Ends a job, if the worker has it. */
  endJob(jobId: string): void {
    this.#offers.get(jobId)?.settle(undefined);
    this.#offers.delete(jobId);
    const known = this.#jobs.delete(jobId);
    if (this.#accepted.delete(jobId) || known) this.#terminate(jobId);
  }

  /** The rooms of a node are lost with it. */
  ownerLost(owner: string): void {
    for (const placed of [this.#offers, this.#accepted, this.#jobs])
      for (const [jobId, each] of [...placed]) if (each.owner === owner) this.endJob(jobId);
  }

  close(name: 'goingAway' | 'authenticationTimeout'): void {
    this.#socket.close(name);
    this.#end();
  }

  #hasCapacity(): boolean {
    return this.#offers.size + this.#accepted.size + this.#jobs.size < this.#options.limits.jobs;
  }

  #receive(frame: Buffer): void {
    try {
      const request = readWorkerMessage(frame);
      if (!this.#bucket.take()) this.#socket.refuse('tooFast');
      else if (request) this.#handle(request);
    } catch (error) {
      const { code, message } = toServiceError(error);
      this.#options.log[code === 'internal' ? 'error' : 'info'](
        { ...(code === 'internal' ? { err: error } : { reason: message }) },
        'invalid message of agent worker',
      );
      this.#socket.refuse('malformed');
    }
  }

  #handle({ name, data }: WorkerRequest): void {
    if (name === 'ping') {
      const value = { lastTimestamp: data.timestamp, timestamp: BigInt(Date.now()) };
      this.#socket.send(encodeServerMessage({ case: 'pong', value }));
    } else if (name === 'register') this.#register(data);
    else if (!this.#registration) throw new ServiceError('bad_request', 'The worker has not registered');
    else if (name === 'availability') this.#offers.get(data.jobId)?.settle(data);
    else if (name === 'updateWorker') this.#updateLoad(data);
    else if (name === 'updateJob') this.#updateJob(data);
    else if (!this.#bucket.take(clusterCost)) this.#socket.refuse('tooFast');
    else if (name === 'migrateJob') void this.#migrate(data.jobIds);
    else void this.#simulate(data.room.name);
  }

  #register(registration: Registration): void {
    if (this.#registration) throw new ServiceError('bad_request', 'The worker is already registered');
    this.#registering.stop();
    this.#registration = registration;
    const { log, free } = this.#options;
    log.info({ agent: registration.agentName, version: registration.version }, 'agent worker registered');
    this.#socket.send(encodeServerMessage({ case: 'register', value: { workerId: this.id, serverInfo: serverInfo() } }));
    free(this);
  }

  #updateLoad({ status, load }: Extract<WorkerRequest, { name: 'updateWorker' }>['data']): void {
    const wasFull = this.#full;
    this.#load = load;
    this.#assignedSinceLoad = 0;
    if (status !== undefined) this.#full = status === WorkerStatus.WS_FULL;
    if (wasFull && !this.#full) this.#options.free(this);
  }

  #updateJob({ jobId, status, error }: Extract<WorkerRequest, { name: 'updateJob' }>['data']): void {
    const placed = this.#jobs.get(jobId);
    const state = statuses[status];
    if (!placed || !state) return;
    if (state !== 'running') this.#jobs.delete(jobId);
    this.#report(placed, state, error);
  }

  #report({ job, owner }: Placed, status: AgentJobUpdate['status'], error = ''): void {
    this.#options.jobUpdated(owner, { roomId: job.roomId, jobId: job.id, workerId: this.id, status, error });
  }

  /** Jobs that were assigned again meanwhile are terminated. */
  async #migrate(jobIds: readonly string[]): Promise<void> {
    const adopted = await this.#options.adopt(this, jobIds);
    if (this.#ended) {
      for (const placed of adopted) this.#report(placed, 'lost');
      return;
    }
    for (const placed of adopted) this.#jobs.set(placed.job.id, placed);
    for (const jobId of jobIds) if (!this.#jobs.has(jobId)) this.#terminate(jobId);
  }

  async #simulate(roomId: string): Promise<void> {
    const { log, simulate, permits } = this.#options;
    try {
      if (!permits(roomId)) throw new ServiceError('forbidden', 'The access key of the worker is not valid for the room');
      await simulate(roomId, this.agentName ?? '');
    } catch (error) {
      log.info({ room: roomId, reason: toServiceError(error).message }, 'could not simulate job of agent worker');
    }
  }

  #terminate(jobId: string): void {
    this.#socket.send(encodeServerMessage({ case: 'termination', value: { jobId } }));
  }

  /** Idempotent. */
  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#registering.stop();
    for (const { settle } of this.#offers.values()) settle(undefined);
    for (const placed of this.#jobs.values()) this.#report(placed, 'lost');
    for (const placed of [this.#offers, this.#accepted, this.#jobs]) placed.clear();
    this.#options.ended(this);
  }
}
