/** `/console/workflows/runs/{id}`: a run's progress on its graph, what it did and waits for, and forms to control it. */
import { html } from "hono/html";
import type { WorkflowRun, WorkflowStage } from "../../typed/client/api.d.ts";
import { type Api, asked, download } from "./api.ts";
import { checkSure, jsonOf, textOf } from "./fields.ts";
import { graphDrawn, type NodeState, nodeIds, nodeTable } from "./graph-svg.ts";
import { form, type Page, seeOther, sureField } from "./layout.ts";
import { firstOf, pageNote } from "./numbered-pages.ts";
import { stateLabel } from "./run-shapes.ts";
import { facts, optionList } from "./table.ts";
import { cost, count, duration, folded, type Html, lane, mark, pretty, short, when } from "./text.ts";
import { warningNotes } from "./warnings.ts";
import { nodeCard } from "./workflow-approvals.ts";
import { begun } from "./workflows-page.ts";

/** Stages on one page. */
const STAGES = 100;
/** Most characters of a text on the page; the record has all of it. */
const SHOWN = 4000;

export async function workflowRunPage(api: Api, id: string): Promise<Page> {
  const run = await asked(api, "getWorkflowRun", { params: { id } });
  const { graph, stages, transitions } = run;
  const states = statesOf(run);
  const taken = new Set(transitions.map(({ from, to }) => `${from} ${to}`));
  const over = run.finished_at !== null;
  const now = mark(JSON.stringify([run.status, run.explanation, stages.length, run.active]));
  return {
    title: `Workflow run ${id}`,
    body: html`<h1>Workflow run <code>${id}</code></h1>
<div id="run"${over ? "" : html` data-refresh="2000"`} data-mark="${now}" data-say="${run.explanation}">
<p>${stateLabel(run.status)} ${run.explanation}</p>
${run.status === "completed" ? failedNodes(states) : ""}
${factsOf(run)}
${over ? "" : html`${run.active.map((one) => waitShown(api, run, one))}<p>${hands(api, run)}</p>`}
<h2>Graph</h2>${graphDrawn(graph, states, taken)}
<h2>Nodes</h2>${nodeTable(graph, states)}
<h2>Journal</h2>${journal(api, run)}
${made(run)}</div>
<h2>Manage the run</h2>${over ? (run.status === "paused" ? goOn(api, id) : "") : killForm(api, id)}${forkForm(api, run)}
<p><a href="/console/workflows/runs/${id}/record">Download the record</a>, with all texts and transcripts.</p>`,
  };
}

function factsOf({
  workflow,
  workflow_name,
  task,
  started_at,
  finished_at,
  usage: took,
  steps,
  max_steps,
  origin,
}: WorkflowRun): Html {
  const span = finished_at === null ? null : Date.parse(finished_at) - Date.parse(started_at);
  const of =
    workflow === null
      ? workflow_name
      : html`<a href="/console/workflows/${workflow.name}${workflow.version === null ? "" : `@${workflow.version}`}">${workflow.name}${workflow.version === null ? "" : `, version ${workflow.version}`}</a>`;
  return facts([
    ["Workflow", of],
    ["Started", when(started_at)],
    ["Duration", duration(span)],
    ["Steps", `${count(steps)} of ${count(max_steps)}`],
    ["Tokens", `${count(took.input_tokens)} in, ${count(took.output_tokens)} out`],
    ["Cost", cost(took.total_cost, took.price_known)],
    origin === null
      ? null
      : [
          "Continues",
          html`<a href="/console/workflows/runs/${origin.run_id}">${origin.run_id}</a> (${origin.how})`,
        ],
    ["Task", html`<span class="out" dir="auto">${short(task, SHOWN)}</span>`],
  ]);
}

/**
 * Names the nodes whose last attempt failed. The run completes nevertheless, since its graph decides what a failure
 * means.
 */
