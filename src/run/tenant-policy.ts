/**
 * An isolate's memory of a tenant's budgets and rates. It saves a call of the ledger before each model call of a tenant
 * that has none. Every answer of the ledger renews it.
 */
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

/** Remembers a policy, unless a newer one is known. */
function remember({ deployment, tenant }: RunContext, policy: Policy, readAt: number): void {
  const known = deployment.policies.get(tenant);
  if (known !== undefined && known.policy.at > policy.at) return;
  deployment.policies.set(tenant, { policy, readAt, refreshing: false });
}
