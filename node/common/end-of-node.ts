// End of a node: each feature puts its closers into a step; the steps run one after another, the closers of a step side by side.

/** First to last. The order is not the reverse of the start: a node joins the cluster last, but leaves it after its last response. */
const steps = [
  /** New rooms are rejected, /health reports terminating, and peers get the deadline; then waits for the last room, until the deadline. */
  'drain',
  /** Peers get `Room stopped`, or 1001 in a cluster, where the rooms may be recreated. */
  'rooms',
  /** Calls are hung up; other components finish their output. */
  'components',
  /** Uploads continue within the time left; the rest follows at the next start. */
  'uploads',
  /** If other nodes are active: until Ingress and load balancers stop routing to this node, it proxies new requests to other nodes. */
  'loadBalancers',
  /** Websockets of peers, those that are proxied to other nodes included. */
  'peers',
  /** Event subscribers, here and on other nodes, have received all events by now. */
  'events',
  /** Requests in flight, and websockets of backends. */
  'http',
  /** Retries pending webhooks; the rest is handed over to another node, or stays in the spool. */
  'webhooks',
  /** Leaves the cluster. */
  'cluster',
  /** Media workers and TURN. */
  'media',
  /** The metrics server, and watched files. */
  'files',
] as const;
export type EndStep = (typeof steps)[number];

/** Time that is left for the end of a node. */
export class Ending {
  readonly #began = performance.now();
  /** Milliseconds in which rooms may end. */
  readonly drainTimeout: number;
  readonly #hurried: boolean;

  /** `hurried`: nothing is waited for, because the start of the node failed. */
  constructor(drainTimeout: number, hurried = false) {
    this.drainTimeout = drainTimeout;
    this.#hurried = hurried;
  }

  /** Milliseconds that are left of a time that began with the end. */
  left(time: number): number {
    return this.#hurried ? 0 : Math.max(0, this.#began + time - performance.now());
  }

  /** A timeout of a step, in milliseconds. */
  timeout(milliseconds: number): number {
    return this.#hurried ? 0 : milliseconds;
  }
}

export type Closer = (ending: Ending) => unknown;

export class Closers {
  readonly #closers = new Map<EndStep, Closer[]>(steps.map((step) => [step, []]));

  add(step: EndStep, close: Closer): void {
    this.#closers.get(step)?.push(close);
  }

  /** Runs each closer once. */
  async run(ending: Ending): Promise<void> {
    for (const closers of this.#closers.values()) await Promise.all(closers.splice(0).map(async (close) => close(ending)));
  }
}
