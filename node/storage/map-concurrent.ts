// Concurrent map: applies an async function to many items with limited concurrency.

/** @returns results in order. @throws the first error */
export async function mapConcurrent<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  run: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += atOnce) results.push(...(await Promise.all(items.slice(at, at + atOnce).map(run))));
  return results;
}
