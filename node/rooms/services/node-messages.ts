// Messages between nodes, as features use them that are independent of the cluster.
import type { z } from 'zod';
import type { InputOf, ResultOf, Rpc } from '../../../api/core/operation.ts';

export interface NodeMessages {
  /** Name of this node. */
  readonly self: string;
  /** @throws ServiceError of the handler; `node_unreachable` if the node does not respond */
  at<R extends Rpc>(node: string, rpc: R, input: InputOf<R>): Promise<ResultOf<R>>;
  /** Requests it from this node and all others. */
  everywhere<R extends Rpc>(
    rpc: R,
    input: InputOf<R>,
  ): Promise<({ node: string; result: ResultOf<R> } | { node: string; error: unknown })[]>;
  /** Registers the receiver of a one-way message. */
  receive<Data>(method: string, schema: z.ZodType<Data>, handle: (from: string, data: Data) => void): void;
  /** Sends a one-way message to a node, this one included. It is lost if the node is not connected. */
  cast(node: string, method: string, data: unknown): void;
  /** Sends a one-way message to this node and all others. */
  broadcast(method: string, data: unknown): void;
  /** Nodes that connect and disconnect. Messages of a node arrive in order, all before its disconnect. */
  listen(listener: { up: (node: string) => void; down: (node: string) => void }): void;
  /** The owning node of a room; undefined if no node has it. */
  locate(roomId: string): Promise<string | undefined>;
}
