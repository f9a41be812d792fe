/** `/console/workflows`: stored graphs, runs of all graphs; `/console/workflows/{name}`: a graph, a form to run it. */
import { html } from "hono/html";
import type { WorkflowRuns, Workflows } from "../../typed/client/api.d.ts";
import { type Api, asked } from "./api.ts";
import { jsonOf, typedIn } from "./fields.ts";
import { graphDrawn, nodeTable } from "./graph-svg.ts";
import { form, nextPage, type Page, seeOther } from "./layout.ts";
import { stateLabel } from "./run-shapes.ts";
import { facts, optionList, table } from "./table.ts";
import { folded, type Html, mark, short, when } from "./text.ts";

const STATES = ["running", "waiting", "paused", "completed", "failed", "cancelled"] as const;

export async function workflowsPage(api: Api): Promise<Page> {
  const { searchParams } = api.url;
  const status = searchParams.get("status") ?? "";
  const query = { limit: "50", cursor: searchParams.get("cursor"), status };
  const [stored, ran] = await Promise.all([
    asked(api, "listWorkflows", { query: { limit: "100", cursor: searchParams.get("after") } }),
    asked(api, "listWorkflowRuns", { query }),
  ]);
  const live = query.cursor === null ? html` data-refresh="3000"` : "";
  return {
    title: "Workflows",
    body: html`<h1>Workflows</h1>
<h2>Graphs</h2>${stored.data.length === 0 ? html`<p>No graph is stored yet. <code>PUT /workflows/{name}</code> with <code>{"graph": …}</code> stores one; <code>hull workflow run graph.json --task TEXT</code> runs one that is not stored.</p>` : graphList(stored.data)}
${stored.next_cursor === null ? "" : html`<p><a href="/console/workflows?after=${encodeURIComponent(stored.next_cursor)}" rel="next">More graphs</a></p>`}
<h2>Runs</h2><form method="get" action="/console/workflows" class="row"><div><label for="status">State</label><select id="status" name="status">${optionList(STATES, status, "all")}</select></div><button>Filter</button></form>
<div id="runs"${live} data-mark="${mark(JSON.stringify(ran.data))}">${ran.data.length === 0 ? html`<p>${status === "" ? "No workflow ran yet." : "No run matches."}</p>` : runList(ran.data)}</div>
${nextPage(api, ran.next_cursor)}`,
  };
}

function graphList(data: Workflows["data"]): Html {
  const rows = data.map(({ name, version, digest, created_at }) => [
    html`<a href="/console/workflows/${name}">${name}</a>`,
    version === null ? "its skill's" : String(version),
    when(created_at),
    html`<code>${digest.slice(0, 12)}</code>`,
  ]);
  return table(["Graph", "Version", "Stored", "Digest"], rows);
}

function runList(data: WorkflowRuns["data"]): Html {
  const rows = data.map(({ id, workflow: of, task, status, created_at, finished_at }) => [
    html`<a href="/console/workflows/runs/${id}"><code>${id.slice(0, 14)}</code></a>`,
    stateLabel(status),
    of,
    html`<span dir="auto">${short(task, 120)}</span>`,
    when(created_at),
    when(finished_at),
  ]);
  return table(["Run", "State", "Workflow", { name: "Task", as: "wide" }, "Started", "Ended"], rows);
}

/** @param name `name`, `name@version`, or `skill/name` */
export async function workflowPage(api: Api, name: string): Promise<Page> {
  const [skill = "", own] = name.split("/");
  const shown = await (own === undefined
    ? asked(api, "getWorkflow", { params: { name } })
    : asked(api, "getSkillWorkflow", { params: { skill, name: own } }));
  const { graph, version } = shown;
  const exact = version === null ? shown.name : `${shown.name}@${version}`;
  const before = (version ?? 1) - 1;
  return {
    title: shown.name,
    body: html`<h1>Workflow ${shown.name}</h1>
${facts([
  [
    "Version",
    html`${version ?? "that of its skill"}${before > 0 ? html`, <a href="/console/workflows/${shown.name}@${before}">the one before</a>` : ""}`,
  ],
  ["Stored", when(shown.created_at)],
  ["Digest", html`<code>${shown.digest.slice(0, 16)}</code>`],
])}
<h2>Graph</h2>${graphDrawn(graph)}
<h2>Nodes</h2>${nodeTable(graph)}
<h2>Run it</h2>${form(
      api,
      `/console/workflows/${exact}/run`,
      html`<label for="task">Task</label><textarea id="task" name="task" dir="auto" required></textarea>
<details><summary>Artifacts and options</summary><label for="artifacts">Artifacts, a JSON list such as [{"kind": "plan", "text": "…"}]</label><textarea id="artifacts" name="artifacts" class="code" spellcheck="false"></textarea><label for="options">Options as JSON, e.g. {"provider": "mock"}</label><textarea id="options" name="options" class="code" spellcheck="false"></textarea></details><p><button class="main">Run</button></p>`,
    )}
${folded("The graph as JSON", graph)}`,
  };
}

/** Begins a run of a stored graph and redirects to its page. */
export async function runWorkflow(api: Api, fields: FormData, name: string): Promise<Response> {
  const json = {
    workflow: name,
    task: typedIn(fields, "task"),
    artifacts: jsonOf(fields, "artifacts"),
    options: jsonOf(fields, "options"),
  };
  return begun(await api.ask("executeWorkflow", { query: { wait: "none" }, json }));
}

/** Redirects to the page of the run that an answer names. */
export async function begun(answer: Response): Promise<Response> {
  await answer.body?.cancel();
  return seeOther(`/console${answer.headers.get("location") ?? "/workflows"}`);
}
