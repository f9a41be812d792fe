/**
 * An isolate's memory of a tenant's budgets and rates. It saves a call of the ledger before each model call of a tenant
 * that has none. Every answer of the ledger renews it.
 */
import { logFault } from "../log.ts";
import { usable } from "../recent.ts";
import type { Policy } from "../session/ledger/rpc.ts";
import type { RunContext } from "./context.ts";
import { askTenant, type Ledger } from "./ledger.ts";

const AGES = { refresh: 5000, expire: 60_000 };

/** The tenant's policy, from memory if fresh enough. */
export async function policyOf(context: RunContext): Promise<Policy> {
  const read = (): Promise<Policy> => readPolicy(context);
  const known = usable(context.deployment.policies.get(context.tenant), AGES, read, context.background);
  return known === undefined ? read() : known.policy;
}

async function readPolicy(context: RunContext): Promise<Policy> {
  return (await askWithPolicy(context, async (ledger) => await ledger.policy())).policy;
}

/** Asks the tenant's ledger, and remembers the policy that its answer carries. */
export async function askWithPolicy<T extends { policy: Policy }>(
  context: RunContext,
  ask: (ledger: Ledger) => Promise<T>,
): Promise<T> {
  const readAt = Date.now();
  const answer = await askTenant(context, ask);
  remember(context, answer.policy, readAt);
  return answer;
}

/** The pauses before Hull tells the ledger again, in ms. A Worker may continue for 30 s after its answer. */
const AGAIN_MS = [1000, 4000, 10_000];

/**
 * Tells the tenant's ledger what was spent, again in the background if it does not confirm it. The ledger must count once
 * what it receives twice.
 * @param lost the log's line if it never confirms
 * @returns its first answer; `null`: there was none
 */
export async function tellLedger<T extends { policy: Policy }>(
  context: RunContext,
  lost: object,
  tell: (ledger: Ledger) => Promise<T>,
): Promise<T | null> {
  const tellOnce = (): Promise<T> => askWithPolicy(context, async (ledger) => await tell(ledger));
  const again = async (): Promise<void> => {
    let fault: unknown;
    for (const pause of AGAIN_MS) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      try {
        await tellOnce();
        return;
      } catch (error) {
        fault = error;
      }
    }
    logFault(context, lost, fault);
  };
  try {
    return await tellOnce();
  } catch {
    context.background(again());
    return null;
  }
}

/** Remembers a policy, unless a newer one is known. */
function remember({ deployment, tenant }: RunContext, policy: Policy, readAt: number): void {
  const known = deployment.policies.get(tenant);
  if (known !== undefined && known.policy.at > policy.at) return;
  deployment.policies.set(tenant, { policy, readAt, refreshing: false });
}