function failedNodes(states: ReadonlyMap<string, NodeState>): Html | "" {
  const failed = [...states].flatMap(([id, { cls }]) => (cls === "failed" ? [id] : []));
  const links = failed.map((id, i) => html`${i === 0 ? "" : ", "}<a href="#node-${id}">${id}</a>`);
  return failed.length === 0 ? "" : html`<p class="note bad">Failed: ${links}.</p>`;
}

/** The state of each node that the run has reached. */
function statesOf({
  stages,
  active: visits,
  pending_nodes,
  status,
  finished_at,
}: WorkflowRun): Map<string, NodeState> {
  const states = new Map<string, NodeState>();
  const goesOn = finished_at === null || status === "paused";
  for (const id of pending_nodes) states.set(id, { cls: "next", text: goesOn ? "next" : "not run" });
  const times = new Map<string, number>();
  for (const { node_id, status } of stages) {
    const visits = (times.get(node_id) ?? 0) + 1;
    times.set(node_id, visits);
    const text = visits === 1 ? status : `${status}, ${visits} times`;
    states.set(node_id, { cls: status === "failed" ? "failed" : "done", text });
  }
  for (const one of visits) states.set(one.node_id, activeState(one));
  return states;
}

function activeState({
  retry_at,
  waits_until,
  approval,
  attempt: number,
}: WorkflowRun["active"][number]): NodeState {
  if (approval !== undefined) return { cls: "waits", text: "waits for you" };
  if (waits_until !== undefined) return { cls: "waits", text: "waits" };
  if (retry_at !== undefined) return { cls: "waits", text: "waits to be tried again" };
  return { cls: "runs", text: number > 1 ? `runs, attempt ${number}` : "runs" };
}

/** The forms for a node that waits. */
function waitShown(
  api: Api,
  { id, graph }: WorkflowRun,
  { node_id, approval, waits_until, started_at }: WorkflowRun["active"][number],
): Html | "" {
  const action = `/console/workflows/runs/${id}`;
  const until = waits_until == null ? "" : html` It waits until ${when(waits_until)}.`;
  if (approval !== undefined) {
    const { question } = approval;
    return nodeCard(api, { run: id, node: node_id, question, since: started_at, until: waits_until ?? null });
  }
  const event = graph.nodes[node_id]?.wait?.event;
  if (event === undefined) return "";
  const key = graph.nodes[node_id]?.wait?.key;
  return html`<article class="card" aria-labelledby="wait-${node_id}"><h2 id="wait-${node_id}">${node_id} <span class="state wait">waits for ${event}</span></h2><p>${until}</p>
${form(api, `${action}/signal`, html`<input type="hidden" name="name" value="${event}"><div><label for="key-${node_id}">Key</label><input id="key-${node_id}" name="key" value="${key ?? ""}"></div><div><label for="payload-${node_id}">Payload, JSON</label><input id="payload-${node_id}" name="payload"></div><button class="main">Send the event</button>`, "row")}</article>`;
}

function hands(api: Api, { id, status }: WorkflowRun): Html {
  const button = (action: string, name: string) =>
    form(api, `/console/workflows/runs/${id}/${action}`, html`<button>${name}</button>`, "inline");
  return html`${status === "paused" ? button("resume", "Resume") : button("pause", "Pause")} ${button("cancel", "Cancel")}`;
}

const goOn = (api: Api, id: string): Html =>
  form(api, `/console/workflows/runs/${id}/resume`, html`<button>Go on as another run</button>`, "row");

function killForm(api: Api, id: string): Html {
  return form(
    api,
    `/console/workflows/runs/${id}/kill`,
    html`${sureField("To kill it at once, without its compensations, type its id")}<button class="danger">Kill</button>`,
    "row",
  );
}

