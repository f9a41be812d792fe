/** Calls to a LedgerObject. */
import type { Bindings } from "../env.ts";
import type { LedgerRpc } from "../session/ledger/rpc.ts";
import type { RunContext } from "./context.ts";

export type Ledger = DurableObjectStub<LedgerRpc>;

/**
 * Asks the ledger with this name. A call that the platform broke off, e.g. by a deploy, is made once more: every call is
 * safe to repeat, at worst a request or a provider's turn counts twice.
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

/** Asks the ledger that counts what the tenant spends. */
export function askTenant<T>(
  { env, tenant }: Pick<RunContext, "env" | "tenant">,
  ask: (ledger: Ledger) => Promise<T>,
): Promise<T> {
  return askLedger(env, `tenant:${tenant}`, ask);
}

function isRetryable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return Reflect.get(error, "retryable") === true && Reflect.get(error, "overloaded") !== true;
}
