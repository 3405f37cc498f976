// Serializer: runs requests of this tab to one resource in sequence, because concurrent requests have no order.

const turns = new Map<string, Promise<unknown>>();

/** Starts after all earlier work of this name has finished or failed. */
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
