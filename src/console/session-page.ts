/** `/console/sessions/{id}`: a conversation, its files and artifacts, and forms to change it. */
import { html } from "hono/html";
import * as z from "zod/mini";
import { BadRequest } from "../errors/request.ts";
import type { PublicMessage } from "../llm/messages.ts";
import type { SessionView } from "../session/conversation/answers.ts";
import { parsedJson } from "../skill/json-depth.ts";
import type { Answers } from "./answers.ts";
import { type Api, type Asked, asked } from "./api.ts";
import { form, type Page, seeOther, tokenField } from "./layout.ts";
import { stateLabel } from "./run-shapes.ts";
import { runTable } from "./runs-page.ts";
import { count, type Html, pretty, size, when } from "./text.ts";

/** Messages on one page. */
const MESSAGES = 50;

export async function sessionPage(api: Api, id: string): Promise<Page> {
  const params = { id };
  const shown = await asked(api, "getSession", { params });
  const from = fromOf(api, shown);
  const [said, stored, made, runs] = await Promise.all([
    asked(api, "listMessages", {
      params,
      query: { limit: String(MESSAGES), cursor: String(from) },
    }),
    asked(api, "listSessionFiles", { params, query: { limit: "100" } }),
    asked(api, "listArtifacts", { params, query: { limit: "100" } }),
    asked(api, "listAllRuns", { query: { session: id, limit: "10" } }),
  ]);
  const { run } = shown;
  return {
    title: `Session ${id}`,
    body: html`<h1>Session <code>${id}</code></h1>
<p>${stateLabel(shown.state)}${run === null ? "" : html` ${stateLabel(run.status)} <a href="/console/runs/${run.run_id}">the run under way</a>`}</p>
<dl><dt>Opened</dt><dd>${when(shown.created_at)}</dd><dt>Changed</dt><dd>${when(shown.updated_at)}</dd><dt>Messages</dt><dd>${count(shown.length)}</dd><dt>Events</dt><dd><a href="/console/sessions/${id}/events">${count(shown.last_event)}</a></dd>${family(shown)}</dl>
<h2>Conversation</h2>
${shown.summary === null ? "" : html`<div class="note"><strong>Older messages were compacted.</strong> Their summary:<pre tabindex="0">${shown.summary}</pre></div>`}
${pages(api, shown, from)}
${said.data.length === 0 ? html`<p>Nothing was said yet.</p>` : said.data.map((message, i) => messageShown(api, id, message, from + i + 1))}
${run === null ? "" : live(api, id, run)}
${shown.state === "active" ? sayForm(api, id) : ""}
${runs.data.length === 0 ? "" : html`<h2>Last runs</h2>${runTable(api, runs.data)}`}
<h2>Files</h2>${fileTable(id, stored.data)}${stored.next_cursor === null ? "" : html`<p class="dim">The first 100 files; <code>GET /sessions/${id}/files</code> lists all.</p>`}${uploadForm(api, id)}
<h2>Artifacts</h2>${made.data.length === 0 ? html`<p>None. Tools make them for people to look at.</p>` : html`<ul>${made.data.map((one) => html`<li><a href="/console/sessions/${id}/artifacts/${encodeURIComponent(one.id)}">${one.title}</a> ${one.type}, version ${one.version}, ${when(one.updated_at)}</li>`)}</ul>`}
<h2>Change the session</h2>${changes(api, shown)}`,
  };
}

/** The first message of the page: that of the last messages, unless the query names another one. */
function fromOf(api: Api, { length }: SessionView): number {
  const asked = Number(api.url.searchParams.get("from") ?? Number.NaN);
  return Number.isSafeInteger(asked) && asked >= 0 ? asked : Math.max(0, length - MESSAGES);
}

function pages({ url }: Api, { length }: SessionView, from: number): Html | "" {
  if (length <= MESSAGES) return "";
  const to = (at: number, name: string) => html`<a href="${url.pathname}?from=${at}">${name}</a> `;
  return html`<p>Messages ${from + 1} to ${Math.min(length, from + MESSAGES)} of ${length}. ${from > 0 ? to(Math.max(0, from - MESSAGES), "Earlier") : ""}${from + MESSAGES < length ? to(from + MESSAGES, "Later") : ""}</p>`;
}

function family({ parent_id, child_ids }: SessionView): Html {
  const link = (id: string) => html`<a href="/console/sessions/${id}">${id}</a> `;
  return html`${parent_id === null ? "" : html`<dt>Forked from</dt><dd>${link(parent_id)}</dd>`}${child_ids.length === 0 ? "" : html`<dt>Forks</dt><dd>${child_ids.map(link)}</dd>`}`;
}

const part = z.looseObject({ type: z.optional(z.string()), text: z.optional(z.string()) });

function messageShown(api: Api, id: string, { role, content, ...rest }: PublicMessage, number: number): Html {
  const parts = Array.isArray(content) ? content : [content];
  const extra =
    Object.keys(rest).length === 0
      ? ""
      : html`<details><summary>More</summary><pre tabindex="0">${pretty(rest)}</pre></details>`;
  const fork = form(
    api,
    `/console/sessions/${id}/fork`,
    html`<input type="hidden" name="keep_first" value="${number}"><button aria-label="Fork here, after message ${number}">Fork here</button>`,
    "inline",
  );
  return html`<article class="say ${role}"><small>${number} ${role} ${fork}</small>${parts.map(partShown)}${extra}</article>
`;
}

