// Fake cluster transport without a network: asynchronous, in order per pair, cut and healed by the test.

import { ServiceError } from '../../../api/errors.ts';
import type {
  ClusterTransport,
  NodeMessageHandler,
  NodeName,
  NodeRequestHandler,
  TransportListener,
} from '../../../node/cluster/cluster-transport.ts';
import { turns } from '../turns.ts';

/** All links of one test. */
export class FakeNetwork {
  readonly #nodes = new Map<NodeName, FakeLinks>();
  readonly #connected = new Set<string>();

  join(name: NodeName): FakeLinks {
    const links = new FakeLinks(name, this);
    this.#nodes.set(name, links);
    return links;
  }

  connect(a: NodeName, b: NodeName): void {
    if (this.areConnected(a, b)) return;
    this.#connected.add(pair(a, b));
    for (const [self, other] of [
      [a, b],
      [b, a],
    ] as const)
      this.#nodes.get(self)?.reportUp(other);
  }

  connectAll(): void {
    for (const a of this.#nodes.keys()) for (const b of this.#nodes.keys()) if (a < b) this.connect(a, b);
  }

  cut(a: NodeName, b: NodeName): void {
    if (!this.#connected.delete(pair(a, b))) return;
    for (const [self, other] of [
      [a, b],
      [b, a],
    ] as const)
      this.#nodes.get(self)?.reportDown(other);
  }

  /** The node is lost, as after kill -9. */
  kill(name: NodeName): void {
    for (const other of this.#nodes.keys()) this.cut(name, other);
    this.#nodes.delete(name);
  }

  areConnected(a: NodeName, b: NodeName): boolean {
    return this.#connected.has(pair(a, b));
  }

  neighbours(name: NodeName): NodeName[] {
    return [...this.#nodes.keys()].filter((other) => other !== name && this.areConnected(name, other)).sort();
  }

  node(name: NodeName): FakeLinks | undefined {
    return this.#nodes.get(name);
  }
}

export class FakeLinks implements ClusterTransport {
  readonly self: NodeName;
  /** Requests to this node get no response, as after SIGSTOP. */
  frozen = false;
  readonly #network: FakeNetwork;
  readonly #waiting = new Map<() => void, NodeName>();
  readonly #listeners: TransportListener[] = [];
  #handlers: { call: NodeRequestHandler; cast: NodeMessageHandler } | undefined;
  /** One queue per sender preserves the order. */
  readonly #inbox = new Map<NodeName, Promise<void>>();

  constructor(self: NodeName, network: FakeNetwork) {
    this.self = self;
    this.#network = network;
  }

  nodes(): readonly NodeName[] {
    return this.#network.neighbours(this.self);
  }

  suspect(): void {}

  async call(node: NodeName, method: string, data: unknown, deadline: number): Promise<unknown> {
    const unreachable = () => new ServiceError('node_unreachable', `Node ${node} cannot be reached`, { retryAfter: 1 });
    const target = this.#network.areConnected(this.self, node) ? this.#network.node(node) : undefined;
    if (!target) throw unreachable();
    const answer = target.#deliver(this.self, () => target.#handlers?.call(this.self, method, clone(data)));
    const { promise: late, reject } = Promise.withResolvers<never>();
    const fail = () => reject(unreachable());
    const timer = setTimeout(fail, deadline);
    this.#waiting.set(fail, node);
    const result = await Promise.race([answer, late]).finally(() => {
      clearTimeout(timer);
      this.#waiting.delete(fail);
    });
    if (!this.#network.areConnected(this.self, node)) throw unreachable();
    return clone(result);
  }

  cast(node: NodeName, method: string, data: unknown): void {
    const target = this.#network.areConnected(this.self, node) ? this.#network.node(node) : undefined;
    const copy = clone(data);
    if (target) void target.#deliver(this.self, async () => target.#handlers?.cast(this.self, method, copy));
  }

  handle(handlers: { call: NodeRequestHandler; cast: NodeMessageHandler }): void {
    this.#handlers = handlers;
  }

  listen(listener: TransportListener): void {
    this.#listeners.push(listener);
  }

  reportUp(node: NodeName): void {
    for (const listener of this.#listeners) listener.up(node);
  }

  reportDown(node: NodeName): void {
    for (const [fail, asked] of this.#waiting) if (asked === node) fail();
    for (const listener of this.#listeners) listener.down(node);
  }

  /** Starts the work in order of arrival; requests run concurrently. */
  async #deliver(from: NodeName, work: () => Promise<unknown> | undefined): Promise<unknown> {
    const turn = this.#inbox.get(from) ?? Promise.resolve();
    const started = turn.then(() => turns());
    this.#inbox.set(from, started);
    await started;
    if (this.frozen) return new Promise(() => {});
    return work();
  }
}

function pair(a: NodeName, b: NodeName): string {
  return [a, b].sort().join(' ');
}

function clone(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
