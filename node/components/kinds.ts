// The kinds of components of this node: which may be used, and who runs them.
import { ServiceError } from '../errors.ts';
import type { ComponentKinds, PreparedComponent } from '../rooms/ports.ts';
import type { ComponentOptions } from '../rooms/room-config.ts';
import type { ComponentType } from '../rooms/views.ts';
import { prepareFile } from './file/prepare.ts';

export type KindsOptions = {
  /** Kinds that may be added now. */
  used: () => readonly ComponentType[];
  /** Absolute path of the resources directory. */
  resources: string;
};

export class Kinds implements ComponentKinds {
  readonly #options: KindsOptions;

  constructor(options: KindsOptions) {
    this.#options = options;
  }

  async prepare({ type, options }: ComponentOptions, room: Parameters<ComponentKinds['prepare']>[1]): Promise<PreparedComponent> {
    if (!this.#options.used().includes(type)) {
      throw new ServiceError('bad_request', `Components of type ${type} are disabled on this node`);
    }
    if (type !== 'file') throw new ServiceError('bad_request', `This version has no components of type ${type} yet`);
    return prepareFile(options ?? {}, { resources: this.#options.resources, ...room });
  }
}
