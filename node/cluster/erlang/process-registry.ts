// Process registry: registered processes of this node as seen by other nodes, with messages, calls, monitors, links and spawns.
import type { Log } from '../../common/log.ts';
import { Calls } from './calls.ts';
import type { Connection } from './connection.ts';
import { type ControlMessage, operations } from './control.ts';
import { flags } from './handshake/flags.ts';
import { Atom, ImproperList, isAtom, Pid, Reference, type Term, tuple, tupleElements } from './terms/terms.ts';

/** Handlers of a registered name; `node` is the sender. Unhandled requests are answered with noproc, unhandled messages dropped. */
export type Service = {
  /** `gen_server:call`. The response is sent when it resolves. If it rejects, the monitor of the caller fires. */
  call?: (request: Term, node: string) => Term | Promise<Term>;
  /** `gen_server:cast`. */
  cast?: (request: Term, node: string) => void;
  /** A plain message. */
  info?: (message: Term, node: string) => void;
};

const maxCallsAtOnce = 16_384;
const emptyAtom = new Atom('');
const noproc = new Atom('noproc');

export class ProcessRegistry {
  readonly calls: Calls;
  readonly #node: string;
  readonly #creation: number;
  readonly #log: Log;
  readonly #services = new Map<string, Service>();
  readonly #self: Pid;
  #pids = 0;
  #callsAtOnce = 0;

  constructor(node: string, creation: number, log: Log) {
    this.#node = node;
    this.#creation = creation;
    this.#log = log;
    this.#self = this.newPid();
    this.calls = new Calls(this.#self);
    this.register('net_kernel', {
      call: (request) => (isAtom(tupleElements(request)[0], 'is_auth') ? new Atom('yes') : new Atom('error')),
    });
  }

  /** A process that lives as long as the node and handles nothing. */
  newPid(): Pid {
    this.#pids += 1;
    return new Pid(this.#node, this.#pids, 0, this.#creation);
  }

  /** @throws Error if the name is already registered */
  register(name: string, service: Service): void {
    if (this.#services.has(name)) throw new Error(`${name} is already registered`);
    this.#services.set(name, service);
  }

  send(connection: Connection, name: string, message: Term): void {
    connection.send(tuple(operations.regSend, this.#self, emptyAtom, new Atom(name)), message);
  }

  /** Handles a message of a remote node. Never throws because of its content. */
  handle(connection: Connection, message: ControlMessage): void {
    switch (message.kind) {
      case 'toName':
        this.#toName(connection, message.name, message.message);
        break;
      case 'toPid':
      case 'toAlias':
        this.#toSelf(connection, message.message);
        break;
      case 'monitor':
        if (!this.#isAlive(message.to)) this.#sendDown(connection, message.to, message.from, message.reference, noproc);
        break;
      case 'down':
        this.calls.down(connection, message.reference, message.reason);
        break;
      case 'link':
        if (!this.#isAlive(message.to)) connection.send(tuple(operations.payloadExit, message.to, message.from), noproc);
        break;
      case 'unlink':
        connection.send(tuple(operations.unlinkIdAck, message.id, message.to, message.from));
        break;
      case 'spawn':
        connection.send(tuple(operations.spawnReply, message.request, message.from, 0, new Atom('notsup')));
        break;
      case 'ignored':
        this.#log.trace({ node: connection.peer, operation: message.operation }, 'ignored message of remote node');
        break;
      default:
        message satisfies never;
    }
  }

  #toName(connection: Connection, name: string, message: Term): void {
    const service = this.#services.get(name);
    const [tag, first, second] = tupleElements(message);
    if (isAtom(tag, '$gen_call') && second !== undefined) this.#toCall(connection, name, service, first, second);
    else if (!service) this.#log.debug({ node: connection.peer, process: name }, 'dropped message to unregistered name');
    else if (isAtom(tag, '$gen_cast') && first !== undefined) this.#guard(name, () => service.cast?.(first, connection.peer));
    else this.#guard(name, () => service.info?.(message, connection.peer));
  }

  #toCall(connection: Connection, name: string, service: Service | undefined, from: Term | undefined, request: Term): void {
    const [pid, tag] = tupleElements(from);
    if (!(pid instanceof Pid) || pid.node !== connection.peer || tag === undefined) return;
    const fail = (reason: string) => {
      const reference = referenceOf(tag);
      if (reference) this.#sendDown(connection, name, pid, reference, new Atom(reason));
    };
    if (!service?.call) fail('noproc');
    else if (this.#callsAtOnce >= maxCallsAtOnce) fail('overloaded');
    else {
      const failed = (error: unknown) => {
        this.#log.error({ err: error, node: connection.peer, process: name }, 'call of remote node failed');
        fail('error');
      };
      try {
        const answer = service.call(request, connection.peer);
        if (answer instanceof Promise) void this.#replyLater(answer, (term) => this.#reply(connection, pid, tag, term)).catch(failed);
        else this.#reply(connection, pid, tag, answer);
      } catch (error) {
        failed(error);
      }
    }
  }

  async #replyLater(answer: Promise<Term>, reply: (term: Term) => void): Promise<void> {
    this.#callsAtOnce += 1;
    try {
      reply(await answer);
    } finally {
      this.#callsAtOnce -= 1;
    }
  }

  #reply(connection: Connection, to: Pid, tag: Term, answer: Term): void {
    const alias = aliasOf(tag);
    const message = tuple(tag, answer);
    // With an alias, a caller that timed out meanwhile does not receive the response.
    if (alias && connection.has(flags.alias)) connection.send(tuple(operations.aliasSend, this.#self, alias), message);
    else connection.send(tuple(operations.send, emptyAtom, to), message);
  }

  /** Messages to the process that makes calls: responses, `{Reference, Answer}`. */
  #toSelf(connection: Connection, message: Term): void {
    const [tag, answer] = tupleElements(message);
    const reference = tag === undefined ? undefined : referenceOf(tag);
    if (reference && answer !== undefined) this.calls.answer(connection, reference, answer);
  }

  #sendDown(connection: Connection, of: Pid | string, to: Pid, reference: Reference, reason: Term): void {
    const from = typeof of === 'string' ? new Atom(of) : of;
    if (connection.has(flags.exitPayload)) connection.send(tuple(operations.payloadMonitorExit, from, to, reference), reason);
    else connection.send(tuple(operations.monitorExit, from, to, reference, reason));
  }

  #isAlive(process: Pid | string): boolean {
    if (typeof process === 'string') return this.#services.has(process);
    const { node, creation, id, serial } = process;
    return node === this.#node && creation === this.#creation && serial === 0 && id >= 1 && id <= this.#pids;
  }

  #guard(name: string, run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#log.error({ err: error, process: name }, 'could not handle message of remote node');
    }
  }
}

/** `[alias | Reference]`, alone or at the head of a list (gen.erl). */
function aliasOf(tag: Term): Reference | undefined {
  const pair = Array.isArray(tag) || (tag instanceof ImproperList && tag.items[0] instanceof ImproperList) ? firstOf(tag) : tag;
  return pair instanceof ImproperList && isAtom(pair.items[0], 'alias') && pair.tail instanceof Reference ? pair.tail : undefined;
}

function referenceOf(tag: Term): Reference | undefined {
  return tag instanceof Reference ? tag : aliasOf(tag);
}

function firstOf(list: Term): Term | undefined {
  if (list instanceof ImproperList) return list.items[0];
  return Array.isArray(list) ? (list as readonly Term[])[0] : undefined;
}
