// The part of Erlang's `global` that makes a full mesh: nodes that meet tell each other whom they know (global.erl, version 8).
import type { Log } from '../../common/log.ts';
import type { Service } from './process-registry.ts';
import { Atom, isAtom, type Pid, type Term, Tuple, tuple, tupleElements } from './terms/terms.ts';

export type GlobalOptions = {
  self: string;
  /** Stands for the process that takes locks in Erlang. */
  locker: Pid;
  /** Visible nodes that are connected now. */
  connected: () => string[];
  connect: (node: string) => Promise<boolean>;
  /** To `global_name_server` of a connected node. */
  send: (node: string, message: Term) => void;
  log: Log;
};

const version = 8;
/** Nodes of one message that are believed. */
const maxNames = 1024;
/** Milliseconds after which a node that others know and that could not be reached is dialled again. */
const retryDelays = [1000, 3000, 10_000];
/** Tells our own nodes that they need no lock: they register no global names, so there is nothing to resolve. */
const ourMark = 'mediarooms';
const empty: readonly Term[] = [];

type Session = { tag: number; hisTag?: Term };

/**
 * Erlang's side leads: it takes the lock of both, exchanges names, of which there are none here, and tells at the end whom
 * it knows; each then dials whom it did not know. Between two of our own nodes the lists are exchanged at once.
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
    // Locks are granted always: no global name lives here, and a holder that died could not be told from one that works.
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
        // Only Erlang nodes say more: of ours nobody has told those whom they know about this node yet.
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

  /** `{lock_set, Pid, IsSet, Known, Tag}`: it holds the lock of both. */
  #lockSet(node: string, { hisTag }: Session, [, isSet]: readonly Term[]): void {
    if (hisTag === undefined || !isAtom(isSet, 'true')) return;
    this.#send(node, tuple(new Atom('lock_set'), this.#options.locker, new Atom('true'), this.#knownBut(node), hisTag));
    this.#send(node, tuple(new Atom('exchange'), this.#self, empty, empty, hisTag));
  }

  #resolved(node: string, hisTag: Term): Tuple {
    return tuple(new Atom('resolved'), this.#self, empty, this.#knownBut(node), new Atom('unused'), empty, hisTag);
  }

  /** An Erlang node has met this one: those who knew only one of the two are told. */
  #joined(node: string, names: readonly string[]): void {
    const nodes = [node, ...names].map(entry);
    const extra = [tuple(new Atom('vsn'), version)];
    for (const other of this.#options.connected()) {
      if (other !== node) this.#send(other, tuple(new Atom('new_nodes'), this.#self, empty, empty, nodes, extra));
    }
    this.#meet(names, true);
  }

  /** `announced`: they are told of this node by others, and need no session with it. */
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
      this.#options.log.info({ node }, 'a node that others are connected to cannot be reached');
      return;
    }
    const timer = setTimeout(() => {
      this.#retries.delete(node);
      void this.#dial(node, announced, attempt + 1);
    }, delay);
    this.#retries.set(node, timer);
  }

  /** Whoever waits in global:sync there learns that there is nothing to wait for. */
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

/** Names of nodes, alone or as `{Node, Version}`. */
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
