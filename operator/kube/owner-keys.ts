// From an owned object to the key of its owner: a map from the owner's uid, kept by whoever watches the owners.
import { controllerOwner, type KubeObject, keyOf, type Stored } from './objects.ts';

export class OwnerKeys {
  readonly #keys = new Map<string, string>();

  /** Call it for each change of an owner. */
  add(owner: Stored): void {
    this.#keys.set(owner.metadata.uid, keyOf(owner));
  }

  delete(owner: Stored): void {
    this.#keys.delete(owner.metadata.uid);
  }

  /** The key of the owner that controls the object; `undefined` where nobody known does. */
  keyOfOwner(object: KubeObject): string | undefined {
    const controller = controllerOwner(object);
    return controller && this.#keys.get(controller.uid);
  }

  get size(): number {
    return this.#keys.size;
  }
}
