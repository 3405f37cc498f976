// Maps owned objects to the keys of their owners, by the uids of watched owners.
import { controllerOwner, type KubeObject, keyOf, type Stored } from './objects.ts';

export class OwnerKeys {
  readonly #keys = new Map<string, string>();

  /** Must be called for each change of an owner. */
  add(owner: Stored): void {
    this.#keys.set(owner.metadata.uid, keyOf(owner));
  }

  delete(owner: Stored): void {
    this.#keys.delete(owner.metadata.uid);
  }

  /** Key of the controlling owner; `undefined` if it is not known. */
  keyOfOwner(object: KubeObject): string | undefined {
    const controller = controllerOwner(object);
    return controller && this.#keys.get(controller.uid);
  }

  get size(): number {
    return this.#keys.size;
  }
}