function partShown(given: unknown): Html {
  if (typeof given === "string") return html`<p>${given}</p>`;
  const read = part.safeParse(given);
  const text = read.success ? read.data.text : undefined;
  if (text !== undefined) return html`<p>${text}</p>`;
  if (given === undefined || given === null) return html``;
  const name = read.success && typeof read.data.name === "string" ? read.data.name : "";
  return html`<details><summary>${read.success ? (read.data.type ?? "part").replaceAll("_", " ") : "part"} ${name}</summary><pre tabindex="0">${pretty(given)}</pre></details>`;
}

function live(api: Api, id: string, { run_id, status }: { run_id: string; status: string }): Html {
  const stop = form(
    api,
    `/console/runs/${run_id}/cancel`,
    html`<button class="danger">Stop the run</button>`,
    "row",
  );
  const decide =
    status === "awaiting_approval"
      ? html`<p class="note wait">A call waits for you. <a href="/console/approvals">Decide about it</a>.</p>`
      : "";
  return html`${decide}<h3>As it happens</h3><ol class="flow" data-events="/console/sessions/${id}/runs/${run_id}/events" aria-live="polite"></ol>${stop}`;
}

function sayForm(api: Api, id: string): Html {
  return form(
    api,
    `/console/sessions/${id}/say`,
    html`<label for="prompt">Say something</label><textarea id="prompt" name="prompt" required></textarea>
<details><summary>Options of the run</summary><label for="options">As JSON, e.g. {"provider": "mock"}</label><textarea id="options" name="options" class="code" spellcheck="false"></textarea></details><p><button class="main">Send</button></p>`,
  );
}

function fileTable(id: string, all: Answers["listSessionFiles"]["data"]): Html {
  if (all.length === 0) return html`<p>None.</p>`;
  const row = ({ path, size: bytes, modified_at }: (typeof all)[number]) =>
    html`<tr><td><a href="/console/sessions/${id}/files/${path.split("/").map(encodeURIComponent).join("/")}">${path}</a></td><td class="n">${size(bytes)}</td><td>${when(modified_at)}</td></tr>`;
  return html`<div class="scroll" tabindex="0"><table><thead><tr><th>File</th><th class="n">Size</th><th>Changed</th></tr></thead><tbody>${all.map(row)}</tbody></table></div>`;
}

function uploadForm(api: Api, id: string): Html {
  return html`<form method="post" action="/console/sessions/${id}/files" enctype="multipart/form-data" class="row" data-once>${tokenField(api)}<div><label for="file">Add a file</label><input id="file" name="file" type="file" required></div><button>Upload</button></form>`;
}

function changes(api: Api, { id, state }: SessionView): Html {
  const button = (action: string, name: string) =>
    form(api, `/console/sessions/${id}/${action}`, html`<button>${name}</button>`, "inline");
  return html`<p>${state === "active" ? html`${button("compact", "Compact")} ${button("fork", "Fork")} ${button("archive", "Archive")}` : button("resume", "Make it active again")}</p>
${form(api, `/console/sessions/${id}/delete`, html`<div><label for="sure">To delete the session with all that it holds, type its id</label><input id="sure" name="sure" autocomplete="off" required></div><button class="danger">Delete</button>`, "row")}`;
}

/** Sends a message to the run under way, or else begins a run with it as the prompt. */
export async function saySomething(api: Api, id: string): Promise<Response> {
  const fields = await api.form();
  const prompt = String(fields.get("prompt") ?? "");
  const { run } = await asked(api, "getSession", { params: { id } });
  const params = { id };
  if (run !== null) await api.ask("sendMessage", { params, json: { content: prompt } });
  else
    await api.ask("startRun", {
      params,
      query: { wait: "none" },
      json: { prompt, options: optionsOf(fields) },
    });
  return seeOther(`/console/sessions/${id}`);
}

const optionsShape = z.record(z.string(), z.unknown());

function optionsOf(fields: FormData): Record<string, unknown> {
  const text = String(fields.get("options") ?? "").trim();
  if (text === "") return {};
  const read = optionsShape.safeParse(parsedJson(text));
  if (read.success) return read.data;
  throw new BadRequest({ detail: 'The options of a run are a JSON object such as {"provider": "mock"}.' });
}

/** Forks the session, whole or with its first messages, and leads to the fork. */
export async function forkSession(api: Api, id: string): Promise<Response> {
  const keep = String((await api.form()).get("keep_first") ?? "");
  const params = { id };
  const fork =
    keep === ""
      ? await asked(api, "forkSession", { params, json: {} })
      : await asked(api, "forkSessionAt", { params, json: { keep_first: Number(keep) } });
  return seeOther(`/console/sessions/${fork.id}`);
}

const CHANGES = { compact: "compactSession", archive: "archiveSession", resume: "resumeSession" } as const;

/** Compacts, archives or resumes the session. */
export async function changeSession(api: Api, id: string, change: string): Promise<Response> {
  await api.form();
  const operation = change === "compact" || change === "archive" ? CHANGES[change] : CHANGES.resume;
  await api.ask(operation, { params: { id }, json: {} });
  return seeOther(`/console/sessions/${id}`);
}

/** Removes the session, if its id was typed in. @throws BadRequest */
export async function deleteSession(api: Api, id: string): Promise<Response> {
  const sure = String((await api.form()).get("sure") ?? "").trim();
  if (sure !== id)
    throw new BadRequest({ detail: `Type ${id} to delete this session; nothing was deleted.` });
  await api.ask("deleteSession", { params: { id } });
  return seeOther("/console/sessions");
}

export async function uploadFile(api: Api, id: string): Promise<Response> {
  const file = (await api.form()).get("file");
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
