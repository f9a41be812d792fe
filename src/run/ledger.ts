/** Calls to a LedgerObject. */
import type { Bindings, LedgerRpc } from "../env.ts";

type Ledger = DurableObjectStub<LedgerRpc>;

/**
 * Asks the ledger with this name. A call that the platform broke off, e.g. by a deploy, is made once more: every call is
 * safe to repeat, at worst a request counts twice.
 */
export async function askLedger<T>(
  { LEDGER }: Bindings,
  name: string,
  ask: (ledger: Ledger) => Promise<T>,
): Promise<T> {
  const id = LEDGER.idFromName(name);
  try {
    return await ask(LEDGER.get(id));
  } catch (error) {
    if (!isRetryable(error)) throw error;
    return ask(LEDGER.get(id));
  }
}

function isRetryable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return Reflect.get(error, "retryable") === true && Reflect.get(error, "overloaded") !== true;
}
