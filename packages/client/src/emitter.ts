// Typed event emitter: exceptions of listeners never reach the emitting code.

export type Unsubscribe = () => void;

export class Emitter<Events> {
  readonly #listeners = new Map<keyof Events, Set<(data: never) => void>>();

  /** Adds a listener. @returns a function that removes it */
  on<Name extends keyof Events>(name: Name, listener: (data: Events[Name]) => void): Unsubscribe {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    listeners.add(listener);
    return () => this.off(name, listener);
  }

  /** Adds a listener for the next event only. @returns a function that removes it */
  once<Name extends keyof Events>(name: Name, listener: (data: Events[Name]) => void): Unsubscribe {
    const stop = this.on(name, (data) => {
      stop();
      listener(data);
    });
    return stop;
  }

  /** Removes a listener. */
  off<Name extends keyof Events>(name: Name, listener: (data: Events[Name]) => void): void {
    this.#listeners.get(name)?.delete(listener);
  }

  protected hasListener(name: keyof Events): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0;
  }

  protected emit<Name extends keyof Events>(name: Name, data: Events[Name]): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])] as ((data: Events[Name]) => void)[]) {
      try {
        listener(data);
      } catch (error) {
        report(error);
      }
    }
  }

  protected removeListeners(): void {
    this.#listeners.clear();
  }
}

/** Reports like browsers do for throwing listeners: the `error` event of the page, elsewhere an uncaught exception. */
function report(error: unknown): void {
  if (typeof reportError === 'function') reportError(error);
  else
    queueMicrotask(() => {
      throw error;
    });
}
