/**
 * The meaning of the fields of SKILL.md and tools.json. Their types are in the tables of the readers; the compiler
 * requires a text here for each field. The tables of docs/ and the JSON Schemas for editors follow from it.
 */
import type { Field, Fields } from "../skill/field-kinds.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import {
  type FieldName,
  MANIFEST_FIELDS,
  type ManifestField,
  MCP_PROCESS_FIELDS,
  MCP_SERVER_FIELDS,
} from "../skill/manifest-fields.ts";
import { TOOL_FIELDS } from "../skill/tools-json/tool-fields.ts";
import { TEXT, TEXTS } from "./openapi-parts.ts";
import { wordsOf } from "./shape-schema.ts";

interface FieldText {
  text: string;
  /** The accepted values in words, if the kind does not say them. */
  takes?: string;
  /** The same as a schema. */
  schema?: JsonObject;
  /** The behaviour without it, if there is no fixed default. */
  otherwise?: string;
}

const CLIENT =
  "How another client runs the skill. Hull keeps it in the record; see [warnings](#fields-of-other-clients).";

const MANIFEST_TEXTS: { readonly [name in FieldName]: FieldText } = {
  name: { text: "Required. Hull makes the [slug](#slug-and-route) from it." },
  description: { text: "Required. One sentence for people and models." },
  mode: { text: "Lower case only; see [Modes](#modes).", otherwise: "by the other fields" },
  run: { text: "The command that each call starts.", takes: "command", schema: { anyOf: [TEXT, TEXTS] } },
  serve: { text: "A file inside the folder.", takes: "path" },
  proxy: {
    text: "http or https with a host, without a user name; `${VAR}` in path and query only.",
    takes: "URL",
  },
  proxy_url: { text: "Another name of `proxy`.", takes: "URL" },
  proxy_method: { text: "The method of the call to the upstream.", otherwise: "the call's own" },
  headers: {
    text: "Headers for the upstream. Values may hold `${VAR}`; headers of the connection, `host` and `content-length` are errors.",
  },
  forward_headers: { text: "Further request headers that go to the upstream." },
  return_headers: { text: "Further response headers that come back." },
  tools: { text: "See [Tools](#tools).", takes: "list", schema: { type: ["array", "object"] } },
  mcp_servers: {
    text: "A server is its URL, or `{url, headers, tools, timeout_ms}`: see [MCP](mcp.md#tools-of-other-servers). `{command, args, env, tools, timeout_ms}` is a server that [the runner starts](mcp.md#servers-that-are-processes).",
    takes: "mapping of names to servers",
    schema: {
      type: "object",
      additionalProperties: {
        anyOf: [TEXT, objectSchema(MCP_SERVER_FIELDS), objectSchema(MCP_PROCESS_FIELDS)],
      },
    },
  },
  tool_env: {
    text: "For script and llm: variables of the Worker that the skill's processes get. `HULL_*` and `HUSK_*` are errors; Hull withholds provider keys, with a warning.",
  },
  input: {
    text: "What a call sends. A proxy's upstream gets the body as it is, and with `none` it gets no body.",
    otherwise: "`text`; `none` for static-file; `file` where `input_mime` holds a type that is not text",
  },
  input_mime: {
    text: "Accepted types of a file input, lower case, without parameters; `type/*` is allowed. Another type is 415.",
    takes: "media type or list of them",
    otherwise: "any",
  },
  input_schema: {
    text: "Hull checks the JSON `input` against it, and takes only JSON bodies. It has an effect only with `input: text`, and never on a proxy skill (warning).",
    takes: "JSON Schema 2020-12 as a mapping, or the path of a JSON file",
    schema: { type: ["object", "string"] },
  },
  output: {
    text: "What a call answers. For an llm skill, `json` also asks the provider for JSON (`response_format`, with tools too), if it has such a mode and the conversation or the skill's text mentions JSON. `file` means the file that its [workspace tools](real-skills.md#ask-it) make.",
    otherwise: "`text`; `file` where `output_mime` or the file of `serve` is not text",
  },
  output_mime: { text: "`content-type` of the answer.", takes: "media type, parameters allowed" },
  method: { text: "The method that runs the skill.", otherwise: "POST; GET for static-file" },
  route: { text: "See [Slug and route](#slug-and-route).", takes: "path", otherwise: "`/skills/<slug>`" },
  timeout_ms: {
    text: "Time limit of one script run, of one tool call, of the wait for a proxy's response headers, and of a model call with its retries. The default limits only a model call's wait for the first byte of a stream.",
  },
  idle_timeout_ms: { text: "The longest silence inside a streamed answer." },
  deadline_ms: {
    text: "Time limit of the whole request.",
    otherwise: "`300000`, or `timeout_ms` where that is more",
  },
  provider: { text: "The model provider.", takes: "one of the [providers](#providers)" },
  model: { text: "Any model that the provider accepts.", otherwise: "the provider's default" },
  fallback: {
    text: "Hull tries these models in order if the [retries](models.md#retries) fail or the time is up, as long as no text has reached the client.",
  },
  max_tokens: { text: "Output tokens of one model call." },
  max_tool_rounds: {
    text: "After this many rounds Hull makes one last call without tools. Where the manifest names the number, it also holds [in runs](runs.md#rounds-of-a-skill).",
    otherwise: "`10`; `50` with workspace tools",
  },
  max_tool_output_bytes: { text: "Hull cuts the middle out of a longer tool result." },
  max_input_bytes: {
    text: "Can lower the server's limit, never raise it.",
    otherwise: "the server's `52428800`",
  },
  max_output_bytes: {
    text: "The same for the output. The answer of a proxy's upstream has no limit, and a static file only the skill's own.",
    otherwise: "the server's `104857600`",
  },
  concurrency: { text: "Most simultaneous runs of a script, llm or proxy skill.", otherwise: "no limit" },
  daemon: { text: "For llm: see [Daemons](#daemons)." },
  license: { text: "Hull keeps it in the skill's record." },
  compatibility: { text: "Hull keeps it in the skill's record." },
  metadata: { text: "Hull keeps it in the skill's record." },
  "allowed-tools": {
    text: "Calls that need no approval while the skill is active: `Read`, `Bash(git:*)`.",
    takes: "list, or string split on spaces and commas outside parentheses",
  },
  tool_scope: {
    text: "While the skill is active, an agent run offers the model only these tools.",
    takes: "as `allowed-tools`",
  },
  workspace_tools: {
    text: "Whether runs with the skill have [workspace tools](#workspace-tools).",
    takes: "`true`, `false`, or names of them",
    schema: { anyOf: [{ type: "boolean" }, TEXTS, TEXT] },
    otherwise: "by the skill's files and text",
  },
  "when-to-use": {
    text: "When to use the skill: an addition to the description, for the model and for matching.",
  },
  paths: {
    text: "The skill matches a run with such working files.",
    takes: "list of globs, or string split on commas",
  },
  "argument-hint": {
    text: "What a person types after `/slug`; shown to people.",
    schema: { type: ["string", "array"] },
  },
  arguments: {
    text: "Names of its arguments in their order: with `[issue, branch]`, `$branch` in the text is the second word of what a person types after `/slug`.",
    takes: "list of names, or string split on spaces",
  },
  context: {
    text: "`fork`: a sub-agent executes the skill if a model loads it ([warning](#fields-of-other-clients)). `agent`: runs hand it work with the tool [`sub_agent`](tasks.md#sub-agents); models do not load it, and `/slug` does not activate it. `POST /skills/<slug>` runs the skill itself.",
    takes: "`fork` or `agent`",
  },
  agent: { text: CLIENT },
  effort: {
    text: "How much the model thinks when somebody calls the skill: `low`, `medium`, `high`; `minimal` counts as `low`, `xhigh` and `max` as `high`. For a model that cannot think it causes a warning and no effort.",
  },
  shell: { text: CLIENT },
  "disable-model-invocation": {
    text: "`true`: models neither see the skill nor load it; people can, with `/slug`.",
  },
  "user-invocable": { text: "`false`: a message cannot activate it with `/slug`." },
  "require-signature": {
    text: "`true`: Hull uses the skill only with a [signature](#signatures) of a trusted signer. Anything but `true` and `false` is an error.",
  },
  "trusted-signers": {
    text: "Whose signature counts.",
    takes: "list of fingerprints, or string split on commas",
    otherwise: "everybody whom the deployment trusts",
  },
  mcp: {
    text: "[MCP servers](mcp.md#servers-of-the-deployment) of hull.toml, or of the run. Their tools come with the skill.",
    takes: "list of names, or string split on commas",
  },
  hooks: {
    text: "What an agent run calls when the skill becomes active, and when it stops being active.",
    takes:
      "mapping of `on_activate` and `on_deactivate` to names of [hooks](#hooks), and of events to [commands](real-skills.md#command-hooks)",
  },
};

