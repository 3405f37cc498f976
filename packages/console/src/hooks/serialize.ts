// What this tab does to one thing on the server goes one after the other: two requests that are under way at once have no order.

const turns = new Map<string, Promise<unknown>>();

/** Begins once all that came before it for this name is done, or has failed. */
export function runSerially<T>(name: string, work: () => Promise<T>): Promise<T> {
  const done = (turns.get(name) ?? Promise.resolve()).then(work);
  const over: Promise<unknown> = done
    .catch(() => undefined)
    .then(() => {
      if (turns.get(name) === over) turns.delete(name);
    });
  turns.set(name, over);
  return done;
}
