/** `/console/skills/{slug}`: one skill, how to call it, and a form to try it. */

import { html } from "hono/html";
import * as z from "zod/mini";
import type { Card, Versions } from "../../typed/client/api.d.ts";
import { toBase64 } from "../bytes.ts";
import { counted } from "../plural.ts";
import { parsedJson } from "../skill/json-depth.ts";
import { placeText } from "../skill/tree.ts";
import { type Api, asked } from "./api.ts";
import { jsonOf, textOf } from "./fields.ts";
import { form, ownFields, type Page, seeOther, shownPage } from "./layout.ts";
import { runTable } from "./runs-page.ts";
import { configForms } from "./skill-config.ts";
import { facts, numbers, table } from "./table.ts";
import { duration, folded, type Html, pretty, size, when } from "./text.ts";

const maybe = z.optional;
export async function skillPage(api: Api, slug: string): Promise<Page> {
  const params = { slug };
  const [shown, known, runs, configured] = await Promise.all([
    asked(api, "getCard", { params }),
    asked(api, "listVersions", { params, query: { limit: "10" } }),
    asked(api, "listAllRuns", { query: { name: slug, limit: "10" } }),
    configForms(api, slug),
  ]);
  return {
    title: shown.name,
    body: html`<h1><bdi>${shown.name}</bdi></h1><p dir="auto">${shown.description}</p>
${shown.stale === true ? staleNote(shown) : ""}
${facts([
  [
    "Mode",
    `${shown.mode}${shown.daemon === true ? ", with a daemon" : ""}${shown.agent === true ? ", an agent" : ""}`,
  ],
  ["Route", html`<code>${shown.method} ${shown.route}</code>`],
  ["Takes", `${shown.input}${shown.inputMime === undefined ? "" : ` (${shown.inputMime.join(", ")})`}`],
  ["Answers", shown.output],
  ["Version", html`<code>${shown.version.slice(0, 12)}</code>`],
  signed(shown),
])}
<h2>Try it</h2>${tryForm(api, shown)}
${toolTable(shown)}${fileList(shown)}${findings(shown)}
${configured}
<h2>Call it</h2>${calls(api, shown)}
${shown.doc === undefined || shown.doc.trim() === "" ? "" : html`<h2>Documentation</h2><pre tabindex="0" dir="auto">${shown.doc}</pre>`}
<h2>Last runs</h2>${runs.data.length === 0 ? html`<p>None in 30 days.</p>` : runTable(api, runs.data)}
<h2>Versions</h2>${versionList(api, shown, known.data)}`,
  };
}

/** Why the last good version of a folder is served. A caller who may publish sees the first error of the folder. */
function staleNote({ diagnostics = [] }: Card): Html {
  const first = diagnostics.find(({ level }) => level === "error");
  const why =
    first === undefined
      ? html`<code>hull validate</code> says what is wrong.`
      : html`<code>${placeText(first.file, first)}</code> ${first.message}`;
  return html`<p class="note wait">The folder is broken, so its last good version is served. ${why}</p>`;
}

/** Each version of an upload can be served again. */
function versionList(api: Api, { slug, version, uploaded }: Card, all: Versions["data"]): Html {
  const again = (digest: string): Html | "" =>
    uploaded === true && digest !== version && api.may("publish")
      ? form(
          api,
          `/console/skills/${slug}/versions/${digest}`,
          html`<button aria-label="Serve the version ${digest.slice(0, 12)} again">Serve it again</button>`,
          "inline",
        )
      : "";
  return html`<ul>${all.map(({ digest, published_at, current }) => html`<li><code>${digest.slice(0, 12)}</code> ${when(published_at)}${current ? html` <span class="state good">served</span>` : ""} ${again(digest)}</li>`)}</ul>
${uploaded === true ? "" : html`<p class="dim"><code>hull publish --rollback</code> serves the previous catalog again, with all skills as they were.</p>`}`;
}

/** Serves an earlier version of an upload again. */
export async function rollBack(api: Api, _: FormData, slug: string, digest: string): Promise<Response> {
  await api.ask("putSkill", { params: { slug }, json: { digest } });
  return seeOther(`/console/skills/${slug}`);
}

function signed({ signature }: Card): [name: string, value: Html] | null {
  if (signature === undefined) return null;
  const { signer = "", trusted } = signature;
  return ["Signed by", html`<code>${signer}</code>${trusted ? "" : ", who is not a trusted signer"}`];
}

