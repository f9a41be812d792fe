/**
 * The OpenAPI operations of one skill. The Worker uses this file for uploads: it imports none of the fixed routes,
 * schemas and problems, which the published document already contains.
 */
import { embeddedSchema } from "../skill/json-schema.ts";
import type { Json, JsonObject, Manifest, Mode } from "../skill/manifest.ts";
import { isTextType, mediaTypeOf } from "../skill/media.ts";
import type { Components } from "./components.ts";
import { answer, BINARY, FILE_IDS, problems, ref, runHeaders, TEXT } from "./openapi-parts.ts";

/** Statuses that any skill's route can answer. */
const ALWAYS = [401, 403, 404, 405, 429, 500, 503];
/** Additional statuses of reading a body. */
const BODY = [400, 408, 413, 415, 422];
/** Additional statuses of each mode. */
const BY_MODE: { [mode in Mode]: number[] } = {
  script: [406, 409, 502, 504],
  llm: [402, 406, 409, 502, 504],
  proxy: [502, 504],
  "static-file": [406, 416],
};

const RAW_TEXT = ["text/*", "application/xml", "application/yaml", "application/x-www-form-urlencoded"];
const FIELDS = ["text", "input", "prompt"];

/** The operations at a skill's route, by method in lower case. HEAD and OPTIONS follow from them. */
export function skillOperations(manifest: Manifest, components: Components): JsonObject {
  const methods = manifest.mode === "static-file" ? ["get", "post"] : [manifest.method.toLowerCase()];
  const runs = methods.map((method, n) => [method, runOperation(manifest, method, n, components)]);
  const item: JsonObject = Object.fromEntries(runs);
  return methods.includes("get") ? item : { get: cardOperation(manifest, components), ...item };
}

function cardOperation({ slug }: Manifest, components: Components): JsonObject {
  const responses = components.once("card", () => ({
    200: ref("responses", "Card"),
    304: ref("responses", "NotModified"),
    ...problems([401, 403, 404, 500, 503]),
  }));
  return { operationId: `card_${identifier(slug)}`, tags: ["skills"], summary: "Card", responses };
}

function runOperation(manifest: Manifest, method: string, n: number, components: Components): JsonObject {
  const { name, slug, description, mode } = manifest;
  const body = method === "get" ? null : requestBody(manifest, components);
  const parameters = parametersOf(manifest, method);
  const faults = [...parameterFaults(manifest), ...inputFaults(manifest, body !== null)];
  const mayFail = [...new Set([...ALWAYS, ...BY_MODE[mode], ...faults])];
  // Most skills of a deployment have equal answers.
  const kind = [
    mode,
    method,
    manifest.output,
    manifest.output_mime,
    manifest.serve && fileType(manifest),
    mayFail,
  ];
  const responses = components.once(JSON.stringify(kind), () => ({
    ...answers(manifest, method, components),
    ...problems(mayFail),
  }));
  return {
    operationId: `${n === 0 ? "run" : method}_${identifier(slug)}`,
    tags: ["skills"],
    summary: name,
    description,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === null ? {} : { requestBody: body }),
    responses,
  };
}

function inputFaults({ mode, input }: Manifest, hasBody: boolean): number[] {
  if (mode === "proxy") return hasBody ? [408, 413, ...(input === "file" ? [415] : [])] : [];
  if (hasBody) return BODY;
  return input === "none" ? [] : [422];
}

/** A wrong `stream` or `Idempotency-Key` is a 400. */
const parameterFaults = (manifest: Manifest): number[] =>
  streams(manifest) || durable(manifest.mode) ? [400] : [];

/** Slugs contain no `_`, so identifiers stay distinct. */
const identifier = (slug: string): string => slug.replaceAll("-", "_");

function parametersOf(manifest: Manifest, method: string): JsonObject[] {
  const { mode, input } = manifest;
  const names: string[] = [];
  if (mode === "static-file") names.push(...(method === "get" ? ["if-none-match", "range", "if-range"] : []));
  else if (mode === "proxy") names.push("query");
  else if (method === "get" && input === "text") names.push("input", "q", "text", "prompt");
  else if (mayBeFile(manifest)) names.push("prompt-of-file");
  if (streams(manifest)) names.push("stream");
  if (durable(mode)) names.push("idempotency-key", "prefer");
  if (mode === "llm") names.push("session_id", "file", "x-hull-bot");
  return names.map((name) => ref("parameters", name));
}

/**
 * Whether a text body may be any file instead: the model has workspace tools to read it, unless the deployment removes
 * them.
 */
const mayBeFile = ({ mode, input, input_schema }: Manifest): boolean =>
  mode === "llm" && input === "text" && input_schema === undefined;

/** Whether calls can be idempotent and asynchronous. */
const durable = (mode: Mode): boolean => mode === "script" || mode === "llm";

/** Whether the answer is available as events: text and JSON output, textual files. */
function streams(manifest: Manifest): boolean {
  if (manifest.mode === "proxy") return false;
  if (manifest.mode === "static-file") return isTextType(fileType(manifest));
  return manifest.mode === "llm" || manifest.output !== "file";
}

const fileType = ({ output_mime, serve }: Manifest): string => output_mime ?? mediaTypeOf(serve ?? "");