function forkForm(api: Api, { id, graph, task, stages, artifacts }: WorkflowRun): Html {
  const produced = new Set(stages.flatMap((one) => one.artifacts.map((each) => each.id)));
  const given = artifacts.filter((one) => !produced.has(one.id));
  const last = stages.findLast(({ status }) => status === "failed")?.node_id ?? graph.entry ?? "";
  return html`<details><summary>Run again from a node</summary>${form(
    api,
    `/console/workflows/runs/${id}/fork`,
    html`<p>Another run takes over what this one did before the node, and goes on from there.</p><label for="from">From</label><select id="from" name="from">${optionList(nodeIds(graph), last)}</select><label for="task">Task</label><textarea id="task" name="task" dir="auto" required>${task}</textarea><label for="artifacts">Artifacts that it gets, as JSON</label><textarea id="artifacts" name="artifacts" class="code" spellcheck="false">${given.length === 0 ? "" : pretty(given)}</textarea><p><button class="main">Run again</button></p>`,
  )}</details>`;
}

function journal(api: Api, { stages, compensations, active: visits, started_at }: WorkflowRun): Html {
  if (stages.length === 0 && visits.length === 0) return html`<p>The run has done nothing yet.</p>`;
  const list = { length: stages.length, most: STAGES };
  const from = firstOf(api, list);
  const shown = stages.slice(from, from + STAGES);
  const first = Date.parse(shown[0]?.started_at ?? started_at);
  const now = Date.now();
  const ends = [...shown, ...compensations].map(({ finished_at }) => Date.parse(finished_at));
  const span = Math.max(...ends, visits.length > 0 ? now : 0, first + 1) - first;
  const place = (begin: string, end: number) => ({
    from: (Date.parse(begin) - first) / span,
    to: (end - first) / span,
  });
  const stageLane = (one: WorkflowStage, prefix = ""): Html => {
    const title = html`${prefix}${one.kind} <strong>${one.node_id}</strong> ${one.status === "failed" ? html`<span class="bad">failed</span>` : one.outcome}`;
    const end = Date.parse(one.finished_at);
    const took = duration(end - Date.parse(one.started_at));
    const colour = one.status === "failed" ? "fail" : one.kind === "stage" ? "model" : "other";
    return html`<li><details><summary>${lane(title, colour, place(one.started_at, end), took)}</summary>${stageDetails(one)}</details></li>
`;
  };
  const done = shown.map((one) => stageLane(one));
  const undone = compensations.map((one) => stageLane(one, "undo: "));
  const open = visits.map((one) => {
    const { text } = activeState(one);
    const title = html`<strong>${one.node_id}</strong>`;
    const state = html`<span class="wait">${text}</span>`;
    return html`<li>${lane(title, "other", place(one.started_at, now), state)}</li>
`;
  });
  return html`${pageNote(api, "stage", from, list)}<ol class="flow">${done}${undone}${open}</ol>`;
}

function stageDetails(one: WorkflowStage): Html {
  const {
    started_at,
    branch,
    usage: took,
    attempts,
    consumed_artifact_ids,
    artifacts,
    error,
    metadata,
  } = one;
  return html`<p class="dim">Began ${when(started_at)}, branch ${branch}, ${count(took.input_tokens)} tokens in, ${count(took.output_tokens)} out, ${cost(took.total_cost, took.price_known)}</p>
${error === null ? "" : html`<p class="note bad"><strong>${error.code}.</strong> ${error.message}</p>`}
${warningNotes(metadata.warnings)}
${attempts.length === 0 ? "" : html`<h3>Attempts</h3><ul>${attempts.map(attemptShown)}</ul>`}
${consumed_artifact_ids.length === 0 ? "" : html`<h3>Read</h3><p>${consumed_artifact_ids.map((id) => html`<a href="#artifact-${id}"><code>${id}</code></a> `)}</p>`}
${one.private_reasoning === null ? "" : folded("Thoughts", short(one.private_reasoning, SHOWN))}
${one.visible_text === "" ? "" : html`<h3>Output</h3><pre tabindex="0">${short(one.visible_text, SHOWN)}</pre>`}
${one.verification == null ? "" : html`<h3>Checks</h3><pre tabindex="0">${short(pretty(one.verification), SHOWN)}</pre>`}
${artifacts.length === 0 ? "" : html`<h3>Made</h3><p>${artifacts.map(({ id, title }) => html`<a href="#artifact-${id}">${title}</a> `)}</p>`}`;
}

