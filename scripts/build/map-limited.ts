/** Makes many small file operations without opening thousands of files together. */

const CONCURRENCY = 16;

/** Maps in order, at most 16 items at a time; throws the first failure. */
export async function mapLimited<T, R>(
  list: readonly T[],
  map: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const queue = list.entries();
  const work = async () => {
    for (const [i, item] of queue) results[i] = await map(item, i);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return results;
}