const CONSOLE = "For display in consoles.";

const TOOL_TEXTS: { readonly [name in keyof typeof TOOL_FIELDS]: FieldText } = {
  name: {
    text: "Required. A lower-case letter, then at most 63 lower-case letters, digits or `_`.",
    schema: { type: "string", pattern: "^[a-z][a-z0-9_]{0,63}$" },
    takes: "string",
  },
  description: { text: "Required. Tells the model when to use the tool." },
  script: { text: "The handler: a file of the folder.", takes: "path", otherwise: "a stub" },
  parameters: {
    text: "One JSON Schema for each argument; without `optional: true` it is required.",
    takes: "mapping of names to JSON Schemas",
  },
  "x-env": {
    text: "Variables that the handler sees. It never sees provider keys; an upload sees only what `HULL_GRANTS` names.",
  },
  "x-timeout-ms": { text: "Time limit of a call." },
  "x-tier": { text: "Where the handler runs.", otherwise: "[as below](#where-a-handler-runs)" },
  "x-requires-network": {
    text: "Which hosts the handler may reach: `api.example.com`, `*.example.com`.",
    takes: "`true`, `false`, or a list of hosts",
    schema: { anyOf: [{ type: "boolean" }, TEXTS] },
    otherwise: "`false`",
  },
  "x-requires-filesystem": { text: "Whether the handler works with files." },
  "x-side-effects": { text: "Whether a call changes anything." },
  "x-idempotent": { text: "Whether repeating a call is harmless." },
  "x-risk": {
    text: "`auto` is `safe` without side effects, `dangerous` with side effects and network or filesystem, else `moderate`.",
  },
  "x-hidden": { text: "`true`: cards and consoles do not show the tool; models see it and may call it." },
  "x-config": { text: "Configuration parameters, see below.", takes: "list of configuration parameters" },
  "x-input-schema": { text: "JSON Schema of all arguments; overrides `parameters`.", takes: "JSON Schema" },
  "x-output-schema": {
    text: "JSON Schema of the answer. Failures and artifacts need not fit it.",
    takes: "JSON Schema",
  },
  "x-display-name": { text: CONSOLE },
  "x-version": { text: CONSOLE },
  "x-category": { text: CONSOLE },
  "x-tags": { text: CONSOLE, takes: "list of strings" },
  "x-icon": { text: CONSOLE },
  "x-group": { text: CONSOLE },
  "x-deprecated": {
    text: CONSOLE,
    takes: "`true`, `false` or string",
    schema: { type: ["boolean", "string"] },
  },
  "x-examples": { text: CONSOLE, takes: "list" },
  "x-estimated-latency-ms": { text: CONSOLE },
};

