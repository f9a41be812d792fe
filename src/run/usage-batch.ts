/**
 * Usage of calls without a reservation. The ledger gets it a moment after the answer, all calls of a tenant together. A
 * Worker that dies in this moment loses it; Hull counts only tenants without budgets this way.
 */
import { totalUsage } from "../engine/messages.ts";
import type { Charge, Spend } from "../session/ledger/rpc.ts";
import type { RunContext } from "./context.ts";
import { tellLedger } from "./tenant-policy.ts";

/** How long usage is collected, in ms. */
const COLLECT_MS = 200;
/** If the request that collects a batch has ended, another one takes over after this time, in ms. */
const STUCK_MS = 1000;

/** Records a call; the ledger gets it in the background. */
export function noteCharge(context: RunContext, charge: Charge): void {
  const { usage: batches } = context.deployment;
  const now = Date.now();
  const open = batches.get(context.tenant);
  const batch = open ?? { id: crypto.randomUUID(), charges: new Map(), collectedSince: now };
  const { skill, session, account, provider, model } = charge;
  const key = JSON.stringify([skill, session, account, provider, model]);
  const known = batch.charges.get(key);
  batch.charges.set(key, known === undefined ? charge : added(known, charge.spend));
  if (open !== undefined && now - open.collectedSince < STUCK_MS) return;
  batch.collectedSince = now;
  batches.set(context.tenant, batch);
  context.background(
    new Promise((resolve) => setTimeout(resolve, COLLECT_MS)).then(() => sendUsage(context)),
  );
}

/** Sends the ledger what this isolate has recorded for the tenant, so that the next read includes it. */
export async function sendUsage(context: RunContext): Promise<void> {
  const { usage: batches } = context.deployment;
  const batch = batches.get(context.tenant);
  if (batch === undefined) return;
  batches.delete(context.tenant);
  const charges = [...batch.charges.values()];
  const calls = charges.reduce((sum, { spend }) => sum + spend.calls, 0);
  await tellLedger(context, { event: "usage_lost", calls }, (ledger) => ledger.record(batch.id, charges));
}

function added(charge: Charge, more: Spend): Charge {
  const { spend } = charge;
  return {
    ...charge,
    spend: {
      calls: spend.calls + more.calls,
      unpriced_calls: spend.unpriced_calls + more.unpriced_calls,
      estimated_calls: spend.estimated_calls + more.estimated_calls,
      ...totalUsage(spend, more),
      prompt_tokens: spend.prompt_tokens + more.prompt_tokens,
      cost: spend.cost + more.cost,
      duration_ms: spend.duration_ms + more.duration_ms,
    },
  };
}
