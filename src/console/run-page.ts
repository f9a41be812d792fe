/** `/console/runs/{id}`: what one run did and does, and its result. */
import { html } from "hono/html";
import * as z from "zod/mini";
import type { Execution, IndexedRun, Trace } from "../../typed/client/api.d.ts";
import { beginningCall } from "../session/run-entry.ts";
import { type Api, type Asked, asked, download, unless404 } from "./api.ts";
import { form, nextPage, type Page, pageQuery, seeOther } from "./layout.ts";
import { problemMembers } from "./problem.ts";
import { isOver, pathOf, reason, runName, stateLabel } from "./run-shapes.ts";
import { facts } from "./table.ts";
import { cost, count, duration, folded, type Html, lane, mark, money, pretty, size, when } from "./text.ts";
import { warningNotes } from "./warnings.ts";

/** The longest time from the end of a call until the index has what it used. */
const COUNTING_MS = 60_000;

/** Steps on one page. */
const STEPS = "100";

/** A run with its result, as far as the caller may see it. */
interface Known {
  run: IndexedRun;
  answer: Html | "";
  /** Whether the caller cannot see the call: Hull does not store it, or another key made it. */
  hidden: boolean;
  /** Whether the call has ended, and the index does not yet have what it used. */
  counting?: true;
}

export async function runPage(api: Api, id: string): Promise<Page> {
  const { run, answer, hidden, counting = false } = await known(api, id);
  if (run.kind === "workflow")
    return { title: id, status: 303, headers: { location: pathOf(run) }, body: html`` };
  const steps = hidden
    ? { recovered: false, text: null, error: null, data: [], next_cursor: null }
    : await stepsOf(api, run, pageQuery(api, STEPS));
  const over = isOver(run);
  const live = !over && !hidden;
  const why = reason(run);
  const every = counting ? "1000" : over ? undefined : "3000";
  const refresh = every === undefined ? "" : html` data-refresh="${every}"`;
  return {
    title: `Run ${id}`,
    body: html`<h1>Run <code>${id}</code></h1>
<div id="figures"${refresh} data-mark="${mark(JSON.stringify([run, steps.recovered]))}" data-say="${why}"><p>${stateLabel(run.state)} ${why}${run.state === "awaiting_approval" ? html` <a id="decide" href="/console/approvals">Decide about it</a>.` : ""}</p>
${facts([
  ["Skill or session", runName(run)],
  run.model === null ? null : ["Model", run.model],
  ["Started", when(run.created_at)],
  ["Duration", duration(run.duration_ms)],
  ["Tokens", counting ? "–" : `${count(run.input_tokens)} in, ${count(run.output_tokens)} out`],
  ["Cost", counting ? "–" : cost(run.cost_usd, run.price_known)],
])}
${steps.recovered && run.code !== "execution_lost" ? html`<p class="note wait">Its process died, and Hull continued the run. Hull did not repeat what the run had finished by then.</p>` : ""}</div>
${live ? form(api, `/console/runs/${id}/cancel`, html`<button class="danger">Cancel</button>`, "row") : ""}
${hidden ? html`<p class="note">What this call did cannot be read here. Hull keeps it only if the call had an <code>Idempotency-Key</code> or <code>Prefer: respond-async</code>, for a day after its end, and shows it only to the key that made the call.</p>` : ""}
${warningNotes(steps.warnings)}
${run.session === null ? answer : answered(steps.text ?? "", steps.error)}
${live ? html`<h2>Live</h2><ol id="live" class="flow" data-events="/console/runs/${id}/events" aria-live="polite"></ol><noscript><p class="note">Reload the page to see how far the run is. <a href="/console/runs/${id}">Reload</a></p></noscript>` : ""}
<div id="steps"${live ? refresh : ""} data-mark="${mark(JSON.stringify([run.state, steps.data]))}">${steps.data.length === 0 ? "" : html`<h2>Steps</h2>${waterfall(steps.data, run)}`}</div>${nextPage(api, steps.next_cursor)}
${over && steps.text !== null ? html`<p><a href="/console/runs/${id}/eval">Download as an eval case</a>, with the prompt and this answer, for the file <code>evals/evals.json</code> of the skill.</p>` : ""}
${run.session === null ? "" : html`<p><a href="/console/runs/${id}/cassette">Download the session's cassette</a>, to replay its models and tools in a test.</p>`}`,
  };
}

