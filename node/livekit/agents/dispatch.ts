// Dispatch of an agent to a room, or to one peer of it, at the owning node of the room: it has at most one job, which moves to another worker
// if its worker is lost.
import { randomBytes } from 'node:crypto';
import type {
  AgentAvailability,
  AgentDispatchView,
  AgentJob,
  AgentJobType,
  AgentJobUpdate,
  AgentJobView,
  AgentParticipant,
  AgentRequest,
  OfferedWorker,
} from '../../../api/operations/agent-rpcs.ts';
import type { Log } from '../../common/log.ts';
import { Timer } from '../../common/timer.ts';

/** What jobs for one peer are for. */
export type TargetType = Exclude<AgentJobType, 'room'>;
/** A worker, and the node to which it is connected. */
export type Candidate = OfferedWorker & { node: string };
/** What a dispatch requests of the nodes of workers. Rejects or returns false if a node is lost. */
export type JobPlacement = {
  workers: (agentName: string, roomId: string, type: AgentJobType) => Promise<Candidate[]>;
  offer: (worker: Candidate, job: AgentJob) => Promise<AgentAvailability>;
  assign: (worker: Candidate, jobId: string) => Promise<boolean>;
  end: (node: string, jobId: string) => void;
};
export type DispatchOptions = JobPlacement & {
  log: Log;
  request: AgentRequest;
  room: { roomId: string; incarnation: string; metadata: () => string };
  /** The peer for which an agent works that is dispatched to the room; undefined for the room. `dispatchId`: of that dispatch. */
  target?: { type: TargetType; participant: AgentParticipant; dispatchId: string };
  /** Removes the participant of a job that ended, and rejects its token. */
  expel: (identity: string) => void;
  times: DispatchTimes;
  now?: () => number;
};
/** Milliseconds. */
export type DispatchTimes = {
  /** Until a job of a lost worker is assigned again: the worker may connect again and continue it. */
  readonly orphanGrace: number;
  /** Until workers are asked again, if none accepted the job. */
  readonly retry: number;
  /** Until a failed job is assigned again. */
  readonly restart: number;
};

type Placement = { job: AgentJob; view: AgentJobView; node: string; orphaned?: Timer };
/** Failed jobs that are assigned again. */
const maxRestarts = 3;
const maxEndedJobs = 10;

export class Dispatch {
  readonly id: string;
  readonly #options: DispatchOptions;
  readonly #now: () => number;
  readonly #createdAt: number;
  readonly #ended: AgentJobView[] = [];
  #current: Placement | undefined;
  #seeking = false;
  /** A worker became free while others were asked. */
  #seekAgain = false;
  #timer: Timer | undefined;
  #failures = 0;
  /** True if the agent has done its job, or failed too often. */
  #done = false;
  #closed = false;

  constructor(options: DispatchOptions) {
    this.#options = options;
    this.id = options.target?.dispatchId ?? newId('AD');
    this.#now = options.now ?? Date.now;
    this.#createdAt = this.#now();
  }

  get request(): AgentRequest {
    return this.#options.request;
  }

  get agentName(): string {
    return this.request.agentName;
  }

  /** True if it has, or waits for, a job. */
  get active(): boolean {
    return !this.#closed && !this.#done;
  }

