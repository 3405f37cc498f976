// Concurrent work on a list.

/** Limits concurrency; after a failure no more items are started. @throws the first failure, after all running items have ended */
export async function eachOf<T>(items: readonly T[], width: number, work: (item: T) => Promise<unknown>): Promise<void> {
  const waiting = [...items];
  const failures: unknown[] = [];
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined && failures.length === 0; next = waiting.shift()) {
      await work(next).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
}