/** @throws HullError for an id that is not one of the tenant's runs */
async function known(api: Api, id: string): Promise<Known> {
  const indexed = await unless404(asked(api, "getIndexedRun", { params: { id } }));
  if (indexed?.session != null) return { run: indexed, hidden: false, answer: "" };
  // A call that has just begun is not yet in the index.
  const call = id.startsWith("ex_") ? await unless404(asked(api, "getExecution", { params: { id } })) : null;
  if (call === null) {
    const run = indexed ?? (await asked(api, "getIndexedRun", { params: { id } }));
    return { run, hidden: true, answer: "" };
  }
  const { status: state, created_at, finished_at: settled_at = null, skill: name } = call;
  const duration_ms = settled_at === null ? null : Date.parse(settled_at) - Date.parse(created_at);
  const code = call.error?.code ?? null;
  const run = {
    ...(indexed ?? { ...beginningCall(id, null, Date.now()), kind: "call" as const }),
    name,
    state,
    created_at,
    settled_at,
    duration_ms,
    code,
  };
  const shown = { run, hidden: false, answer: answerOf(id, call) };
  const justEnded = settled_at !== null && Date.now() - Date.parse(settled_at) < COUNTING_MS;
  return justEnded && indexed?.settled_at == null ? { ...shown, counting: true } : shown;
}

function answerOf(id: string, { result, error }: Execution): Html {
  if (result === undefined) return html`${answered("", error ?? null)}`;
  const text = result.text ?? (result.json === undefined ? "" : pretty(result.json));
  return html`${answered(text, error ?? null)}<p><a href="/console/runs/${id}/answer" download>Download the answer</a>: ${result.content_type}, ${size(result.size)}</p>`;
}

function answered(text: string, error: { title: string; detail: string } | null): Html | "" {
  const failed =
    error === null
      ? ""
      : html`<p class="note bad"><strong>${error.title}.</strong> ${error.detail}</p>${problemMembers(error)}`;
  const said =
    text === ""
      ? ""
      : html`<h2>Answer</h2><pre tabindex="0" id="answer" dir="auto">${text}</pre><button type="button" data-copy="answer">Copy</button>`;
  return html`${failed}${said}`;
}

function stepsOf(
  api: Api,
  { id, session }: Pick<IndexedRun, "id" | "session">,
  query: NonNullable<Asked["query"]>,
): Promise<Trace> {
  return session === null
    ? asked(api, "traceExecution", { params: { id }, query })
    : asked(api, "traceRun", { params: { id: session, run: id }, query });
}

/** Each step with its place in time, from the beginning of the first one to the end of the last one, or to now. */
function waterfall(steps: Trace["data"], run: IndexedRun): Html {
  const over = isOver(run);
  // A run with a call under way has another state.
  const open = over
    ? html`<span class="dim">not done</span>`
    : html`<span class="wait">${run.state.startsWith("awaiting_") ? "waits" : "running"}</span>`;
  const begins = steps.map(({ started_at }) => Date.parse(started_at));
  const first = Math.min(...begins);
  const last = Math.max(
    ...steps.map(({ duration_ms }, i) => (begins[i] ?? first) + (duration_ms ?? 0)),
    first + 1,
  );
  const isOpen = ({ duration_ms }: Trace["data"][number]): boolean => duration_ms === null;
  const end = !over && steps.some(isOpen) ? Math.max(last, Date.now()) : last;
  return html`<ol class="flow">${steps.map((one) => stepLane(one, { first, span: end - first }, over, open))}</ol>`;
}

/** @param place the times of the waterfall, ms @param open what a step without an end shows as its duration */
function stepLane(
  one: Trace["data"][number],
  { first, span }: { first: number; span: number },
  over: boolean,
  open: Html,
): Html {
  const { kind, name, ok, duration_ms, started_at, model } = one;
  const from = (Date.parse(started_at) - first) / span;
  const timed = kind === "model" || kind === "tool";
  const colour = ok === false ? "fail" : timed ? kind : "other";
  const took = duration_ms === null ? open : timed || duration_ms > 0 ? duration(duration_ms) : "";
  const title = html`${kind} <strong>${name}</strong>${model === undefined || model === name ? "" : ` ${model}`}${ok === false ? html` <span class="bad">failed</span>` : ""}`;
  const to = duration_ms !== null ? from + duration_ms / span : over ? from : 1;
  const bar = lane(title, colour, { from, to }, took);
  return html`<li><details><summary>${bar}</summary>${stepDetails(one)}</details></li>
`;
}

