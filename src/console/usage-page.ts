/** `/console/usage`: the usage of model calls, and its limits. */
import { html } from "hono/html";
import type { Budget, Usage } from "../../typed/client/api.d.ts";
import { BadRequest } from "../errors/request.ts";
import type { UsageGroup } from "../session/ledger/rpc.ts";
import { type Api, asked } from "./api.ts";
import { textOf } from "./fields.ts";
import { form, type Page, seeOther } from "./layout.ts";
import { runName } from "./run-shapes.ts";
import { runTable } from "./runs-page.ts";
import { numbers, optionList, table } from "./table.ts";
import { cost, count, type Html, money, when } from "./text.ts";

const GROUPS = ["day", "skill", "model", "session"] as const satisfies readonly UsageGroup[];
const NAMES = { day: "Day", skill: "Skill", model: "Model", session: "Session" } as const;
const tokens = (value: number): string => `${count(value)} ${value === 1 ? "token" : "tokens"}`;
/** The limits of a budget: what each counts, its field's label, and a value in its unit. */
const LIMITS = [
  ["max_cost_usd", "cost_usd", "US dollars", money],
  ["max_input_tokens", "input_tokens", "Tokens in", (value: number) => `${tokens(value)} in`],
  ["max_output_tokens", "output_tokens", "Tokens out", (value: number) => `${tokens(value)} out`],
] as const;
const WINDOWS = ["hour", "day", "month", "total"] as const;
/** The error of a call that a budget refused. */
const REFUSED = "budget_exceeded";
const DAYS = 30;

/** The date so many days ago. */
export const dayBefore = (days: number): string =>
  new Date(Date.now() - days * 24 * 3_600_000).toISOString().slice(0, 10);

export async function usagePage(api: Api): Promise<Page> {
  const by = GROUPS.find((group) => group === api.url.searchParams.get("by")) ?? "day";
  const from = dayBefore(DAYS);
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
${limits.data.length === 0 ? html`<p>None: model calls are not limited. Hull checks a budget before each call.</p>` : budgetTable(api, limits.data)}
${api.may("admin") ? budgetForm(api) : ""}
<h2>Refused by a budget</h2>${refused.data.length === 0 ? html`<p>No run in 30 days.</p>` : runTable(api, refused.data)}${refused.next_cursor === null ? "" : html`<p><a href="/console/runs?code=${REFUSED}">All of them</a></p>`}`,
  };
}

function nameOf(row: Usage, by: UsageGroup): Html | string {
  const { provider, model, skill = null, session = null } = row;
  if (by === "model") return `${provider} ${model}`;
  if (row[by] == null) return `no ${by}`;
  return by === "day" ? row[by] : runName({ name: skill, session, kind: by });
}

/** Cost as bars, or tokens if nothing has a price. */
export function bars(rows: readonly Usage[], by: UsageGroup): Html {
  const priced = rows.some(({ cost_usd }) => cost_usd > 0);
  const size = ({ cost_usd, input_tokens, output_tokens }: Usage): number =>
    priced ? cost_usd : input_tokens + output_tokens;
  const most = Math.max(...rows.map(size), Number.MIN_VALUE);
  const bar = (row: Usage) =>
    html`<svg viewBox="0 0 1000 14" width="160" height="14" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="1000" height="14"/><rect class="model" width="${Math.round((1000 * size(row)) / most)}" height="14"/></svg>`;
  const cells = (row: Usage): (Html | string)[] => [
    nameOf(row, by),
    bar(row),
    cost(row.cost_usd, row.price_known),
    count(row.calls),
    count(row.input_tokens),
    count(row.output_tokens),
  ];
  const share = priced ? "Share of cost" : "Share of tokens";
  const columns = [NAMES[by], share, ...["Cost", "Calls", "Tokens in", "Tokens out"].map(numbers)];
  return table(columns, rows.map(cells));
}

function budgetTable(api: Api, rows: readonly Budget[]): Html {
  const remove = ({ scope }: Budget): Html =>
    form(
      api,
      "/console/usage/budget/remove",
      html`<input type="hidden" name="scope" value="${scope}"><button class="danger" aria-label="Remove the budget of ${scope}">Remove</button>`,
      "inline",
    );
  const cells = (row: Budget): (Html | string)[] => [
    row.scope,
    row.window,
    inUnits(row, ({ spent }) => spent),
    inUnits(row, ({ max }) => max),
    inUnits(row, ({ max, spent }) => Math.max(0, max - spent)),
    when(row.resets_at),
    ...(api.may("admin") ? [remove(row)] : []),
  ];
  const columns = ["Scope", "Window", ...["Spent", "Limit", "Left"].map(numbers), "Resets"];
  return table(api.may("admin") ? [...columns, "Remove"] : columns, rows.map(cells));
}

/** A value of each limit in the limit's unit. */
function inUnits(row: Budget, value: (limit: { max: number; spent: number }) => number): string {
  const values = LIMITS.flatMap(([name, counts, , text]) => {
    const max = row[name] ?? null;
    return max === null ? [] : [text(value({ max, spent: row.spent[counts] }))];
  });
  return values.join(", ");
}

function budgetForm(api: Api): Html {
  const limit = (name: string, label: string): Html =>
    html`<div><label for="${name}">${label}</label><input id="${name}" name="${name}" inputmode="decimal" size="12"></div>`;
  return html`<h3>Set a budget</h3><p class="dim">It replaces the one that its scope has. An empty limit does not limit.</p>${form(
    api,
    "/console/usage/budget",
    html`<div><label for="scope">Scope: tenant, skill:name or session:id</label><input id="scope" name="scope" value="tenant" required></div>
<div><label for="window">Window</label><select id="window" name="window">${optionList(WINDOWS, "")}</select></div>
${LIMITS.map(([name, , label]) => limit(name, label))}<button>Set the budget</button>`,
    "row",
  )}`;
}

/** Sets the limits of a budget. @throws BadRequest if a limit is not a number, or if there is none */
export async function setBudget(api: Api, fields: FormData): Promise<Response> {
  const json: Record<string, unknown> = { window: textOf(fields, "window") };
  for (const [name, , label] of LIMITS) {
    const text = textOf(fields, name);
    if (text === "") continue;
    json[name] = Number(text);
    if (Number.isNaN(json[name])) throw new BadRequest({ detail: `${label}: ${text} is not a number.` });
  }
  if (Object.keys(json).length === 1) throw new BadRequest({ detail: "Give the budget at least one limit." });
  await api.ask("putBudget", { params: { scope: textOf(fields, "scope") }, json });
  return seeOther("/console/usage");
}

export async function removeBudget(api: Api, fields: FormData): Promise<Response> {
  const scope = textOf(fields, "scope");
  await api.ask("deleteBudget", { params: { scope } });
  return seeOther("/console/usage");
}
