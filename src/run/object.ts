/** Calls to Durable Objects that are safe to repeat. */

/**
 * Asks the object with this name. If the platform broke the call off, e.g. during a deploy, the call is repeated once.
 */
export async function askObject<R extends Rpc.DurableObjectBranded, T>(
  namespace: DurableObjectNamespace<R>,
  name: string,
  ask: (object: DurableObjectStub<R>) => Promise<T>,
): Promise<T> {
  const id = namespace.idFromName(name);
  try {
    return await ask(namespace.get(id));
  } catch (error) {
    if (!isRetryable(error)) throw error;
    return ask(namespace.get(id));
  }
}

function isRetryable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return Reflect.get(error, "retryable") === true && Reflect.get(error, "overloaded") !== true;
}
