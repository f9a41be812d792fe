/**
 * Waits for work, but at most `ms`. Returns the result of the work or, if the time is over, that of `late`, which may
 * throw. The work continues.
 */
export function atMost<T, L>(work: Promise<T>, ms: number, late: () => L): Promise<T | L> {
  const { promise, resolve, reject } = Promise.withResolvers<T | L>();
  const timer = setTimeout(() => {
    try {
      resolve(late());
    } catch (error) {
      reject(error);
    }
  }, ms);
  // No race: it would make four more promises, and each request waits in this way several times.
  work.then(
    (value) => {
      clearTimeout(timer);
      resolve(value);
    },
    (error: unknown) => {
      clearTimeout(timer);
      reject(error);
    },
  );
  return promise;
}

/** Settles with the work, or rejects with the signal's reason as soon as it is aborted. The work continues. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  return promise;
}

/** Waits for the time in ms, or until the signal aborts. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = (): void => {
    clearTimeout(timer);
    signal.removeEventListener("abort", done);
    resolve();
  };
  const timer = setTimeout(done, ms);
  signal.addEventListener("abort", done);
  if (signal.aborted) done();
  return promise;
}

/** How many items `forEach` works on at once: the work for each may load an object. */
const AT_ONCE = 6;

/** Does work for each item, for a few of them at once. @param work must not throw */
export async function forEach<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const worker = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