function requestBody(manifest: Manifest, components: Components): JsonObject | null {
  const { mode, input, input_schema, slug } = manifest;
  if (mode === "static-file") return null;
  if (input === "none") return null;
  if (mode === "proxy") return components.ref("requestBodies", "any", { content: { "*/*": {} } });
  if (input === "file") return fileBody(manifest, components);
  if (mayBeFile(manifest))
    return components.once("llm body", () => components.ref("requestBodies", "text.llm", llmBody()));
  if (input_schema === undefined)
    return components.once("text body", () => components.ref("requestBodies", "text", textBody(false)));
  const embedded = embeddedSchema(input_schema, `urn:hull:input-schema:${slug}`);
  const schema = embedded === null ? {} : components.ref("schemas", `input.${slug}`, embedded);
  const envelope: JsonObject = {
    type: "object",
    required: ["input"],
    properties: { input: schema, files: FILE_IDS },
    additionalProperties: false,
  };
  return { required: true, content: { "application/json": { schema: envelope } } };
}

function textBody(inSession: boolean): { description: string; content: JsonObject } {
  const content: JsonObject = {
    "text/plain": { schema: TEXT },
    "application/json": { schema: { oneOf: [TEXT, ref("schemas", "Envelope")] } },
    "multipart/form-data": { schema: form("Text in one of the named fields, and files.", inSession) },
  };
  for (const type of RAW_TEXT) content[type] = { schema: TEXT };
  return { description: "Text. Forms are taken as they stand, not decoded.", content };
}

function llmBody(): JsonObject {
  const { description, content } = textBody(true);
  const file = "Any other type is a file, of a skill whose model has workspace tools.";
  return { description: `${description} ${file}`, content: { ...content, "*/*": { schema: BINARY } } };
}

function fileBody({ mode, input_mime }: Manifest, components: Components): JsonObject {
  const types = input_mime.length === 0 ? ["*/*"] : input_mime;
  const content: JsonObject = Object.fromEntries(types.map((type) => [type, { schema: BINARY }]));
  content["multipart/form-data"] = {
    schema: form("Every file part is kept; the first is the main one.", mode === "llm"),
  };
  // If JSON is accepted as a file, any other JSON is one.
  const names = ref("schemas", "FileNames");
  const isFile = types.some((type) => ["*/*", "application/*", "application/json"].includes(type));
  content["application/json"] = { schema: isFile ? { anyOf: [names, {}] } : names };
  const own = mode === "llm" ? ["llm"] : [];
  const name = ["file", ...own, ...input_mime.map(componentName)].join(".");
  return components.ref("requestBodies", name, { required: true, description: "A file", content });
}

/** @param inSession whether it may name the session of the call */
function form(description: string, inSession: boolean): JsonObject {
  const names = inSession ? [...FIELDS, "session_id"] : FIELDS;
  const fields = Object.fromEntries(names.map((name) => [name, TEXT]));
  return {
    type: "object",
    description,
    properties: { ...fields, file: BINARY },
    additionalProperties: BINARY,
  };
}

const componentName = (mediaType: string): string => mediaType.replace(/[^A-Za-z0-9._-]+/g, "-");

function answers(manifest: Manifest, method: string, components: Components): JsonObject {
  const { mode, output, output_mime } = manifest;
  if (mode === "proxy") return { default: ref("responses", "Upstream") };
  if (mode === "static-file") return fileAnswers(manifest, method, components);
  const content: { [type: string]: Json } = {};
  if (output === "text") {
    content[output_mime ?? "text/plain"] = { schema: TEXT };
    if (mode === "script" && output_mime === undefined)
      content["application/octet-stream"] = { schema: BINARY };
  } else if (output === "json") {
    content[output_mime ?? "application/json"] = { schema: {} };
  } else if (mode === "llm") {
    content[output_mime ?? "text/plain"] = { schema: output_mime === undefined ? TEXT : BINARY };
  } else {
    content["application/json"] = { schema: ref("schemas", "Files") };
    content[output_mime ?? "*/*"] = output_mime === "application/json" ? {} : { schema: BINARY };
  }
  if (mode === "llm") {
    // If the model has workspace tools, the caller may ask for the files that it made.
    content["application/json"] ??= { schema: ref("schemas", "TextWithFiles") };
    content["multipart/mixed"] = { schema: BINARY };
    content["*/*"] = { schema: BINARY };
  }
  if (streams(manifest)) content["text/event-stream"] = { schema: ref("schemas", "Events") };
  const headers =
    mode === "llm"
      ? runHeaders("x-hull-finish-reason", "x-hull-usage", "x-hull-warnings", "x-hull-files")
      : runHeaders(...(output === "file" ? ["content-disposition", "x-hull-note"] : []));
  const name = [mode, output, ...(output_mime === undefined ? [] : [componentName(output_mime)])].join(".");
  return {
    200: components.ref("responses", name, answer("The skill's answer", content, headers)),
    202: ref("responses", "Accepted"),
  };
}

function fileAnswers(manifest: Manifest, method: string, components: Components): JsonObject {
  const type = fileType(manifest);
  const content: { [type: string]: Json } = { [type]: { schema: isTextType(type) ? TEXT : BINARY } };
  const name = `static-file.${componentName(type)}`;
  const part =
    method === "get"
      ? {
          206: components.ref(
            "responses",
            `${name}.part`,
            answer("A range of the file", { ...content }, runHeaders("etag", "content-disposition")),
          ),
        }
      : {};
  if (streams(manifest)) content["text/event-stream"] = { schema: ref("schemas", "Events") };
  const whole = answer("The file", content, runHeaders("etag", "content-disposition"));
  return {
    200: components.ref("responses", name, whole),
    ...part,
    ...(method === "get" ? { 304: ref("responses", "NotModified") } : {}),
  };
}
