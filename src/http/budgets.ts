/** `/budgets`: hard limits of the caller's tenant, checked before each model call. */
import type { Budget } from "../api/answers/spending.ts";
import { budgetBody } from "../api/bodies/spending.ts";
import { nanoOf, usdOf } from "../engine/usd.ts";
import { BudgetNotFound } from "../errors/budget.ts";
import { BadRequest } from "../errors/request.ts";
import { askTenant } from "../run/ledger.ts";
import { askWithPolicy } from "../run/tenant-policy.ts";
import { sendUsage } from "../run/usage-batch.ts";
import type { Amount, Budget as LedgerBudget } from "../session/ledger/rpc.ts";
import { readJson } from "./body.ts";
import type { RequestContext } from "./context.ts";
import { jsonNow, pageLimit } from "./page.ts";
import type { Params } from "./routes.ts";

/** `GET /budgets`: a page of limits, sorted by scope. */
export async function listBudgets(context: RequestContext): Promise<Response> {
  const { query } = context;
  const limit = pageLimit(query);
  const after = query.get("cursor") ?? "";
  await sendUsage(context);
  const { rows, more } = await askTenant(context, async (ledger) => await ledger.budgets(limit, after));
  return jsonNow({ data: rows.map(shown), next_cursor: more ? (rows.at(-1)?.scope ?? null) : null });
}

/** `GET /budgets/:scope`: the limit and its present state. */
export async function getBudget(context: RequestContext, params: Params): Promise<Response> {
  const scope = scopeIn(params);
  await sendUsage(context);
  const budget = await askTenant(context, async (ledger) => await ledger.budget(scope));
  if (budget === null) throw new BudgetNotFound({ scope });
  return jsonNow(shown(budget));
}

/** `PUT /budgets/:scope`: sets or replaces the limit; 201 if there was none. */
export async function putBudget(context: RequestContext, params: Params): Promise<Response> {
  const scope = scopeIn(params);
  const wanted = await readJson(context.request, budgetBody);
  const limits = {
    window: wanted.window,
    max_cost: wanted.max_cost_usd == null ? null : nanoOf(wanted.max_cost_usd),
    max_input_tokens: wanted.max_input_tokens ?? null,
    max_output_tokens: wanted.max_output_tokens ?? null,
  };
  await sendUsage(context);
  const { budget, created } = await askWithPolicy(
    context,
    async (ledger) => await ledger.putBudget(scope, limits),
  );
  return jsonNow(shown(budget), created ? 201 : 200);
}

/** `DELETE /budgets/:scope` */
export async function deleteBudget(context: RequestContext, params: Params): Promise<Response> {
  const scope = scopeIn(params);
  const { existed } = await askWithPolicy(context, async (ledger) => await ledger.deleteBudget(scope));
  if (!existed) throw new BudgetNotFound({ scope });
  return new Response(null, { status: 204 });
}

function scopeIn({ scope = "" }: Params): string {
  if (/^(?:tenant|skill:[a-z0-9]+(?:-{1,2}[a-z0-9]+)*|session:[A-Za-z0-9._:-]{1,128})$/.test(scope))
    return scope;
  throw new BadRequest({
    detail: `The scope of a budget must be tenant, skill:<slug> or session:<id>, not "${scope}".`,
  });
}

function shown(budget: LedgerBudget): Budget {
  const { max_cost, max_input_tokens, max_output_tokens } = budget;
  return {
    scope: budget.scope,
    window: budget.window,
    ...(max_cost === null ? {} : { max_cost_usd: usdOf(max_cost) }),
    ...(max_input_tokens === null ? {} : { max_input_tokens }),
    ...(max_output_tokens === null ? {} : { max_output_tokens }),
    spent: amount(budget.spent),
    reserved: amount(budget.reserved),
    since: time(budget.since),
    resets_at: time(budget.resets_at),
    updated_at: new Date(budget.updated_at).toISOString(),
  };
}

const amount = ({ cost, input_tokens, output_tokens }: Amount) => ({
  cost_usd: usdOf(cost),
  input_tokens,
  output_tokens,
});

const time = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
