/**
 * An isolate's memory of a tenant's budgets and rates. It saves a question to the ledger before each call of a tenant
 * that has none. Every answer of the ledger renews it.
 */
import type { Policy } from "../session/ledger/rpc.ts";
import type { RunContext } from "./context.ts";
import { askTenant, type Ledger } from "./ledger.ts";

/** Age in ms from which a policy in use is read again, in parallel with the call. */
const REFRESH_AFTER_MS = 5000;
/** Age in ms up to which a policy is used; an older one is read before the call. */
const USED_FOR_MS = 60_000;
/** The tenant's policy, from memory if fresh enough. */
export async function policyOf(context: RunContext): Promise<Policy> {
  const known = context.deployment.policies.get(context.tenant);
  const age = Date.now() - (known?.askedAt ?? 0);
  if (known === undefined || age >= USED_FOR_MS) return readPolicy(context);
  if (age >= REFRESH_AFTER_MS && !known.refreshing) {
    known.refreshing = true;
    // If this read fails, the policy becomes too old and is then read before a call.
    context.background(readPolicy(context).catch(() => {}));
  }
  return known.policy;
}

async function readPolicy(context: RunContext): Promise<Policy> {
  return (await askWithPolicy(context, async (ledger) => await ledger.policy())).policy;
}

/** Asks the tenant's ledger, and remembers the policy that its answer carries. */
export async function askWithPolicy<T extends { policy: Policy }>(
  context: RunContext,
  ask: (ledger: Ledger) => Promise<T>,
): Promise<T> {
  const askedAt = Date.now();
  const answer = await askTenant(context, ask);
  remember(context, answer.policy, askedAt);
  return answer;
}

/** Remembers a policy, unless a newer one is known. */
function remember({ deployment, tenant }: RunContext, policy: Policy, askedAt: number): void {
  const known = deployment.policies.get(tenant);
  if (known !== undefined && known.policy.at > policy.at) return;
  deployment.policies.set(tenant, { policy, askedAt, refreshing: false });
}
