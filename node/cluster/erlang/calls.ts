// Remote calls: gen_server calls of this node to processes of other nodes, with timeouts.
import { randomInt } from 'node:crypto';
import type { Connection } from './connection.ts';
import { operations } from './control.ts';
import { Atom, describeTerm, isAtom, type Pid, Reference, type Term, tuple } from './terms/terms.ts';

export type CallFailure =
  /** No response within the timeout. */
  | 'timeout'
  /** The process does not exist. */
  | 'noproc'
  /** The node is not connected, or was lost during the call. */
  | 'noconnection'
  /** The process ended, or could not respond. */
  | 'failed'
  /** Too many calls of this node are pending. */
  | 'overloaded';

export class CallError extends Error {
  readonly reason: CallFailure;
  readonly node: string;

  constructor(reason: CallFailure, node: string, detail = '') {
    super(`call to ${node} failed: ${reason}${detail && ` (${detail})`}`);
    this.name = 'CallError';
    this.reason = reason;
    this.node = node;
  }
}

type Waiting = {
  connection: Connection;
  name: Atom;
  reference: Reference;
  timer: NodeJS.Timeout;
  resolve: (answer: Term) => void;
  reject: (error: Error) => void;
};

const maxWaiting = 65_536;
const lowBits = 18;
const genCall = new Atom('$gen_call');
const emptyAtom = new Atom('');

export class Calls {
  readonly #self: Pid;
  /** By the number in their reference. */
  readonly #waiting = new Map<number, Waiting>();
  /** Random, so that a response to a previous incarnation of this node matches no call. */
  readonly #salt = randomInt(0x1_0000_0000);
  #next = 0;

  /** `self`: the process that is the sender of all calls. */
  constructor(self: Pid) {
    this.#self = self;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Calls a registered process like gen_server:call. `deadline`: timeout in milliseconds. @throws CallError; TypeError RangeError for an
   * invalid request
   */
  async call(connection: Connection, processName: string, request: Term, deadline: number): Promise<Term> {
    if (this.#waiting.size >= maxWaiting) throw new CallError('overloaded', connection.peer);
    const number = this.#next++;
    const words = [number % 2 ** lowBits, Math.floor(number / 2 ** lowBits), this.#salt];
    const reference = new Reference(this.#self.node, this.#self.creation, words);
    const name = new Atom(processName);
    const message = tuple(genCall, tuple(this.#self, reference), request);
    return new Promise((resolve, reject) => {
      const half = deadline / 2;
      const late = () => this.#finish(number, true)?.reject(new CallError('timeout', connection.peer));
      // The timeout runs in two halves: if this process is paused for longer than the timeout, timers run before data that arrived
      // meanwhile is read.
      const timer = setTimeout(() => {
        waiting.timer = setTimeout(late, half);
      }, half);
      const waiting: Waiting = { connection, name, reference, timer, resolve, reject };
      this.#waiting.set(number, waiting);
      try {
        connection.send(tuple(operations.monitor, this.#self, name, reference));
        connection.send(tuple(operations.regSend, this.#self, emptyAtom, name), message);
      } catch (error) {
        this.#finish(number, true);
        reject(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      if (!connection.open) this.lost(connection);
    });
  }

  /** A response. It is dropped if no call waits for it. */
  answer(connection: Connection, reference: Reference, answer: Term): void {
    const number = this.#numberOf(connection, reference);
    if (number !== undefined) this.#finish(number, true)?.resolve(answer);
  }

  /** The monitored process ended, or never existed. */
  down(connection: Connection, reference: Reference, reason: Term): void {
    const number = this.#numberOf(connection, reference);
    if (number === undefined) return;
    const failure = isAtom(reason, 'noproc') ? 'noproc' : 'failed';
    this.#finish(number, false)?.reject(new CallError(failure, connection.peer, failure === 'failed' ? describeTerm(reason) : ''));
  }

  /** Fails all calls to a lost node. */
  lost(connection: Connection): void {
    for (const [number, waiting] of this.#waiting) {
      if (waiting.connection === connection) this.#finish(number, false)?.reject(new CallError('noconnection', connection.peer));
    }
  }

  #numberOf(connection: Connection, { node, creation, words }: Reference): number | undefined {
    const [low = 0, high = 0, salt] = words;
    if (salt !== this.#salt || node !== this.#self.node || creation !== this.#self.creation) return undefined;
    const number = high * 2 ** lowBits + low;
    return this.#waiting.get(number)?.connection === connection ? number : undefined;
  }

  #finish(number: number, demonitor: boolean): Waiting | undefined {
    const waiting = this.#waiting.get(number);
    if (!waiting) return undefined;
    this.#waiting.delete(number);
    clearTimeout(waiting.timer);
    if (demonitor) waiting.connection.send(tuple(operations.demonitor, this.#self, waiting.name, waiting.reference));
    return waiting;
  }
}
