/** Calls to a LedgerObject. */
import type { Bindings, LedgerRpc } from "../env.ts";
import { askObject } from "./object.ts";

type Ledger = DurableObjectStub<LedgerRpc>;

/** Asks the ledger with this name. Every call is safe to repeat: at worst a request counts twice. */
export function askLedger<T>(
  { LEDGER }: Bindings,
  name: string,
  ask: (ledger: Ledger) => Promise<T>,
): Promise<T> {
  return askObject(LEDGER, name, ask);
}
