/** `/console/sessions/{id}`: a conversation, its files and artifacts, and forms to change it. */
import { html } from "hono/html";
import * as z from "zod/mini";
import type { IndexedRun, Message, Session } from "../../typed/client/api.d.ts";
import { jsonShown } from "../bytes.ts";
import { BadRequest } from "../errors/request.ts";
import { RunInProgress } from "../errors/session.ts";
import { parsedJson } from "../skill/json-depth.ts";
import type { Answer } from "./answers.ts";
import { type Api, type Asked, asked } from "./api.ts";
import { checkSure, textOf, typedIn } from "./fields.ts";
import { form, ownFields, type Page, seeOther, sureField } from "./layout.ts";
import { firstOf, pageNote } from "./numbered-pages.ts";
import { stateLabel } from "./run-shapes.ts";
import { runTable } from "./runs-page.ts";
import { facts, numbers, table } from "./table.ts";
import { count, folded, type Html, mark, short, size, when } from "./text.ts";

/** Messages on one page. */
const MESSAGES = 50;

/** The last message on the page, where a browser continues after it has sent one. */
const LAST = "last";

export async function sessionPage(api: Api, id: string): Promise<Page> {
  const params = { id };
  const shown = await asked(api, "getSession", { params });
  const list = { length: shown.length, most: MESSAGES };
  const from = firstOf(api, list);
  const [said, stored, made, runs] = await Promise.all([
    asked(api, "listMessages", { params, query: { limit: String(MESSAGES), cursor: String(from) } }),
    asked(api, "listSessionFiles", { params, query: { limit: "100" } }),
    asked(api, "listArtifacts", { params, query: { limit: "100" } }),
    asked(api, "listAllRuns", { query: { session: id, limit: "10" } }),
  ]);
  const { run } = shown;
  return {
    title: `Session ${id}`,
    body: html`<h1>Session <code>${id}</code></h1>
<div id="state" data-refresh="5000" data-mark="${mark(JSON.stringify(shown))}"><p>${stateLabel(shown.state)}${run === null ? "" : html` ${stateLabel(run.status)} <a href="/console/runs/${run.run_id}">current run</a>`}</p>
${facts([
  ["Opened", when(shown.created_at)],
  ["Changed", when(shown.updated_at)],
  ["Messages", count(shown.length)],
  ["Events", html`<a href="/console/sessions/${id}/events">${count(shown.last_event)}</a>`],
  ...family(shown),
])}</div>
<h2>Conversation</h2>
${api.url.searchParams.get("compacted") === "nothing" ? html`<p class="note">Nothing was compacted: no message is older than those that a compaction keeps.</p>` : ""}${summaryOf(shown, said.data)}
${pageNote(api, "message", from, list)}
${shown.length === 0 ? html`<p>Nothing was said yet.</p>` : said.data.map((message, i) => messageShown(api, shown, message, from + i + 1))}
${run === null ? failureOf(runs.data) : live(api, id, run)}
${shown.state === "active" ? sayForm(api, id) : ""}
${runs.data.length === 0 ? "" : html`<h2>Last runs</h2>${runTable(api, runs.data)}`}
<h2>Files</h2>${fileTable(id, stored.data)}${stored.next_cursor === null ? "" : html`<p class="dim">The first 100 files; <code>GET /sessions/${id}/files</code> lists all.</p>`}${uploadForm(api, id)}
<h2>Artifacts</h2>${made.data.length === 0 ? html`<p>None. Tools make them for people to look at.</p>` : html`<ul>${made.data.map((one) => html`<li><a href="/console/sessions/${id}/artifacts/${encodeURIComponent(one.id)}"><bdi>${one.title}</bdi></a> ${one.type}, version ${one.version}, ${when(one.updated_at)}</li>`)}</ul>`}
<h2>Manage the session</h2>${changes(api, shown)}`,
  };
}

/** Says that messages were compacted, and into what, unless their summary is one of the messages that the page shows. */
function summaryOf({ summary }: Session, messages: readonly Message[]): Html | "" {
  if (summary === null) return "";
  const isShown = messages.some(({ content }) => typeof content === "string" && content.includes(summary));
  const text = isShown
    ? " Their summary is in their place."
    : html` Their summary:<pre tabindex="0" dir="auto">${summary}</pre>`;
  return html`<div class="note"><strong>Older messages were compacted.</strong>${text}</div>`;
}