function attemptShown({
  attempt: number,
  status,
  error,
  started_at,
  finished_at,
  child_run_id,
}: WorkflowStage["attempts"][number]): Html {
  const took = duration(Date.parse(finished_at) - Date.parse(started_at));
  return html`<li>${number}: ${status} after ${took}${error === null ? "" : html`, <code>${error.code}</code> ${error.message}`}${child_run_id === null ? "" : html`, <a href="/console/runs/${child_run_id}">its run</a>`}</li>`;
}

function made({ artifacts }: WorkflowRun): Html | "" {
  if (artifacts.length === 0) return "";
  const last = artifacts.slice(-STAGES);
  return html`<h2>Artifacts</h2>${last.length < artifacts.length ? html`<p class="dim">The last ${STAGES} of ${artifacts.length}; the record has all.</p>` : ""}<ul class="flow">${last.map(
    ({
      id,
      kind,
      title,
      text,
      stage: of,
      data,
    }) => html`<li id="artifact-${id}"><details><summary>${title} <span class="dim">${kind}, ${of === null ? "given" : `of ${of}`}</span></summary><pre tabindex="0">${short(text ?? pretty(data), SHOWN)}</pre></details></li>
`,
  )}</ul>`;
}

/** Resumes a run. If it had ended at its limit, this redirects to the run that continues it. */
export async function resumeWorkflowRun(api: Api, _: FormData, id: string): Promise<Response> {
  const how = { params: { id }, query: { wait: "none" }, json: {} };
  const answer = await api.ask("resumeWorkflowRun", how);
  return answer.status === 202 ? begun(answer) : seeOther(`/console/workflows/runs/${id}`);
}

/** Kills a run if the user typed its id. @throws BadRequest */
export async function killWorkflowRun(api: Api, fields: FormData, id: string): Promise<Response> {
  checkSure(fields, id, "kill this run; nothing was stopped");
  await api.ask("killWorkflowRun", { params: { id }, json: {} });
  return seeOther(`/console/workflows/runs/${id}`);
}

/** Answers a node that waits for an approval. */
export async function decideWorkflow(api: Api, fields: FormData, id: string): Promise<Response> {
  const json = {
    node: textOf(fields, "node"),
    decision: textOf(fields, "decision"),
    reason: textOf(fields, "reason") || undefined,
  };
  await api.ask("decideWorkflowApproval", { params: { id }, json });
  return seeOther(`/console/workflows/runs/${id}`);
}

/** Sends the event that a node waits for. */
export async function signalWorkflow(api: Api, fields: FormData, id: string): Promise<Response> {
  const json = {
    name: textOf(fields, "name"),
    key: textOf(fields, "key") || undefined,
    payload: jsonOf(fields, "payload"),
  };
  await api.ask("signalWorkflowRun", { params: { id }, json });
  return seeOther(`/console/workflows/runs/${id}`);
}

/** Begins another run from a node of this one, with the task and the artifacts of the form. */
export async function forkWorkflow(api: Api, fields: FormData, id: string): Promise<Response> {
  const input = { task: textOf(fields, "task") || undefined, artifacts: jsonOf(fields, "artifacts") };
  const json = { from: textOf(fields, "from"), input };
  return begun(await api.ask("forkWorkflowRun", { params: { id }, query: { wait: "none" }, json }));
}

/** The run's record as a file. */
export async function workflowRecord(api: Api, id: string): Promise<Response> {
  return download(await api.ask("getWorkflowRun", { params: { id } }), `${id}.json`);
}
