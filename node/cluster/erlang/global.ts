// Global name server: the part of `global` in Erlang that builds a full mesh by exchanging lists of nodes (global.erl, version 8).
import type { Log } from '../../common/log.ts';
import type { Service } from './process-registry.ts';
import { Atom, isAtom, type Pid, type Term, Tuple, tuple, tupleElements } from './terms/terms.ts';

export type GlobalOptions = {
  self: string;
  /** Represents the process that acquires locks in Erlang. */
  locker: Pid;
  /** Connected visible nodes. */
  connected: () => string[];
  connect: (node: string) => Promise<boolean>;
  /** Sends to `global_name_server` of a connected node. */
  send: (node: string, message: Term) => void;
  log: Log;
};

const version = 8;
/** Maximum number of nodes accepted from one message. */
const maxNames = 1024;
/** Delays in milliseconds before advertised nodes that were unreachable are dialed again. */
const retryDelays = [1000, 3000, 10_000];
/** Marks our nodes, which need no lock: they register no global names, so there are no conflicts. */
const ourMark = 'mediarooms';
const empty: readonly Term[] = [];

type Session = { tag: number; hisTag?: Term };

/**
 * The Erlang node leads: it acquires the lock of both nodes, exchanges names (we have none), and finally sends its nodes; each node dials
 * the ones it does not have. Between two of our nodes the lists are exchanged immediately.
 */
export class Global {
  readonly service: Service;
  readonly #options: GlobalOptions;
  readonly #self: Atom;
  readonly #sessions = new Map<string, Session>();
  readonly #retries = new Map<string, NodeJS.Timeout>();
  #tags = 0;
  #closed = false;

  constructor(options: GlobalOptions) {
    this.#options = options;
    this.#self = new Atom(options.self);
    // Locks are always granted: this node has no global names, and a dead holder could not be distinguished from a live one.
    this.service = { call: () => new Atom('true'), cast: (request, node) => this.#cast(request, node) };
  }

  nodeUp(node: string): void {
    this.#tags += 1;
    this.#sessions.set(node, { tag: this.#tags });
    const known = new Map<Term, Term>([[new Atom(ourMark), new Atom('true')]]);
    const locker = tuple(new Atom('locker'), new Atom('no_longer_a_pid'), known, this.#options.locker);
    this.#send(node, tuple(new Atom('init_connect'), tuple(version, this.#tags), this.#self, locker));
  }

  nodeDown(node: string): void {
    this.#sessions.delete(node);
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#retries.values()) clearTimeout(timer);
    this.#retries.clear();
  }

  #cast(request: Term, node: string): void {
    const [operation, ...rest] = tupleElements(request);
    const session = this.#sessions.get(node);
    if (!(operation instanceof Atom) || !session) return;
    switch (operation.name) {
      case 'init_connect':
        this.#initConnect(node, session, rest);
        break;
      case 'lock_set':
        this.#lockSet(node, session, rest);
        break;
      case 'exchange':
        if (session.hisTag !== undefined) this.#send(node, this.#resolved(node, session.hisTag));
        break;
      case 'resolved':
        this.#joined(node, namesIn(rest[2]));
        break;
      case 'new_nodes':
        // Only Erlang nodes send more elements. Nodes known to one of ours were not notified of this node yet.
        this.#meet(namesIn(rest[3]), Array.isArray(rest[4]) && rest[4].length > 0);
        break;
      default:
    }
  }

  /** `{init_connect, {Version, Tag}, Node, {locker, _, Known, Locker}}` */
  #initConnect(node: string, session: Session, [versions, , locker]: readonly Term[]): void {
    const hisTag = tupleElements(versions)[1];
    if (hisTag === undefined) return;
    session.hisTag = hisTag;
    if (isMarked(tupleElements(locker)[2])) {
      this.#send(node, tuple(new Atom('new_nodes'), this.#self, empty, empty, this.#knownBut(node), empty));
      return;
    }
    this.#options.send(node, tuple(new Atom('init_connect_ack'), this.#self, hisTag, session.tag));
  }

  /** `{lock_set, Pid, IsSet, Known, Tag}`: the remote node holds the lock of both nodes. */
  #lockSet(node: string, { hisTag }: Session, [, isSet]: readonly Term[]): void {
    if (hisTag === undefined || !isAtom(isSet, 'true')) return;
    this.#send(node, tuple(new Atom('lock_set'), this.#options.locker, new Atom('true'), this.#knownBut(node), hisTag));
    this.#send(node, tuple(new Atom('exchange'), this.#self, empty, empty, hisTag));
  }

  #resolved(node: string, hisTag: Term): Tuple {
    return tuple(new Atom('resolved'), this.#self, empty, this.#knownBut(node), new Atom('unused'), empty, hisTag);
  }

  /** An Erlang node connected. Nodes that are connected to only one of the two are notified. */
  #joined(node: string, names: readonly string[]): void {
    const nodes = [node, ...names].map(entry);
    const extra = [tuple(new Atom('vsn'), version)];
    for (const other of this.#options.connected()) {
      if (other !== node) this.#send(other, tuple(new Atom('new_nodes'), this.#self, empty, empty, nodes, extra));
    }
    this.#meet(names, true);
  }

  /** `announced`: other nodes notify them of this node, so they need no session with it. */
  #meet(names: readonly string[], announced: boolean): void {
    const connected = new Set(this.#options.connected());
    for (const name of names) {
      if (name === this.#options.self) continue;
      if (!connected.has(name)) void this.#dial(name, announced, 0);
      else if (announced) this.#sayInSync(name);
    }
  }

  async #dial(node: string, announced: boolean, attempt: number): Promise<void> {
    if (this.#closed || this.#retries.has(node)) return;
    if (await this.#options.connect(node)) {
      if (announced) this.#sayInSync(node);
      return;
    }
    const delay = retryDelays[attempt];
    if (this.#closed || this.#retries.has(node)) return;
    if (delay === undefined) {
      this.#options.log.info({ node }, 'advertised node unreachable');
      return;
    }
    const timer = setTimeout(() => {
      this.#retries.delete(node);
      void this.#dial(node, announced, attempt + 1);
    }, delay);
    this.#retries.set(node, timer);
  }

  /** Callers of global:sync on the Erlang node are released, because there is nothing to synchronize. */
  #sayInSync(node: string): void {
    this.#send(node, tuple(new Atom('in_sync'), this.#self, new Atom('true')));
  }

  #knownBut(node: string): Term[] {
    return this.#options
      .connected()
      .filter((other) => other !== node)
      .map(entry);
  }

  #send(node: string, request: Term): void {
    this.#options.send(node, tuple(new Atom('$gen_cast'), request));
  }
}

function entry(node: string): Tuple {
  return tuple(new Atom(node), version);
}

/** Node names, alone or as `{Node, Version}`. */
function namesIn(list: Term | undefined): string[] {
  if (!Array.isArray(list)) return [];
  return (list as readonly Term[]).slice(0, maxNames).flatMap((each) => {
    const name = each instanceof Tuple ? each.items[0] : each;
    return name instanceof Atom ? [name.name] : [];
  });
}

function isMarked(known: Term | undefined): boolean {
  return known instanceof Map && [...known.keys()].some((key) => isAtom(key, ourMark));
}
