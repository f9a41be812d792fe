/** A Worker Loader that refuses what that of Cloudflare refuses. That of workerd runs any number of isolates at once. */

/** The most isolates that may work for one request at once. */
const MOST = 4;

/** The loader of one request, or of one object. `atOnce`: the most isolates that worked at once. */
export function strictLoader(loader: WorkerLoader): WorkerLoader & { atOnce: number } {
  const busy = new Map<string, number>();
  let loaded = 0;
  const call = async (id: string, work: () => Promise<unknown>): Promise<unknown> => {
    if (busy.size >= MOST && !busy.has(id)) throw new TypeError("Too many concurrent dynamic workers");
    busy.set(id, (busy.get(id) ?? 0) + 1);
    strict.atOnce = Math.max(strict.atOnce, busy.size);
    try {
      return await work();
    } finally {
      const left = (busy.get(id) ?? 1) - 1;
      if (left === 0) busy.delete(id);
      else busy.set(id, left);
    }
  };
  const watchedCalls = (entrypoint: object, id: string): object =>
    new Proxy(entrypoint, {
      get(target, name) {
        // A promise that resolves with the entrypoint asks whether that is a promise, too.
        if (name === "then") return undefined;
        const method = Reflect.get(target, name);
        return (...values: unknown[]) => call(id, () => method(...values));
      },
    });
  const watched = (stub: WorkerStub, id: string): WorkerStub =>
    new Proxy(stub, {
      get: (target, name) =>
        name === "getEntrypoint"
          ? (...given: Parameters<WorkerStub["getEntrypoint"]>) =>
              watchedCalls(target.getEntrypoint(...given), id)
          : Reflect.get(target, name),
    });
  const strict = {
    atOnce: 0,
    get: (...[id, code]: Parameters<WorkerLoader["get"]>) =>
      watched(loader.get(id, code), id ?? `alone ${loaded++}`),
    load: (code: WorkerLoaderWorkerCode) => watched(loader.load(code), `alone ${loaded++}`),
  };
  return strict;
}
