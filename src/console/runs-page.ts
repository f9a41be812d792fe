/** `/console/runs`: the runs of all surfaces, past and present. */
import { html } from "hono/html";
import type { IndexedRun } from "../../typed/client/api.d.ts";
import { RUN_KINDS, RUN_STATES } from "../session/run-entry.ts";
import { type Api, asked } from "./api.ts";
import { form, nextPage, type Page } from "./layout.ts";
import { isOver, pathOf, runName, stateLabel } from "./run-shapes.ts";
import { type Column, numbers, optionList, table } from "./table.ts";
import { cost, count, duration, type Html, mark, when } from "./text.ts";

export async function runsPage(api: Api): Promise<Page> {
  const { searchParams } = api.url;
  const given = (name: string): string => searchParams.get(name) ?? "";
  const stages = searchParams.get("stages") === "true";
  const query = {
    limit: "50",
    cursor: searchParams.get("cursor"),
    state: given("state"),
    kind: given("kind"),
    name: given("name"),
    session: given("session"),
    model: given("model"),
    code: given("code"),
    stages: stages || given("session") !== "" ? "true" : "false",
  };
  const { data, next_cursor } = await asked(api, "listAllRuns", { query });
  const filtered = [query.state, query.kind, query.name, query.session, query.model, query.code].some(
    (value) => value !== "",
  );
  const live = query.cursor === null ? html` data-refresh="3000"` : "";
  return {
    title: "Runs",
    body: html`<h1>Runs</h1>
<form method="get" action="/console/runs" class="row">
<div><label for="state">State</label><select id="state" name="state">${optionList(RUN_STATES, query.state, "all", (state) => state.replaceAll("_", " "))}</select></div>
<div><label for="kind">Kind</label><select id="kind" name="kind">${optionList(RUN_KINDS, query.kind, "all")}</select></div>
<div><label for="name">Skill</label><input id="name" name="name" value="${query.name}"></div>
<div><label for="session">Session</label><input id="session" name="session" value="${query.session}"></div>
<div><label for="model">Model</label><input id="model" name="model" placeholder="provider/model" value="${query.model}"></div>
<div><label for="code">Error</label><input id="code" name="code" value="${query.code}"></div>
<div><label><input type="checkbox" name="stages" value="true"${stages ? html` checked` : ""}> with stages of workflows</label></div>
<button>Filter</button></form>
<div id="runs"${live} data-mark="${mark(JSON.stringify(data))}">${data.length === 0 ? nothing(api, filtered) : runTable(api, data)}</div>
${nextPage(api, next_cursor)}`,
  };
}

function nothing({ url }: Api, filtered: boolean): Html {
  return filtered
    ? html`<p>No run matches. <a href="/console/runs">Show all runs</a>.</p>`
    : html`<p>Nothing has run yet. Open a <a href="/">skill</a> and try it, or call one: <code>curl -H 'authorization: Bearer &lt;key&gt;' -d Hello ${url.origin}/skills/…</code></p>`;
}

const COLUMNS: readonly (string | Column)[] = [
  "Run",
  "State",
  "Skill or session",
  "Model",
  "Started",
  ...["Duration", "Tokens in, out", "Cost"].map(numbers),
  "Action",
];

/** Runs with their figures, the newest first. */
export function runTable(api: Api, runs: readonly IndexedRun[]): Html {
  return table(
    COLUMNS,
    runs.map((run) => cells(api, run)),
  );
}

/** Whether this page can stop the run; the runs of daemons and workflows are stopped on their own pages. */
const isStoppable = (run: IndexedRun): boolean =>
  !isOver(run) && run.kind !== "daemon" && run.kind !== "workflow";

function cells(api: Api, run: IndexedRun): (Html | string)[] {
  const {
    id,
    kind,
    model,
    state,
    created_at,
    duration_ms,
    input_tokens,
    output_tokens,
    cost_usd,
    price_known,
    code,
  } = run;
  const cancel = html`<button class="danger" id="cancel-${id}" aria-label="Cancel ${id}">Cancel</button>`;
  return [
    html`<a href="${pathOf(run)}"><code>${id.slice(0, 14)}</code></a> <span class="dim">${kind}</span>`,
    html`${stateLabel(state)}${code === null ? "" : html` <small><code>${code}</code></small>`}`,
    runName(run),
    model ?? "",
    when(created_at),
    duration(duration_ms),
    `${count(input_tokens)}, ${count(output_tokens)}`,
    cost(cost_usd, price_known),
    isStoppable(run) ? form(api, `/console/runs/${id}/cancel`, cancel, "inline") : "",
  ];
}
