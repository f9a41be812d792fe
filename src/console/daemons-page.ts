/** `/console/daemons`: agents that wait, why they sleep, and what wakes them. */
import { html } from "hono/html";
import type { DaemonSnapshot, DaemonWakes } from "../../typed/client/api.d.ts";
import { parsedJson } from "../skill/json-depth.ts";
import { type Api, asked } from "./api.ts";
import { typedIn } from "./fields.ts";
import { form, nextPage, type Page, pageQuery, seeOther } from "./layout.ts";
import { stateLabel } from "./run-shapes.ts";
import { runTable } from "./runs-page.ts";
import { facts, numbers, table } from "./table.ts";
import { count, duration, type Html, mark, pretty, when } from "./text.ts";
import { bars, dayBefore } from "./usage-page.ts";

/** The days whose cost the page shows. */
const COST_DAYS = 14;

export async function daemonsPage(api: Api): Promise<Page> {
  const { data, next_cursor } = await asked(api, "listDaemons", { query: pageQuery(api) });
  const rows = data.map(({ id, name, status, skill, created_at }) => [
    html`<a href="/console/daemons/${id}"><bdi>${name ?? id}</bdi></a>`,
    stateLabel(status),
    skill === null ? "" : html`<a href="/console/skills/${skill}">${skill}</a>`,
    when(created_at),
  ]);
  return {
    title: "Daemons",
    body: html`<h1>Daemons</h1>${data.length === 0 ? html`<p>No daemon yet. A skill declares one with <code>daemon:</code> in its SKILL.md, or <code>POST /daemons</code> starts one.</p>` : table(["Daemon", "State", "Skill", "Started"], rows)}
${nextPage(api, next_cursor)}`,
  };
}

export async function daemonPage(api: Api, id: string): Promise<Page> {
  const shown = await asked(api, "getDaemon", { params: { id } });
  const { session_id: session } = shown;
  const from = dayBefore(COST_DAYS);
  const [wakes, runs, spent] = await Promise.all([
    asked(api, "listDaemonWakes", { params: { id }, query: pageQuery(api, "20") }),
    asked(api, "listAllRuns", { query: { session, limit: "10" } }),
    asked(api, "getUsage", { query: { session, from, group_by: "day", limit: "100" } }),
  ]);
  const { status, last_wake, pending_event_count, event_queue_capacity, error, pending_events = [] } = shown;
  return {
    title: shown.name ?? id,
    body: html`<h1>Daemon <bdi>${shown.name ?? id}</bdi></h1><div id="daemon" data-refresh="3000" data-mark="${mark(JSON.stringify([status, whySleeping(shown), last_wake, pending_event_count]))}"><p>${stateLabel(status)} ${whySleeping(shown)}</p>
${error === undefined ? "" : html`<p class="note bad"><strong>${error.title}.</strong> ${error.detail}</p>`}
${facts([
  status === "running"
    ? ["Next wake", shown.next_wake_at === null ? "when something comes" : when(shown.next_wake_at)]
    : null,
  shown.resumes_at === null ? null : ["Next attempt", when(shown.resumes_at)],
  ["Last wake", last_wake === null ? "none" : html`${last_wake.reason}, ${when(last_wake.at)}`],
  ["Queue", `${count(pending_event_count)} of ${count(event_queue_capacity)} events wait`],
  ["Model calls", count(shown.total_iterations)],
  ["Session", html`<a href="/console/sessions/${session}">${session}</a>`],
  ["Run", html`<a href="/console/runs/${shown.run_id}">${shown.run_id}</a>`],
])}</div>
${status === "running" || shown.resumes_at !== null ? form(api, `/console/daemons/${id}/send`, html`<label for="event">Send an event, JSON or text</label><textarea id="event" name="event" dir="auto" required></textarea><p><button class="main">Send</button></p>`) : ""}
<p>${status === "running" ? html`${button(api, id, "wake", "Wake")} ${button(api, id, "stop", "Stop")}` : button(api, id, "resume", "Start it again")}${shown.resumes_at === null ? "" : button(api, id, "stop", "Stop")}</p>
${pending_events.length === 0 ? "" : html`<h2>Events that wait</h2><pre tabindex="0">${pretty(pending_events)}</pre>`}
${wakes.data.length === 0 ? "" : html`<h2>Wakes</h2>${wakeTable(wakes.data)}`}
${nextPage(api, wakes.next_cursor)}
${spent.data.length === 0 ? "" : html`<h2>Cost of ${COST_DAYS} days</h2>${bars(spent.data, "day")}`}
${runs.data.length === 0 ? "" : html`<h2>Runs</h2>${runTable(api, runs.data)}`}`,
  };
}

function wakeTable(wakes: DaemonWakes["data"]): Html {
  const rows = wakes.map(({ reason, at, watch_paths, run_id, iterations, ended_at, ...outcome }) => [
    when(at),
    watch_paths.length === 0 ? reason : html`${reason}: <bdi>${watch_paths.join(", ")}</bdi>`,
    outcome.wake_budget_reached === null
      ? stateLabel(outcome.daemon_state)
      : html`${stateLabel(outcome.daemon_state)} at its limit ${outcome.wake_budget_reached}`,
    duration(ended_at === null ? null : Date.parse(ended_at) - Date.parse(at)),
    count(iterations),
    html`<a href="/console/runs/${run_id}"><code>${run_id.slice(0, 14)}</code></a>`,
  ]);
  return table(["Woke", "Because of", "State", numbers("Duration"), numbers("Iterations"), "Run"], rows);
}

const button = (api: Api, id: string, action: string, name: string): Html =>
  form(api, `/console/daemons/${id}/${action}`, html`<button>${name}</button>`, "inline");

function whySleeping({
  status,
  daemon_state,
  pending_wakes,
  wake_budget_reached,
  next_wake_at,
  resumes_at,
}: DaemonSnapshot): string {
  if (status === "stopped") return "Somebody stopped it. Nothing wakes it until somebody starts it again.";
  if (resumes_at !== null)
    return "It failed. Hull starts it again by itself, and keeps its events until then.";
  if (status === "failed") return "It failed. Nothing wakes it until somebody starts it again.";
  if (daemon_state !== "idle") return "It is at work.";
  if (pending_wakes.length > 0) return `It is about to wake: ${pending_wakes.join(", ")}.`;
  const budget =
    wake_budget_reached === null ? "" : ` Its last wake ended at its limit ${wake_budget_reached}.`;
  return `It sleeps until ${next_wake_at === null ? "an event or a message comes" : "its next time, an event or a message"}.${budget}`;
}

/** Puts an event into its queue: JSON as its value, any other text as a text. */
export async function sendEvent(api: Api, fields: FormData, id: string): Promise<Response> {
  const body = typedIn(fields, "event");
  const type = parsedJson(body) !== undefined ? "application/json" : "text/plain";
  await api.ask("sendEvent", { params: { id }, body, headers: { "content-type": type } });
  return seeOther(`/console/daemons/${id}`);
}