  get #type(): AgentJobType {
    return this.#options.target?.type ?? 'room';
  }

  get jobs(): AgentJobView[] {
    return [...this.#ended, ...(this.#current ? [{ ...this.#current.view }] : [])];
  }

  view(): AgentDispatchView {
    const { request, room } = this.#options;
    return { ...request, id: this.id, roomId: room.roomId, createdAt: this.#createdAt, jobs: this.jobs };
  }

  /** Looks for a worker, unless the dispatch has one. */
  seek(): void {
    if (!this.active || this.#current) return;
    if (this.#seeking) this.#seekAgain = true;
    else void this.#seek();
  }

  updated(node: string, { jobId, workerId, status, error }: AgentJobUpdate): void {
    const current = this.#current;
    if (current?.job.id !== jobId || current.node !== node || current.view.workerId !== workerId) return;
    if (status === 'lost') this.#orphan(current);
    else if (status === 'running') Object.assign(current.view, { status, startedAt: current.view.startedAt || this.#now() });
    else this.#finish(current, status, error);
  }

  /** The worker of a job connected again, to any node. @returns the job, unless it was assigned again meanwhile */
  adopt(node: string, workerId: string, jobId: string): AgentJob | undefined {
    const current = this.#current;
    if (current?.job.id !== jobId || current.view.status === 'pending') return undefined;
    current.orphaned?.stop();
    this.#current = { job: current.job, view: { ...current.view, workerId }, node };
    return current.job;
  }

  nodeDown(node: string): void {
    if (this.#current?.node === node) this.#orphan(this.#current);
  }

  /** Ends its job. Idempotent. */
  close(): void {
    this.#closed = true;
    this.#timer?.stop();
    if (this.#current) this.#drop(this.#current, 'succeeded');
  }

  async #seek(): Promise<void> {
    const { log, room, workers, times } = this.#options;
    this.#timer?.stop();
    this.#seeking = true;
    let asked = 0;
    do {
      this.#seekAgain = false;
      try {
        const candidates = sorted(await workers(this.agentName, room.roomId, this.#type));
        for (const candidate of candidates) {
          if (!this.active || this.#current) break;
          asked += 1;
          await this.#try(candidate);
        }
      } catch (error) {
        log.error({ err: error }, 'could not assign job of agent');
        asked += 1;
      }
    } while (this.#seekAgain && this.active && !this.#current);
    this.#seeking = false;
    // Without any worker, the first one that registers is announced.
    if (asked > 0 && this.active && !this.#current) this.#timer = new Timer(times.retry, () => this.seek());
  }

  async #try(worker: Candidate): Promise<void> {
    const { log, offer, assign, end } = this.#options;
    const job = this.#newJob();
    const response = await offer(worker, job).catch(unavailable);
    if (!response.available) {
      this.#done ||= response.terminate === true;
      return;
    }
    if (!this.active) {
      end(worker.node, job.id);
      return;
    }
    const { workerId, node } = worker;
    const view: AgentJobView = {
      id: job.id,
      type: this.#type,
      status: 'pending',
      error: '',
      startedAt: 0,
      endedAt: 0,
      identity: response.identity,
      workerId,
    };
    const current: Placement = { job, view, node };
    this.#current = current;
    const assigned = await assign(worker, job.id).catch(() => false);
    if (this.#current !== current) return;
    if (!assigned) this.#drop(current, 'failed');
    else {
      Object.assign(view, { status: 'running', startedAt: this.#now() });
      log.info({ job: job.id, worker: workerId, node, agent: this.agentName }, 'job of agent assigned');
    }
  }

  #newJob(): AgentJob {
    const { request, room, target } = this.#options;
    const { agentName, metadata, attributes } = request;
    return {
      ...{ agentName, metadata, attributes, dispatchId: this.id, id: newId('AJ') },
      ...{ roomId: room.roomId, incarnation: room.incarnation, roomMetadata: room.metadata() },
      type: this.#type,
      ...(target && { participant: target.participant }),
      // The peer may have had a job in an earlier connection.
      again: target !== undefined || this.#ended.length > 0,
    };
  }

  #orphan(current: Placement): void {
    const { log, times } = this.#options;
    if (current.orphaned) return;
    log.info({ job: current.job.id, agent: this.agentName }, 'worker of job lost');
    current.orphaned = new Timer(times.orphanGrace, () => {
      if (this.#current !== current) return;
      this.#drop(current, 'failed');
      this.seek();
    });
  }

  #finish(current: Placement, status: 'succeeded' | 'failed', error: string): void {
    current.view.error = error;
    const { request, times } = this.#options;
    this.#drop(current, status);
    if (status === 'failed') this.#failures += 1;
    if (status === 'failed' && request.restart && this.#failures <= maxRestarts) this.#timer = new Timer(times.restart, () => this.seek());
    else this.#done = true;
  }

  /** Its participant must not stay next to that of the next job. */
  #drop(current: Placement, status: 'succeeded' | 'failed'): void {
    const { end, expel } = this.#options;
    current.orphaned?.stop();
    this.#current = undefined;
    Object.assign(current.view, { status, endedAt: this.#now() });
    this.#ended.push(current.view);
    if (this.#ended.length > maxEndedJobs) this.#ended.shift();
    end(current.node, current.job.id);
    expel(current.view.identity);
  }
}

/** Least loaded first; ids are random, so that equal ones differ for each node. */
export function sorted(workers: readonly Candidate[]): Candidate[] {
  return workers.toSorted((a, b) => a.load - b.load || (a.workerId < b.workerId ? -1 : 1));
}

function unavailable(): AgentAvailability {
  return { available: false };
}

function newId(prefix: 'AD' | 'AJ'): string {
  return `${prefix}_${randomBytes(12).toString('base64url')}`;
}
