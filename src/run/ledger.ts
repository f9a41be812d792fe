/** Calls to a LedgerObject. */
import type { Bindings } from "../env.ts";
import type { LedgerRpc } from "../session/ledger/rpc.ts";
import type { RunContext } from "./context.ts";
import { askObject } from "./object.ts";

export type Ledger = DurableObjectStub<LedgerRpc>;

/**
 * Asks the ledger with this name. Every call is safe to repeat: at worst a request or a provider's turn counts twice.
 */
export function askLedger<T>(
  { LEDGER }: Bindings,
  name: string,
  ask: (ledger: Ledger) => Promise<T>,
): Promise<T> {
  return askObject(LEDGER, name, ask);
}

/** Asks the ledger that counts what the tenant spends. */
export function askTenant<T>(
  { env, tenant }: Pick<RunContext, "env" | "tenant">,
  ask: (ledger: Ledger) => Promise<T>,
): Promise<T> {
  return askLedger(env, `tenant:${tenant}`, ask);
}
