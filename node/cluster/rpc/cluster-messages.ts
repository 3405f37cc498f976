// Cluster messages: requests and one-way messages between features of nodes, in which this node is one of them.
import type { z } from 'zod';
import type { InputOf, ResultOf, Rpc } from '../../../api/core/operation.ts';
import type { NodeMessages } from '../../rooms/services/node-messages.ts';
import type { ClusterTransport, NodeName, TransportListener } from '../cluster-transport.ts';
import type { Dispatcher, Settled } from './dispatcher.ts';
import type { RoomLocator } from './room-locator.ts';

export type ClusterMessagesOptions = {
  links: Pick<ClusterTransport, 'self' | 'nodes' | 'cast' | 'listen'>;
  dispatcher: Pick<Dispatcher, 'at' | 'everywhere' | 'receive'>;
  locator: Pick<RoomLocator, 'locate'>;
};

export class ClusterMessages implements NodeMessages {
  readonly #options: ClusterMessagesOptions;
  readonly #receivers = new Map<string, (data: never) => void>();

  constructor(options: ClusterMessagesOptions) {
    this.#options = options;
  }

  get self(): NodeName {
    return this.#options.links.self;
  }

  at<R extends Rpc>(node: NodeName, rpc: R, input: InputOf<R>): Promise<ResultOf<R>> {
    return this.#options.dispatcher.at(node, rpc, input);
  }

  everywhere<R extends Rpc>(rpc: R, input: InputOf<R>): Promise<Settled<ResultOf<R>>[]> {
    return this.#options.dispatcher.everywhere(rpc, input);
  }

  receive<Data>(method: string, schema: z.ZodType<Data>, handle: (from: NodeName, data: Data) => void): void {
    this.#options.dispatcher.receive(method, schema, handle);
    this.#receivers.set(method, (data: Data) => handle(this.self, data));
  }

  cast(node: NodeName, method: string, data: unknown): void {
    if (node === this.self) this.#receivers.get(method)?.(data as never);
    else this.#options.links.cast(node, method, data);
  }

  broadcast(method: string, data: unknown): void {
    for (const node of [this.self, ...this.#options.links.nodes()]) this.cast(node, method, data);
  }

  listen(listener: TransportListener): void {
    this.#options.links.listen(listener);
  }

  locate(roomId: string): Promise<NodeName | undefined> {
    return this.#options.locator.locate(roomId);
  }
}
