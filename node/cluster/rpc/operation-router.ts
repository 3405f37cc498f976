// Operation router: runs an operation of a client at the node that is responsible for it.
import type { InputOf, Operation, ResultOf } from '../../../api/core/operation.ts';
import type { OperationRunner, RequestContext } from '../../rooms/services/operations.ts';
import type { NodeName } from '../cluster-transport.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { RoomLocator } from './room-locator.ts';

export class OperationRouter implements OperationRunner {
  readonly #dispatcher: Dispatcher;
  readonly #locator: Pick<RoomLocator, 'locate'>;

  constructor(dispatcher: Dispatcher, locator: Pick<RoomLocator, 'locate'>) {
    this.#dispatcher = dispatcher;
    this.#locator = locator;
  }

  async run<O extends Operation>(operation: O, input: InputOf<O>, request?: RequestContext): Promise<ResultOf<O>> {
    const node = await this.#responsible(operation, input as { params: Record<string, string> });
    return this.#dispatcher.at(node, operation, input, request);
  }

  async #responsible({ runs }: Operation, { params }: { params: Record<string, string> }): Promise<NodeName> {
    const { self } = this.#dispatcher;
    // Every node remembers ended rooms of all nodes, so this one responds for rooms without an owner.
    if (runs === 'room') return (await this.#locator.locate(params.roomId ?? '')) ?? self;
    if (runs === 'here') return self;
    const { nodeName = '' } = params;
    this.#dispatcher.requireMember(nodeName);
    return nodeName;
  }
}