function stepDetails(one: Trace["data"][number]): Html {
  const { started_at, input, output, thoughts, usage, cost_usd, stop_reason } = one;
  return html`<p class="dim">Began ${when(started_at)}${usage === undefined ? "" : `, ${count(usage.input_tokens)} tokens in, ${count(usage.cache_read_tokens)} read from the cache, ${count(usage.output_tokens)} out`}${cost_usd === undefined ? "" : `, ${money(cost_usd)}`}${stop_reason == null ? "" : `, ended by ${stop_reason}`}</p>
${thoughts === undefined ? "" : folded("Thoughts", thoughts)}
${input === undefined ? "" : html`<h3>Input</h3><pre tabindex="0">${pretty(input)}</pre>`}${output === undefined ? "" : html`<h3>Output</h3><pre tabindex="0">${pretty(output)}</pre>`}`;
}

/** The run's events, for the page's script. */
export async function runEvents(api: Api, id: string): Promise<Response> {
  const query = { after: api.url.searchParams.get("after") };
  const session = await sessionOf(api, id);
  return session === null
    ? api.ask("getExecutionEvents", { params: { id }, query })
    : api.ask("followRun", { params: { id: session, run: id }, query });
}

/** The answers of its session's models and tools, as a file. */
export async function runCassette(api: Api, id: string): Promise<Response> {
  const session = await sessionOf(api, id);
  return download(await api.ask("getCassette", { params: { id: session ?? id } }), `${id}.cassette.json`);
}

/** The answer of a call as a file, of any type. */
export async function runAnswer(api: Api, id: string): Promise<Response> {
  const answer = await api.ask("getExecutionResult", { params: { id } });
  const headers = new Headers({ "x-content-type-options": "nosniff", "cache-control": "no-store" });
  headers.set("content-type", answer.headers.get("content-type") ?? "application/octet-stream");
  // Keeps the file's name if the skill gave one.
  const named = /filename[^,]*$/i.exec(answer.headers.get("content-disposition") ?? "")?.[0];
  headers.set("content-disposition", `attachment; ${named ?? `filename="${id}"`}`);
  return new Response(answer.body, { headers });
}

/** The run as a case of a skill's `evals/evals.json`: its prompt and its answer. */
export async function runEval(api: Api, id: string): Promise<Response> {
  const run = await unless404(asked(api, "getIndexedRun", { params: { id } }));
  const { data, text } = await stepsOf(api, run ?? { id, session: null }, { limit: "1" });
  const one = {
    id: 1,
    prompt: promptText(data[0]?.input),
    expected_output: text ?? "",
    files: [],
    expectations: [],
  };
  const cases = { skill_name: run?.name ?? null, evals: [one] };
  return download(Response.json(cases, { headers: { "cache-control": "no-store" } }), `${id}.evals.json`);
}

const spoken = z.union([z.string(), z.array(z.looseObject({ text: z.optional(z.string()) }))]);
const messages = z.array(z.looseObject({ role: z.string(), content: spoken }));

/** The text of a prompt: a text, or the texts of its messages. */
function promptText(prompt: unknown): string {
  const read = messages.safeParse(prompt);
  if (!read.success) return pretty(prompt);
  const texts = read.data.flatMap(({ content }) =>
    typeof content === "string"
      ? [content]
      : content.flatMap(({ text }) => (text === undefined ? [] : [text])),
  );
  return texts.join("\n");
}

export async function cancelRun(api: Api, _: FormData, id: string): Promise<Response> {
  const session = await sessionOf(api, id);
  if (session === null) {
    // If the call has ended, the operation would remove it.
    const { status } = await asked(api, "getExecution", { params: { id } });
    if (status === "running") await api.ask("deleteExecution", { params: { id } });
  } else await api.ask("cancelRun", { params: { id: session, run: id }, json: {} });
  return seeOther(`/console/runs/${id}`);
}

/** The session of a run; `null`: it has none, or is not listed yet. */
async function sessionOf(api: Api, id: string): Promise<string | null> {
  const run = await unless404(asked(api, "getIndexedRun", { params: { id } }));
  return run?.session ?? null;
}
