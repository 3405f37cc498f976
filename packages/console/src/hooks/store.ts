// Store: observable state outside React, for useSyncExternalStore.
import { useSyncExternalStore } from 'react';

export class Store<State extends object> {
  #state: State;
  readonly #listeners = new Set<() => void>();

  constructor(state: State) {
    this.#state = state;
  }

  get state(): State {
    return this.#state;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  protected update(part: Partial<State>): void {
    this.#state = { ...this.#state, ...part };
    for (const listener of [...this.#listeners]) listener();
  }
}

export function useStore<State extends object>(store: Store<State>): State {
  return useSyncExternalStore(store.subscribe, () => store.state);
}