interface FieldRow {
  name: string;
  takes: string;
  otherwise: string;
  /** Empty: all modes. */
  modes: readonly string[];
  text: string;
}

/** The rows of the tables in docs/manifest.md and docs/tools.md. */
export const manifestRows = (): FieldRow[] => rowsOf(MANIFEST_FIELDS, MANIFEST_TEXTS);
export const toolRows = (): FieldRow[] => rowsOf(TOOL_FIELDS, TOOL_TEXTS);

function rowsOf(
  fields: { readonly [name: string]: ManifestField },
  texts: { readonly [name: string]: FieldText },
): FieldRow[] {
  return Object.entries(fields).map(([name, field]) => {
    const { text = "", takes, otherwise, schema } = texts[name] ?? {};
    const fallback = shownDefault(field);
    return {
      name,
      takes: takes ?? kindWords(field, schema),
      otherwise: otherwise ?? (fallback === undefined ? "–" : `\`${fallback}\``),
      modes: field.makes === undefined ? (field.modes ?? []) : [field.makes],
      text,
    };
  });
}

/** An empty list or mapping says no more than that the field may be absent. */
function shownDefault({ default: value }: Field): boolean | number | string | undefined {
  return typeof value === "object" || value === "" ? undefined : value;
}

function kindWords(field: Field, schema: JsonObject | undefined): string {
  switch (field.kind) {
    case "integer":
      return field.max === Number.MAX_SAFE_INTEGER
        ? `integer ≥ ${field.min}`
        : `${field.min} to ${field.max}`;
    case "choice":
      return field.of.map((word) => `\`${word}\``).join(", ") + (field.anyCase === true ? ", any case" : "");
    case "flag":
      return "boolean";
    case "map":
      return field.of === undefined ? "mapping" : "mapping of strings to strings";
    case "object":
      return "mapping";
    case "list":
      return `list of ${field.of ?? "strings"}`;
    case "text":
      return "string";
    default:
      return wordsOf(schema ?? kindSchema(field));
  }
}

