// Worker of agents of LiveKit, which accepts every job unless told otherwise: messages of their protocol over a websocket.
import { once } from 'node:events';
import { type Job, ServerMessage, WorkerMessage } from '@livekit/protocol';
import { WebSocket } from 'ws';
import { signAccessToken } from '../access-tokens.ts';
import { eventually } from '../eventually.ts';

type Response = ServerMessage['message'];
type Case = Exclude<Response['case'], undefined>;
type MessageOf<Name extends Case> = Extract<Response, { case: Name }>['value'];
type Request = NonNullable<ConstructorParameters<typeof WorkerMessage>[0]>['message'];
export type AssignedJob = { job: Job; token: string };
export type AgentWorkerInit = {
  /** URL of the node. */
  url: string;
  agentName?: string;
  type?: number;
  token?: string;
  /** False: declines; null: does not respond. */
  available?: (job: Job) => boolean | null;
  identity?: string;
  /** Called in the turn of the message. */
  onAssigned?: (assigned: AssignedJob) => void;
  onTerminated?: (jobId: string) => void;
};

export class TestAgentWorker {
  readonly webSocket: WebSocket;
  readonly messages: Response[] = [];
  /** Jobs that are assigned and not terminated, by id. */
  readonly jobs = new Map<string, AssignedJob>();
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #init: AgentWorkerInit;

  private constructor(webSocket: WebSocket, init: AgentWorkerInit) {
    this.webSocket = webSocket;
    this.#init = init;
    webSocket.on('message', (data: Buffer) => this.#received(ServerMessage.fromBinary(new Uint8Array(data)).message));
    this.closed = new Promise((resolve) => webSocket.on('close', (code, reason) => resolve({ code, reason: reason.toString() })));
  }

  static async open(init: AgentWorkerInit): Promise<TestAgentWorker> {
    const token = init.token ?? (await workerToken());
    const webSocket = new WebSocket(`${init.url.replace(/^http/, 'ws')}/agent`, { headers: { authorization: `Bearer ${token}` } });
    const worker = new TestAgentWorker(webSocket, init);
    await once(webSocket, 'open');
    return worker;
  }

  static async register(init: AgentWorkerInit): Promise<TestAgentWorker> {
    const worker = await TestAgentWorker.open(init);
    const { agentName = '', type = 0 } = init;
    worker.send({ case: 'register', value: { agentName, type, version: 'test' } });
    await worker.waitFor('register');
    return worker;
  }

  send(message: Request): void {
    this.webSocket.send(new WorkerMessage({ message }).toBinary());
  }

  /** The first message of this case. */
  async waitFor<Name extends Case>(name: Name): Promise<MessageOf<Name>> {
    const found = await eventually(
      () => `${name} among ${this.messages.map((message) => message.case)}`,
      () => {
        const message = this.messages.find((each) => each.case === name);
        return message && { message };
      },
    );
    return found.message.value as MessageOf<Name>;
  }

  /** The process of the worker is killed, with its jobs. */
  kill(): void {
    this.jobs.clear();
    this.webSocket.terminate();
  }

  #received(message: Response): void {
    this.messages.push(message);
    if (message.case === 'availability') this.#respond(message.value.job);
    else if (message.case === 'assignment') this.#assigned(message.value);
    else if (message.case === 'termination') {
      this.jobs.delete(message.value.jobId);
      this.#init.onTerminated?.(message.value.jobId);
    }
  }

  #respond(job: Job | undefined): void {
    const { available = () => true, identity = '' } = this.#init;
    const response = job && available(job);
    if (!job || response === null || response === undefined) return;
    this.send({ case: 'availability', value: { jobId: job.id, available: response, participantIdentity: identity } });
  }

  #assigned({ job, token }: { job?: Job; token: string }): void {
    if (!job) throw new Error('an assignment without a job');
    const assigned = { job, token };
    this.jobs.set(job.id, assigned);
    this.#init.onAssigned?.(assigned);
    this.send({ case: 'updateJob', value: { jobId: job.id, status: 1 } });
  }
}

/** As the agents framework signs it. */
export function workerToken(grants: Record<string, unknown> = { agent: true }): Promise<string> {
  return signAccessToken({ identity: 'worker', room: '', video: { room: undefined, roomJoin: undefined, ...grants } });
}