/** A form for the skill's input. It is sent as `multipart/form-data`, since it may hold files. */
function tryForm(api: Api, card: Card): Html {
  // The upstream of a proxy gets the query unchanged.
  const query =
    card.mode === "proxy"
      ? html`<label for="query">Query</label><input id="query" name="query" placeholder="q=Paris&amp;lang=en">`
      : "";
  return html`<form method="post" action="/console/skills/${card.slug}/try" enctype="multipart/form-data" data-once>${ownFields(api)}${query}${inputFields(card)}<p><button class="main">Run</button></p></form>`;
}

function inputFields({ mode, method, input, input_schema, inputMime }: Card): Html | "" {
  const reads = method === "GET";
  if (mode === "proxy" && reads) return "";
  if (input === "none") return html`<p class="dim">It takes no input.</p>`;
  const file = html`<label for="files">${input === "file" ? "File" : "Files"}</label><input id="files" name="files" type="file" multiple accept="${(inputMime ?? []).join(",")}"${input === "file" ? " required" : ""}>`;
  if (input === "file") return file;
  if (input_schema !== undefined)
    return html`<label for="json">Input as JSON</label><textarea id="json" name="json" class="code" spellcheck="false">${pretty(sample(input_schema))}</textarea>${folded("Its schema", input_schema)}`;
  const text = html`<label for="text">Input</label><textarea id="text" name="text" dir="auto"></textarea>`;
  return reads ? text : html`${text}${file}`;
}

const schemaShape = z.looseObject({
  type: maybe(z.unknown()),
  default: maybe(z.unknown()),
  enum: maybe(z.array(z.unknown())),
  examples: maybe(z.array(z.unknown())),
  properties: maybe(z.record(z.string(), z.unknown())),
});

/** An initial value, with the members that a schema names. */
function sample(schema: unknown, depth = 0): unknown {
  const read = schemaShape.safeParse(schema);
  if (!read.success || depth > 4) return null;
  const { type, default: usual, enum: choices, examples, properties } = read.data;
  const [example] = examples ?? choices ?? [];
  if (usual !== undefined) return usual;
  if (example !== undefined) return example;
  if (properties !== undefined) {
    return Object.fromEntries(
      Object.entries(properties).map(([name, part]) => [name, sample(part, depth + 1)]),
    );
  }
  const kind = Array.isArray(type) ? type[0] : type;
  if (kind === "string") return "";
  if (kind === "integer" || kind === "number") return 0;
  if (kind === "boolean") return false;
  if (kind === "array") return [];
  return kind === "object" ? {} : null;
}

/** Makes the request for the skill's own route from the form. A run that can outlive its connection gets its own page. */
export async function trySkill(api: Api, fields: FormData, slug: string): Promise<Response> {
  const shown = await asked(api, "getCard", { params: { slug } });
  const answer = await api.callSkill(slug, {
    ...inputOf(shown, fields),
    headers: { prefer: "respond-async", ...jsonType(shown) },
  });
  const id = answer.headers.get("x-hull-execution-id");
  if (answer.status === 202 && id !== null) {
    await answer.body?.cancel();
    return seeOther(`/console/runs/${id}`);
  }
  return shownPage(api, {
    title: `Answer of ${shown.name}`,
    body: html`<h1>Answer of <a href="/console/skills/${slug}">${shown.name}</a></h1>
<p class="dim">Status ${answer.status}, ${answer.headers.get("content-type") ?? "no type"}, ${duration(Number(answer.headers.get("x-hull-duration-ms") ?? Number.NaN) || null)}</p>
${await answerShown(answer)}`,
  });
}

function jsonType({ input_schema, input }: Card): Record<string, string> {
  return input_schema === undefined || input === "none" ? {} : { "content-type": "application/json" };
}

function inputOf(card: Card, fields: FormData): { body?: BodyInit; query: URLSearchParams } {
  const { input, method } = card;
  const text = String(fields.get("text") ?? "");
  const query = new URLSearchParams(textOf(fields, "query"));
  if (input === "none") return { query };
  if (method !== "GET") return { ...bodyOf(card, fields, text), query };
  if (text !== "") query.set("input", text);
  return { query };
}

function bodyOf({ input, input_schema }: Card, fields: FormData, text: string): { body?: BodyInit } {
  // As the user typed it: a number in JavaScript loses digits.
  if (input_schema !== undefined)
    return { body: jsonOf(fields, "json") === undefined ? "{}" : `{"input":${textOf(fields, "json")}}` };
  const files = fields.getAll("files").filter((file) => typeof file !== "string" && file.size > 0);
  if (files.length === 0) return input === "file" ? {} : { body: text };
  const sent = new FormData();
  if (text !== "") sent.set("text", text);
  for (const file of files) if (typeof file !== "string") sent.append("files", file, file.name);
  return { body: sent };
}