/** JSON Schema of a SKILL.md's frontmatter, for editors. */
export function manifestSchema(): JsonObject {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Frontmatter of a SKILL.md",
    ...objectSchema(MANIFEST_FIELDS, MANIFEST_TEXTS),
  };
}

/** JSON Schema of a tools.json, for editors. */
export function toolsSchema(): JsonObject {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "tools.json",
    type: "array",
    items: objectSchema(TOOL_FIELDS, TOOL_TEXTS),
  };
}

function objectSchema(fields: Fields, texts: { readonly [name: string]: FieldText } = {}): JsonObject {
  const entries = Object.entries(fields);
  const properties = entries.map(([name, field]): [string, Json] => {
    const { text, schema = kindSchema(field) } = texts[name] ?? {};
    const fallback = shownDefault(field);
    return [
      name,
      {
        ...schema,
        ...(text === undefined ? {} : { description: plainText(text) }),
        ...(fallback === undefined ? {} : { default: fallback }),
      },
    ];
  });
  const required = entries.flatMap(([name, field]) =>
    field.required === true && field.default === undefined ? [name] : [],
  );
  return { type: "object", required, properties: Object.fromEntries(properties) };
}

/** Removes links, which only a page needs. */
export const plainText = (text: string): string => text.replace(/\[([^\]]+)\]\([^)]+\)/g, "$1");

/** A pattern of the word in any letter case. */
const anyCase = (word: string): string =>
  word.replace(/[a-z]/gi, (letter) => `[${letter.toUpperCase()}${letter.toLowerCase()}]`);

function kindSchema(field: Field): JsonObject {
  switch (field.kind) {
    case "integer":
      return { type: "integer", minimum: field.min, maximum: field.max };
    case "choice":
      return field.anyCase === true
        ? {
            type: "string",
            pattern: `^(?:${field.of.map(anyCase).join("|")})$`,
          }
        : { enum: [...field.of] };
    case "flag":
      return { type: "boolean" };
    case "number":
      return { type: "number" };
    case "map":
      return field.of === undefined
        ? { type: "object" }
        : { type: "object", additionalProperties: kindSchema(field.of) };
    case "object":
      return objectSchema(field.fields);
    case "objects":
      return { type: "array", items: objectSchema(field.fields) };
    case "list":
      return field.orText === true ? { anyOf: [TEXT, TEXTS] } : TEXTS;
    case "values":
      return { type: "array" };
    case "text":
      return TEXT;
    case "any":
      return {};
  }
}
