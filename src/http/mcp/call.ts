/** `tools/call`: runs a skill as `POST /skills/{slug}` does. */

import { base64OrNull } from "../../bytes.ts";
import { InputInvalid, InputRequired } from "../../errors/request.ts";
import { type HullError, isFault, toHullError } from "../../errors.ts";
import { takesAnyFile } from "../../run/agent/workspace-option.ts";
import { logError } from "../../run/problem.ts";
import { asJson, isObject } from "../../skill/json.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import type { Json, JsonObject, Manifest } from "../../skill/manifest.ts";
import type { RequestContext } from "../context.ts";
import { checkMembers } from "../skills/input.ts";
import { runSkill, type Watch } from "../skills/run.ts";
import { callHandlerTool } from "./call-handler.ts";
import { contentOf, producedContents } from "./content.ts";
import type { Exchange } from "./exchange.ts";
import { FAULT_CODES, fault, invalidParams, type Outcome } from "./message.ts";
import { type Named, takesWhole, toolNamed } from "./tools.ts";

/** Headers of the call to Hull that do not belong to the call of the skill. */
const OWN_HEADERS =
  /^(?:content-.*|transfer-encoding|accept|prefer|range|if-.*|last-event-id|mcp-.*|connection|expect)$/;
/** Headers of an answer that a result keeps in its `_meta`. */
const KEPT_HEADERS = [
  "x-hull-execution-id",
  "x-hull-usage",
  "x-hull-finish-reason",
  "x-hull-replayed",
  "x-hull-stale",
  "x-hull-warnings",
];

/** Calls a tool. An unknown name is a fault of the protocol; any other failure is a fault of the tool. */
export async function callTool(
  exchange: Exchange,
  params: JsonObject,
  watch: Watch | null,
): Promise<Outcome> {
  const { name, arguments: given = {} } = params;
  if (typeof name !== "string") return invalidParams("tools/call takes the name of a tool.");
  if (!isObject(given)) return invalidParams("The arguments of a tool are an object.");
  const named = await toolNamed(exchange, name);
  if (named === null) return invalidParams(`Unknown tool: ${name}`);
  exchange.context.log.tool = name;
  try {
    const { record, tool } = named;
    if (tool === null) return await run(exchange, named, given, watch);
    return { result: await callHandlerTool(exchange, { record, tool }, given, watch) };
  } catch (thrown) {
    return failed(exchange.context, toHullError(thrown));
  }
}

/** The outcome of a failed call. A fault of Hull is a fault of the protocol; a model can act on any other. */
function failed(context: RequestContext, error: HullError): Outcome {
  logError(error, context);
  if (isFault(error)) return fault(FAULT_CODES.internal, error.data.detail);
  const { title, detail, members } = error.data;
  const problem = { code: error.code, ...members };
  const text = [`${title}: ${detail}`, ...furtherText(members)].join("\n");
  const _meta = { ...keptOf(new Headers(context.runHeaders)), problem };
  const shown = { content: [{ type: "text", text }], isError: true, _meta };
  return { result: asJson(context.redacted(shown)) };
}

function keptOf(headers: Headers): JsonObject {
  const kept: JsonObject = {};
  for (const name of KEPT_HEADERS) {
    const value = headers.get(name);
    if (value !== null) kept[name] = value;
  }
  return kept;
}

/** Facts that help a model to correct its call: where an input was wrong, and what a process wrote. */
function furtherText({ errors, stderr }: Record<string, unknown>): string[] {
  const list = Array.isArray(errors) ? [JSON.stringify(errors)] : [];
  return typeof stderr === "string" && stderr.trim() !== "" ? [...list, stderr.trim()] : list;
}

async function run(
  exchange: Exchange,
  { card, record }: Named,
  given: JsonObject,
  watch: Watch | null,
): Promise<Outcome> {
  const { manifest } = record;
  const { context } = exchange;
  const called = context.within(skillRequest(exchange, manifest, given, takesAnyFile(context, record)));
  let response: Response;
  try {
    response = await runSkill(called, card, watch);
  } catch (thrown) {
    return failed(called, toHullError(thrown));
  }
  const file = manifest.output === "file";
  const content = await contentOf(exchange, response, manifest.mode === "script" && file);
  const made = await producedContents(exchange, response.headers.get("x-hull-files") ?? "", file);
  // An upstream's own refusal counts as the answer of its proxy skill.
  const failure = response.status >= 400 ? { isError: true } : {};
  return { result: { content: [...content, ...made], ...failure, _meta: keptOf(response.headers) } };
}

