// Dispatcher: runs operations and RPCs at a given node. Features register a handler for each by name.
import type { z } from 'zod';
import type { InputOf, ResultOf, Rpc } from '../../../api/core/operation.ts';
import { ServiceError } from '../../../api/errors.ts';
import type { Log } from '../../common/log.ts';
import type { Handler, Handlers, OperationRegistry, RequestContext } from '../../rooms/services/operations.ts';
import type { ClusterTransport, NodeName } from '../cluster-transport.ts';
import { fromLegacy, rpcVersion, toLegacy } from './legacy-rpcs.ts';

export type DispatcherOptions = {
  links: ClusterTransport;
  log: Log;
  /** The connected nodes that sent their snapshot, with the version of their RPCs. */
  members: { get(node: NodeName): { rpc: number } | undefined };
};

/** The response of one of several nodes. */
export type Settled<Result> = { node: NodeName; result: Result } | { node: NodeName; error: unknown };
type Registered = { rpc: Rpc; handle: Handler<Rpc> };

export class Dispatcher implements OperationRegistry {
  readonly #options: DispatcherOptions;
  readonly #handlers = new Map<string, Registered>();
  readonly #messages = new Map<string, (from: NodeName, data: unknown) => void>();

  constructor(options: DispatcherOptions) {
    this.#options = options;
    options.links.handle({
      call: (from, method, data) => this.#answer(from, method, data),
      cast: (from, method, data) => this.#receive(from, method, data),
    });
  }

  get self(): NodeName {
    return this.#options.links.self;
  }

  serve<Table extends Record<string, Rpc>>(table: Table, handlers: Partial<Handlers<Table>>): void {
    for (const [id, handle] of Object.entries(handlers)) {
      const rpc = table[id] as Rpc;
      if (this.#handlers.has(methodOf(rpc))) throw new Error(`two handlers of ${id}`);
      this.#handlers.set(methodOf(rpc), { rpc, handle: handle as Handler<Rpc> });
    }
  }

  serves(rpc: Rpc): boolean {
    return this.#handlers.has(methodOf(rpc));
  }

  /** Registers the receiver of a one-way message. */
  receive<Data>(method: string, schema: z.ZodType<Data>, handle: (from: NodeName, data: Data) => void): void {
    if (this.#messages.has(method)) throw new Error(`two receivers of ${method}`);
    this.#messages.set(method, (from, data) => handle(from, schema.parse(data)));
  }

  /** @throws ServiceError `not_found` if the node is neither this one nor a connected one */
  requireMember(node: NodeName): void {
    const { links, members } = this.#options;
    if (node !== links.self && !members.get(node)) throw new ServiceError('not_found', `Node ${node} is not connected`);
  }

  /** @throws ServiceError of the handler; `node_unreachable` if the node does not respond */
  async at<R extends Rpc>(node: NodeName, rpc: R, input: InputOf<R>, request?: RequestContext): Promise<ResultOf<R>> {
    const { links, members } = this.#options;
    if (node === links.self) return (await this.#find(methodOf(rpc)).handle(input, { from: node, request })) as ResultOf<R>;
    const legacy = (members.get(node)?.rpc ?? 1) < rpcVersion ? toLegacy(methodOf(rpc), input) : undefined;
    const answer = legacy
      ? legacy.result(await links.call(node, legacy.method, legacy.data, rpc.timeoutMs))
      : await links.call(node, methodOf(rpc), input, rpc.timeoutMs);
    const result = rpc.result.safeParse(answer);
    if (!result.success) throw new ServiceError('node_unreachable', `Invalid response from node ${node}`, { cause: result.error });
    return result.data as ResultOf<R>;
  }

  /** Requests it from all other nodes. */
  others<R extends Rpc>(rpc: R, input: InputOf<R>): Promise<Settled<ResultOf<R>>[]> {
    return Promise.all(this.#options.links.nodes().map((node) => this.#settle(node, rpc, input)));
  }

  /** Requests it from this node and all others. */
  everywhere<R extends Rpc>(rpc: R, input: InputOf<R>): Promise<Settled<ResultOf<R>>[]> {
    return Promise.all([this.self, ...this.#options.links.nodes()].map((node) => this.#settle(node, rpc, input)));
  }

  /** The first other node that returns true. `failure`: if none did, why one did not respond. */
  async search<In>(rpc: Rpc<In, boolean>, input: In): Promise<{ node?: NodeName; failure?: unknown }> {
    const asked = this.#options.links.nodes().map(async (node) => {
      if ((await this.at(node, rpc, input as InputOf<typeof rpc>)) !== true) throw new NotHere();
      return node;
    });
    try {
      return { node: await Promise.any(asked) };
    } catch (error) {
      return { failure: (error as AggregateError).errors.find((each) => !(each instanceof NotHere)) };
    }
  }

  async #settle<R extends Rpc>(node: NodeName, rpc: R, input: InputOf<R>): Promise<Settled<ResultOf<R>>> {
    try {
      return { node, result: await this.at(node, rpc, input) };
    } catch (error) {
      return { node, error };
    }
  }

  /** Input of other nodes is validated again. */
  async #answer(from: NodeName, method: string, data: unknown): Promise<unknown> {
    const legacy = fromLegacy(method, data, this.self);
    const { rpc, handle } = this.#find(legacy?.method ?? method, true);
    const input = rpc.input.safeParse(legacy ? legacy.data : data);
    if (!input.success)
      throw new ServiceError('bad_request', `Invalid input of ${method.slice(0, 64)} from another node`, { cause: input.error });
    const result = await handle(input.data, { from });
    return (legacy ? legacy.result(result) : result) ?? null;
  }

  #receive(from: NodeName, method: string, data: unknown): void {
    try {
      this.#messages.get(method)?.(from, data);
    } catch (error) {
      this.#options.log.warn({ node: from, method: method.slice(0, 64), err: error }, 'invalid message from remote node');
    }
  }

  /** Operations that run where a client requests them are not available to other nodes. */
  #find(method: string, remote = false): Registered {
    const found = this.#handlers.get(method);
    if (found && !(remote && 'path' in found.rpc && found.rpc.runs === 'here')) return found;
    throw new ServiceError('bad_request', `Node ${this.self} does not support the method ${method.slice(0, 64)}`);
  }
}

class NotHere extends Error {}

/** Operations have a prefix, because RPCs of nodes have some of their ids. */
function methodOf(rpc: Rpc): string {
  return 'path' in rpc ? `op.${rpc.id}` : rpc.id;
}
