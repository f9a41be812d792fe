/** The cost of calls, and soft budgets. */
import type { SessionCost, SoftBudget, TotalUsage } from "../../api/answers/spending.ts";
import { softBudgetBody } from "../../api/bodies/spending.ts";
import { nanoOf, usdOf } from "../../engine/usd.ts";
import { Unauthenticated } from "../../errors/request.ts";
import { askTenant } from "../../run/ledger.ts";
import { askWithPolicy } from "../../run/tenant-policy.ts";
import { sendUsage } from "../../run/usage-batch.ts";
import type { Account } from "../../session/ledger/rpc.ts";
import { readJson } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { jsonNow } from "../page.ts";
import { ledgerIn } from "./account.ts";

/** `GET /llm/usage`: the tenant's total usage. */
export async function getTotalUsage(context: RequestContext): Promise<Response> {
  await sendUsage(context);
  const total = await askTenant(context, async (ledger) => await ledger.total());
  const { input_tokens, output_tokens, duration_ms, calls } = total;
  const sums: TotalUsage = { input_tokens, output_tokens, total_duration_ms: duration_ms, call_count: calls };
  return jsonNow(sums);
}

/** `GET /llm/session-cost` */
export async function getSessionCost(context: RequestContext): Promise<Response> {
  const { cost, input_tokens, output_tokens, calls } = await accountIn(context);
  const sums: SessionCost = { total_cost: usdOf(cost), input_tokens, output_tokens, call_count: calls };
  return jsonNow(sums);
}

/** `GET /llm/budget` */
export async function getSoftBudget(context: RequestContext): Promise<Response> {
  return jsonNow(standing(await accountIn(context)));
}

/** `PUT /llm/budget {max_cost}` */
export async function putSoftBudget(context: RequestContext): Promise<Response> {
  const { max_cost } = await readJson(context.request, softBudgetBody);
  return jsonNow(standing(await setBudget(context, nanoOf(max_cost))));
}

/** `DELETE /llm/budget` */
export async function deleteSoftBudget(context: RequestContext): Promise<Response> {
  await setBudget(context, null);
  return new Response(null, { status: 204 });
}

async function accountIn(context: RequestContext): Promise<Account> {
  const name = await ledgerIn(context);
  await sendUsage(context);
  return askTenant(context, async (ledger) => await ledger.account(name));
}

/** @throws Unauthenticated for callers without a key, since they would share the setting; CallNotFound */
async function setBudget(context: RequestContext, max: number | null): Promise<Account> {
  const { key_id, operator } = context.caller;
  if (key_id === null && !operator) throw new Unauthenticated({ reason: "A budget needs an API key." });
  const name = await ledgerIn(context);
  await sendUsage(context);
  const { account } = await askWithPolicy(context, async (ledger) => await ledger.putAccount(name, max));
  return account;
}

function standing({ max_cost, cost }: Account): SoftBudget {
  if (max_cost === null) return { budget: null, remaining: null };
  return { budget: usdOf(max_cost), remaining: usdOf(max_cost - cost) };
}