/** Says that the last run failed: the conversation does not show it. */
function failureOf([last]: readonly IndexedRun[]): Html | "" {
  if (last === undefined || last.code === null || last.state === "cancelled") return "";
  return html`<p class="note bad">The last run failed: <code>${last.code}</code>. <a href="/console/runs/${last.id}">Open it</a>.</p>`;
}

function family({ parent_id, child_ids }: Session): ([name: string, value: Html] | null)[] {
  const link = (id: string) => html`<a href="/console/sessions/${id}">${id}</a> `;
  return [
    parent_id === null ? null : ["Forked from", link(parent_id)],
    child_ids.length === 0 ? null : ["Forks", html`${child_ids.map(link)}`],
  ];
}

const part = z.looseObject({
  type: z.optional(z.string()),
  text: z.optional(z.string()),
  name: z.optional(z.string()),
});

function messageShown(api: Api, { id, length }: Session, message: Message, number: number): Html {
  const { role, content } = message;
  const parts = Array.isArray(content) ? content : [content];
  const fork = form(
    api,
    `/console/sessions/${id}/fork`,
    html`<input type="hidden" name="keep_first" value="${number}"><button class="quiet" aria-label="Fork here, after message ${number}">Fork here</button>`,
    "inline",
  );
  const by =
    message.role === "tool" ? html`${role} <strong>${message.name ?? message.tool_call_id}</strong>` : role;
  const failed =
    message.role === "tool" && message.is_error === true ? html` <span class="bad">failed</span>` : "";
  const last = number === length ? html` id="${LAST}"` : "";
  return html`<article${last} class="say ${role}"><small><span>${number} ${by}${failed}</span>${fork}</small>${parts.map(partShown)}${message.role === "assistant" ? turnShown(message) : ""}</article>
`;
}

type AssistantMessage = Extract<Message, { role: "assistant" }>;

/** What else a turn of the model holds: its thoughts, its calls, and the blocks of other kinds. */
function turnShown({ blocks = [], tool_calls = [] }: AssistantMessage): Html {
  const thoughts = blocks.flatMap((block) => (block.type === "reasoning" ? [block.text] : [])).join("\n");
  const others = blocks.filter(({ type }) => !["output_text", "reasoning", "tool_call"].includes(type));
  const call = ({ name, arguments: given }: (typeof tool_calls)[number]): Html =>
    folded(html`Calls <strong>${name}</strong> <code>${short(jsonShown(given), 100)}</code>`, given);
  return html`${thoughts === "" ? "" : folded("Thoughts", thoughts)}${tool_calls.map(call)}${others.length === 0 ? "" : folded("More", others)}`;
}

/** A longer text scrolls. */
const LONG = 4000;

function partShown(given: unknown): Html {
  if (given === undefined || given === null) return html``;
  const read = part.safeParse(given);
  const { text = given, type = "part", name = "" } = read.success ? read.data : {};
  if (typeof text !== "string") return folded(`${type.replaceAll("_", " ")} ${name}`, given);
  return text.length > LONG
    ? html`<pre class="text" tabindex="0" dir="auto">${text}</pre>`
    : html`<p dir="auto">${text}</p>`;
}

function live(api: Api, id: string, { run_id, status }: { run_id: string; status: string }): Html {
  const stop = form(
    api,
    `/console/runs/${run_id}/cancel`,
    html`<button class="danger">Stop the run</button>`,
    "row",
  );
  const waits = status === "awaiting_approval";
  const decide = waits
    ? html`<p class="note wait">A call waits for you. <a id="decide" href="/console/approvals">Decide about it</a>.</p>`
    : "";
  return html`<div id="decision" data-refresh="5000" data-mark="${status}" data-say="${waits ? "A call waits for you." : ""}">${decide}</div><h3>Live</h3><ol class="flow" data-events="/console/sessions/${id}/runs/${run_id}/events" aria-live="polite"></ol>${stop}`;
}

function sayForm(api: Api, id: string): Html {
  return form(
    api,
    `/console/sessions/${id}/say`,
    html`<label for="prompt">Message</label><textarea id="prompt" name="prompt" dir="auto" required></textarea>
<details><summary>Options, if the message begins a run</summary><label for="options">As JSON, e.g. {"provider": "mock"}</label><textarea id="options" name="options" class="code" spellcheck="false"></textarea></details><p><button class="main">Send</button></p>`,
  );
}