/** The request for these arguments. @throws InputInvalid, InputRequired */
function skillRequest(
  { context, signal, written }: Exchange,
  manifest: Manifest,
  given: JsonObject,
  anyFile: boolean,
): Request {
  const { route, method } = manifest;
  const url = new URL(route, context.request.url);
  const headers = new Headers([...context.request.headers].filter(([name]) => !OWN_HEADERS.test(name)));
  headers.set("accept", "*/*");
  const sent = bodyOf(manifest, given, written, anyFile);
  if (method === "GET") {
    for (const [name, value] of sent.query) url.searchParams.set(name, value);
    return new Request(url, { method, headers, signal });
  }
  if (sent.type !== null) headers.set("content-type", sent.type);
  return new Request(url, { method, headers, signal, ...(sent.body === null ? {} : { body: sent.body }) });
}

interface Sent {
  body: string | FormData | Uint8Array<ArrayBuffer> | null;
  /** `null`: the body determines it. */
  type: string | null;
  /** The input as a query. */
  query: [string, string][];
}

const JSON_TYPE = "application/json";

/** @param anyFile the skill accepts files in addition to its input */
function bodyOf(manifest: Manifest, given: JsonObject, written: Exchange["written"], anyFile: boolean): Sent {
  const { input, input_schema, mode } = manifest;
  if (input === "none") return { body: null, type: null, query: [] };
  const whole = input_schema !== undefined && takesWhole(input_schema);
  const names = input === "file" || anyFile ? ["input", "files"] : ["input"];
  if (!whole) checkMembers(given, names, "argument");
  const value = whole ? given : given.input;
  if (input === "file" || (anyFile && !whole && given.files !== undefined)) return filesOf(manifest, given);
  if (value === undefined || value === null) throw new InputRequired({ hint: 'Give the argument "input".' });
  const json = whole ? written(value) : written(value, "input");
  const text = typeof value === "string" ? value : json;
  const query: [string, string][] = whole
    ? Object.entries(given).map(([name, part]) => [
        name,
        typeof part === "string" ? part : written(part, name),
      ])
    : [["input", text]];
  // A proxy skill passes a body on unchanged; other skills take it in an envelope.
  if (mode !== "proxy") return { body: `{"input":${json}}`, type: JSON_TYPE, query: [["input", text]] };
  return {
    body: text,
    type: parsedJson(text) !== undefined ? JSON_TYPE : "text/plain; charset=utf-8",
    query,
  };
}

/**
 * The files of a call. Files named by id travel as JSON; files in the call itself travel as a form, or to an upstream
 * directly.
 */
function filesOf({ mode, input: takes }: Manifest, { files, input }: JsonObject): Sent {
  if (!Array.isArray(files) || files.length === 0) throw invalidFiles("is a list of one file or more");
  if (files.every((file) => typeof file === "string")) {
    if (takes === "file" && input !== undefined)
      throw invalidFiles("with their contents can be sent together with text, ids cannot");
    return { body: JSON.stringify({ input, files }), type: JSON_TYPE, query: [] };
  }
  const contents = files.map(fileOf);
  const [only] = contents;
  if (mode === "proxy" && only !== undefined && contents.length === 1) {
    return { body: only.bytes, type: only.type, query: [] };
  }
  const form = new FormData();
  if (typeof input === "string") form.append("input", input);
  for (const { bytes, type, filename } of contents) {
    form.append("files", new File([bytes], filename ?? "file", { type }));
  }
  return { body: form, type: null, query: [] };
}

function fileOf(file: Json): { bytes: Uint8Array<ArrayBuffer>; type: string; filename: string | null } {
  if (!isObject(file)) throw invalidFiles("are all ids, or all contents");
  const { mime_type, data, filename = null } = file;
  const named = filename === null || typeof filename === "string";
  if (typeof mime_type !== "string" || typeof data !== "string" || !named) {
    throw invalidFiles("have a mime_type, data in Base64 and a filename");
  }
  const bytes = base64OrNull(data);
  if (bytes === null) throw invalidFiles("have data in Base64");
  return { bytes, type: mime_type, filename };
}

function invalidFiles(what: string): HullError {
  return new InputInvalid({ reason: `"files" ${what}.`, errors: [{ path: "files", message: what }] });
}