/** Most characters of an answer on the page. */
const MAX_SHOWN = 200_000;

/** Most bytes of a file that the page itself holds. */
const MAX_LINKED = 2 * 1024 * 1024;

async function answerShown(answer: Response): Promise<Html> {
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const type = answer.headers.get("content-type") ?? "";
  if (!/^text\/|json|xml|javascript/.test(type)) {
    const shown =
      bytes.length <= MAX_LINKED
        ? html`: <a href="data:${type === "" ? "application/octet-stream" : type};base64,${toBase64(bytes)}" download="answer">download them</a>`
        : ". Call the route to get them as a file";
    return html`<p>${size(bytes.length)} of binary data${shown}.</p>`;
  }
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_SHOWN));
  return html`<pre tabindex="0">${/json/.test(type) ? prettyText(text) : text}</pre>`;
}

/** JSON with line breaks; other text unchanged. */
function prettyText(text: string): string {
  const value = parsedJson(text);
  return value === undefined ? text : pretty(value);
}

/** The tools of its tools.json with their details, and the tools that SKILL.md declares, by their names. */
function toolTable({ tools = [], tool_details = [] }: Card): Html | "" {
  const detailed = new Set(tool_details.map(({ name }) => name));
  const others = tools.filter((name) => !detailed.has(name));
  if (tool_details.length === 0 && others.length === 0) return "";
  const rows = tool_details.map(
    ({ name, description = "", tier = "", tier_reason, risk = "", parameters }) => [
      html`<code>${name}</code>`,
      description,
      folded("Parameters", parameters),
      html`<span title="${tier_reason ?? ""}">${tier}</span>`,
      risk,
    ],
  );
  const what = { name: "What it does", as: "wide" } as const;
  return html`<h2>Tools</h2>${rows.length === 0 ? "" : table(["Tool", what, "Takes", "Runs in", "Risk"], rows)}${others.length === 0 ? "" : html`<p>${others.map((name) => html`<code>${name}</code> `)}</p>`}`;
}

function fileList({ files = [] }: Card): Html | "" {
  if (files.length === 0) return "";
  const rows = files.map(({ path, size: bytes }) => [path, size(bytes)]);
  return html`<h2>Files</h2><details><summary>${counted(files.length, "file")}</summary>${table(["File", numbers("Size")], rows)}</details>`;
}

function findings({ diagnostics = [] }: Card): Html | "" {
  if (diagnostics.length === 0) return "";
  return html`<h2>What the build found</h2><ul>${diagnostics.map(({ level, file, message, hint, ...at }) => html`<li><code>${placeText(file, at)}</code> ${level}: ${message}${hint === undefined ? "" : ` ${hint}`}</li>`)}</ul>`;
}

function calls(api: Api, { slug, method, route, input_schema, input }: Card): Html {
  const { origin } = api.url;
  const value = input_schema === undefined ? "Hello" : { input: sample(input_schema) };
  const body = typeof value === "string" ? value : JSON.stringify(value);
  const json = typeof value !== "string";
  const sends = method !== "GET" && input !== "none";
  const type = json ? ` -H 'content-type: application/json'` : "";
  const data = sends
    ? input === "file"
      ? " -F 'file=@your-file'"
      : `${type} -d '${body.replaceAll("'", "'\\''")}'`
    : "";
  const curl = `curl -X ${method} ${origin}${route} -H 'authorization: Bearer <key>'${data}`;
  const options = `{ method: "${method}", headers: { authorization: "Bearer <key>"${json ? ', "content-type": "application/json"' : ""} }${sends ? `, body: ${JSON.stringify(body)}` : ""} }`;
  const mcp = {
    mcpServers: {
      [api.name]: { type: "http", url: `${origin}/mcp`, headers: { authorization: "Bearer <key>" } },
    },
  };
  return html`<h3>curl</h3><pre id="curl" tabindex="0">${curl}</pre><button type="button" data-copy="curl">Copy</button>
<details><summary>fetch</summary><pre tabindex="0">${`const answer = await fetch("${origin}${route}", ${options});`}</pre></details>
${folded(`MCP: the tool ${slug}`, mcp)}`;
}
