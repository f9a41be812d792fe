/** `/console/usage`: the usage of model calls, and its limits. */
import { html } from "hono/html";
import type { UsageGroup } from "../session/ledger/rpc.ts";
import type { ShownBudget, UsageRow } from "./answers.ts";
import { type Api, asked } from "./api.ts";
import { form, type Page, seeOther } from "./layout.ts";
import { runTable } from "./runs-page.ts";
import { count, type Html, money, when } from "./text.ts";

const GROUPS = ["day", "skill", "model", "session"] as const satisfies readonly UsageGroup[];
const WINDOWS = ["hour", "day", "month", "total"] as const;
/** The error of a call that a budget refused. */
const REFUSED = "budget_exceeded";
const DAYS = 30;
const DAY_MS = 24 * 3_600_000;

export async function usagePage(api: Api): Promise<Page> {
  const by = GROUPS.find((group) => group === api.url.searchParams.get("by")) ?? "day";
  const from = new Date(Date.now() - DAYS * DAY_MS).toISOString().slice(0, 10);
  const [spent, limits, refused] = await Promise.all([
    asked(api, "getUsage", { query: { group_by: by, limit: "100", from } }),
    asked(api, "listBudgets", { query: { limit: "100" } }),
    asked(api, "listAllRuns", { query: { code: REFUSED, limit: "20" } }),
  ]);
  return {
    title: "Usage",
    body: html`<h1>Usage</h1>
<p>Of the last ${DAYS} days, by ${GROUPS.map((group) => (group === by ? html`<strong>${group}</strong> ` : html`<a href="/console/usage?by=${group}">${group}</a> `))}</p>
${spent.data.length === 0 ? html`<p>No model was called in this time. <a href="/">Try a skill</a>.</p>` : bars(spent.data, by)}
<h2>Budgets</h2>
${limits.data.length === 0 ? html`<p>None: model calls are not limited. Hull checks a budget before each call.</p>` : budgetTable(limits.data)}
${api.may("admin") ? budgetForm(api) : ""}
<h2>Refused for a budget</h2>${refused.data.length === 0 ? html`<p>No run in 30 days.</p>` : runTable(api, refused.data)}${refused.next_cursor === null ? "" : html`<p><a href="/console/runs?code=${REFUSED}">All of them</a></p>`}`,
  };
}

function nameOf(row: UsageRow, by: UsageGroup): string {
  const { provider, model } = row;
  if (by === "model") return `${provider} ${model}`;
  return row[by] ?? `no ${by}`;
}

/** Cost as bars, or tokens if nothing has a price. */
export function bars(rows: readonly UsageRow[], by: UsageGroup): Html {
  const priced = rows.some(({ cost_usd }) => cost_usd > 0);
  const size = ({ cost_usd, input_tokens, output_tokens }: UsageRow): number =>
    priced ? cost_usd : input_tokens + output_tokens;
  const most = Math.max(...rows.map(size), Number.MIN_VALUE);
  const bar = (row: UsageRow) =>
    html`<svg viewBox="0 0 1000 14" width="160" height="14" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="1000" height="14"/><rect class="model" width="${Math.round((1000 * size(row)) / most)}" height="14"/></svg>`;
  return html`<div class="scroll" tabindex="0"><table><thead><tr><th>${by}</th><th>${priced ? "Cost" : "Tokens"}</th><th class="n">Cost</th><th class="n">Calls</th><th class="n">Tokens in</th><th class="n">Tokens out</th></tr></thead><tbody>
${rows.map(
  (
    row,
  ) => html`<tr><td>${nameOf(row, by)}</td><td>${bar(row)}</td><td class="n">${money(row.cost_usd)}${row.price_known ? "" : html` <span class="wait" title="The price of some calls is not known.">+ ?</span>`}</td><td class="n">${count(row.calls)}</td><td class="n">${count(row.input_tokens)}</td><td class="n">${count(row.output_tokens)}</td></tr>
`,
)}</tbody></table></div>`;
}

function budgetTable(rows: readonly ShownBudget[]): Html {
  return html`<div class="scroll" tabindex="0"><table><thead><tr><th>Of</th><th>Window</th><th class="n">Spent</th><th class="n">Limit</th><th class="n">Left</th><th>Begins anew</th></tr></thead><tbody>
${rows.map(
  (
    row,
  ) => html`<tr><td>${row.scope}</td><td>${row.window}</td><td class="n">${spentText(row)}</td><td class="n">${limitText(row)}</td><td class="n">${leftText(row)}</td><td>${when(row.resets_at)}</td></tr>
`,
)}</tbody></table></div>`;
}

/** The limits of a budget, each with its value. */
function limitsOf(row: ShownBudget): { max: number; spent: number; text: (value: number) => string }[] {
  const tokens = (value: number): string => `${count(value)} tokens`;
  return [
    { max: row.max_cost_usd, spent: row.spent.cost_usd, text: money },
    {
      max: row.max_input_tokens,
      spent: row.spent.input_tokens,
      text: (value: number) => `${tokens(value)} in`,
    },
    {
      max: row.max_output_tokens,
      spent: row.spent.output_tokens,
      text: (value: number) => `${tokens(value)} out`,
    },
  ].flatMap(({ max, spent, text }) => (max === null || max === undefined ? [] : [{ max, spent, text }]));
}

const limitText = (row: ShownBudget): string =>
  limitsOf(row)
    .map(({ max, text }) => text(max))
    .join(", ");
const spentText = (row: ShownBudget): string =>
  limitsOf(row)
    .map(({ spent, text }) => text(spent))
    .join(", ");
const leftText = (row: ShownBudget): string =>
  limitsOf(row)
    .map(({ max, spent, text }) => text(Math.max(0, max - spent)))
    .join(", ");

function budgetForm(api: Api): Html {
  return form(
    api,
    "/console/usage/budget",
    html`<div><label for="scope">Of: tenant, skill:name or session:id</label><input id="scope" name="scope" value="tenant" required></div>
<div><label for="window">Window</label><select id="window" name="window">${WINDOWS.map((one) => html`<option>${one}</option>`)}</select></div>
<div><label for="max">Most US dollars</label><input id="max" name="max_cost_usd" inputmode="decimal" required></div><button>Set the budget</button>`,
    "row",
  );
}

/** Sets a budget in money. */
export async function setBudget(api: Api): Promise<Response> {
  const fields = await api.form();
  const text = (name: string): string => String(fields.get(name) ?? "").trim();
  const max_cost_usd = text("max_cost_usd") === "" ? null : Number(text("max_cost_usd"));
  await api.ask("putBudget", {
    params: { scope: text("scope") },
    json: { window: text("window"), max_cost_usd },
  });
  return seeOther("/console/usage");
}