function fileTable(id: string, all: Answer<"listSessionFiles">["data"]): Html {
  if (all.length === 0) return html`<p>None.</p>`;
  const rows = all.map(({ path, size: bytes, modified_at }) => [
    html`<a href="/console/sessions/${id}/files/${path.split("/").map(encodeURIComponent).join("/")}"><bdi>${path}</bdi></a>`,
    size(bytes),
    when(modified_at),
  ]);
  return table(["File", numbers("Size"), "Changed"], rows);
}

function uploadForm(api: Api, id: string): Html {
  return html`<form method="post" action="/console/sessions/${id}/files" enctype="multipart/form-data" class="row" data-once>${ownFields(api)}<div><label for="file">Add a file</label><input id="file" name="file" type="file" required></div><button>Upload</button></form>`;
}

function changes(api: Api, { id, state }: Session): Html {
  const button = (action: string, name: string) =>
    form(api, `/console/sessions/${id}/${action}`, html`<button>${name}</button>`, "inline");
  return html`<p>${state === "active" ? html`${button("compact", "Compact")} ${button("fork", "Fork")} ${button("archive", "Archive")}` : button("resume", "Make it active again")}</p>
${form(api, `/console/sessions/${id}/delete`, html`${sureField("To delete the session with all that it holds, type its id")}<button class="danger">Delete</button>`, "row")}`;
}

/**
 * Begins a run with the message as the prompt, or else sends it to the run under way, which has its options already. A form
 * that a browser sends again returns to the run that it began.
 */
export async function saySomething(api: Api, fields: FormData, id: string): Promise<Response> {
  const prompt = typedIn(fields, "prompt");
  const options = optionsOf(fields);
  const params = { id };
  try {
    await api.ask("startRun", { params, query: { wait: "none" }, json: { prompt, options } });
  } catch (error) {
    if (!RunInProgress.matches(error) || error.data.members.run_id === undefined) throw error;
    if (Object.keys(options).length > 0) throw new BadRequest({ detail: TOO_LATE });
    await api.ask("sendMessage", { params, json: { content: prompt } });
  }
  return seeOther(`/console/sessions/${id}#${LAST}`);
}

const TOO_LATE =
  "A run is under way, and takes no other options. Send the message without options, or after the run has ended.";

const optionsShape = z.record(z.string(), z.unknown());

function optionsOf(fields: FormData): Record<string, unknown> {
  const text = textOf(fields, "options");
  if (text === "") return {};
  const read = optionsShape.safeParse(parsedJson(text));
  if (read.success) return read.data;
  throw new BadRequest({ detail: 'The options of a run are a JSON object such as {"provider": "mock"}.' });
}

/** Forks the session, whole or with its first messages, and leads to the fork. */
export async function forkSession(api: Api, fields: FormData, id: string): Promise<Response> {
  const keep = textOf(fields, "keep_first");
  const params = { id };
  const fork =
    keep === ""
      ? await asked(api, "forkSession", { params, json: {} })
      : await asked(api, "forkSessionAt", { params, json: { keep_first: Number(keep) } });
  return seeOther(`/console/sessions/${fork.id}`);
}

export async function compactSession(api: Api, _: FormData, id: string): Promise<Response> {
  const page = `/console/sessions/${id}`;
  const { compacted } = await asked(api, "compactSession", { params: { id }, json: {} });
  return seeOther(compacted === null ? `${page}?compacted=nothing` : page);
}

/** Removes the session if the user typed its id. @throws BadRequest */
export async function deleteSession(api: Api, fields: FormData, id: string): Promise<Response> {
  checkSure(fields, id, "delete this session; nothing was deleted");
  await api.ask("deleteSession", { params: { id } });
  return seeOther("/console/sessions");
}

export async function uploadFile(api: Api, fields: FormData, id: string): Promise<Response> {
  const file = fields.get("file");
  if (file === null || typeof file === "string") throw new BadRequest({ detail: "The form holds no file." });
  const how: Asked = { params: { id, path: file.name }, body: file };
  await api.ask("putSessionFile", how);
  return seeOther(`/console/sessions/${id}`);
}

export const downloadFile = (api: Api, id: string, path: string): Promise<Response> =>
  api.ask("getSessionFile", { params: { id, path } });

/** Events of a run of the session, for the page's script. */
export const sessionRunEvents = (api: Api, id: string, run: string): Promise<Response> =>
  api.ask("followRun", { params: { id, run }, query: { after: api.url.searchParams.get("after") } });
