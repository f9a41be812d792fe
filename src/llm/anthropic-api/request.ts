/** The body of `POST /v1/messages` as a canonical request, and the parts that only Anthropic understands. */
import type {
  ModelRequest,
  ProviderPassthrough,
  Sampling,
  Thinking,
  ToolDefinition,
} from "../../engine/messages.ts";
import type { ContainerTool } from "../../engine/workspace-tools/code-tools.ts";
import { EDITOR_TOOL } from "../../engine/workspace-tools/editor-tool.ts";
import { reservedMembers } from "../../model/reserved.ts";
import { isObject } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { type ContainerParams, readContainer } from "../container-params.ts";
import { modelMember, numberMember, textsMember, tokensMember } from "../members.ts";
import { systemPrompt } from "../system-prompt.ts";
import { checkToolNames, type OwnCall } from "../tool-call-ids.ts";
import { wrong } from "../wrong.ts";
import { type Foreign, readConversation, textBlocks, withoutOthersThinking } from "./conversation.ts";

export interface MessagesRequest {
  model: string;
  stream: boolean;
  request: ModelRequest;
  /** Parts that only Anthropic can get, and that the request needs. */
  foreign: Foreign[];
  /** Members for which a provider would charge or run more than is accounted, and why Hull refuses them. */
  unaccounted: { path: string; reason: string }[];
  /** Whether the server is to hold the conversation, or holds what came before these messages. */
  thread: boolean;
  /** Members of the body that only Anthropic gets. */
  ignored: string[];
  container: ContainerParams | null;
  /** The tools for code that the client asked for. */
  code: readonly ContainerTool[];
  /** What Anthropic's models get besides the canonical request when Hull executes the tools. */
  passthrough: ProviderPassthrough;
  /** That tool as it was sent, for a request whose code Anthropic runs. */
  hosted: JsonObject[];
  /** Files that the container should contain. */
  uploads: { file_id: string; path: string }[];
  /** A call of the client's own without a result; `null`: there is none. */
  unanswered: OwnCall | null;
}

/** Members with a canonical form. */
const CANONICAL = new Set([
  "model",
  "messages",
  "system",
  "max_tokens",
  "stream",
  "tools",
  "tool_choice",
  "temperature",
  "top_p",
  "top_k",
  "stop_sequences",
  "thinking",
  "output_config",
  "output_format",
  "cache_control",
  "container",
]);
/** Members that Anthropic gets and that cost no more than is accounted. */
const FREE = new Set(["metadata", "context_management", "service_tier", "betas"]);

/** The tools of earlier versions of code execution: Python alone, then bash and files. */
const TOOLS_OF_VERSION: Record<string, readonly ContainerTool[]> = {
  code_execution_20250522: ["code_execution"],
  code_execution_20250825: ["bash_code_execution", EDITOR_TOOL],
};
const ALL_TOOLS: readonly ContainerTool[] = ["bash_code_execution", EDITOR_TOOL, "code_execution"];

/** Kinds of typed tools that the client itself runs, or that cost nothing. */
const CLIENT_TOOLS = /^(?:bash|text_editor|computer|memory|tool_search_tool_(?:bm25|regex))_\d{8}$/;

/**
 * @param counting for `count_tokens`, which needs no `max_tokens`
 * @throws InvalidRequest for a member that is missing, or of another type
 */
export function readMessagesRequest(body: JsonObject, headers: Headers, counting = false): MessagesRequest {
  const model = modelMember(body.model);
  const further = Object.keys(body).filter((name) => !CANONICAL.has(name));
  const own = Object.fromEntries(
    Object.entries(body).filter(([name]) => !CANONICAL.has(name) && !FREE.has(name)),
  );
  const reserved = reservedMembers(own).map(({ path, reason }) => ({
    path,
    reason: `it cannot be set here: ${reason}`,
  }));
  const { system, messages, foreign, uploads, executed, unanswered } = readConversation(body.messages);
  const tools = readTools(body.tools);
  const sampling = samplingOf(body);
  const thinking = thinkingOf(body);
  const format = formatOf(body);
  const { betas, ...document } = body;
  const sent = sentHeaders(headers, betas);
  const passthrough: ProviderPassthrough = {
    protocol: "anthropic",
    body: Object.fromEntries(
      Object.entries(document).filter(([name]) => !CANONICAL.has(name) || name === "cache_control"),
    ),
    tools: [],
    headers: sent,
  };
  return {
    model,
    stream: body.stream === true,
    request: {
      ...systemPrompt([...textBlocks(body.system, "system"), ...system], Array.isArray(body.system)),
      messages,
      tools: tools.definitions,
      ...toolChoiceOf(body.tool_choice),
      max_tokens: counting ? 1 : tokensMember("max_tokens", body.max_tokens),
      json: format !== null,
      ...(format === null ? {} : { schema: { schema: format, strict: true } }),
      ...(Object.keys(sampling).length === 0 ? {} : { sampling }),
      ...(thinking === null ? {} : { thinking }),
      ...(executed
        ? { passthrough }
        : {
            verbatim: {
              protocol: "anthropic",
              body: { ...document, messages: withoutOthersThinking(body.messages ?? []) },
              headers: sent,
            },
          }),
    },
    passthrough,
    hosted: tools.hosted,
    foreign: [...foreign, ...tools.foreign],
    unaccounted: [...reserved, ...tools.unaccounted],
    thread: body.thread !== undefined && body.thread !== null,
    ignored: further,
    container: readContainer(body.container, sent["anthropic-beta"]?.split(",")),
    code: tools.code,
    uploads,
    unanswered,
  };
}

/** Version and betas as the client sent them. */
function sentHeaders(headers: Headers, betas: Json | undefined): { [name: string]: string } {
  const version = headers.get("anthropic-version");
  const named = Array.isArray(betas) ? betas.filter((beta) => typeof beta === "string") : [];
  const all = [...(headers.get("anthropic-beta")?.split(",") ?? []), ...named].map((beta) => beta.trim());
  const beta = [...new Set(all)].filter((name) => name !== "").join(",");
  return {
    ...(version === null ? {} : { "anthropic-version": version }),
    ...(beta === "" ? {} : { "anthropic-beta": beta }),
  };
}

function samplingOf({ temperature, top_p, top_k, stop_sequences }: JsonObject): Sampling {
  const stop = textsMember("stop_sequences", stop_sequences);
  return {
    ...numberMember("temperature", temperature),
    ...numberMember("top_p", top_p),
    ...numberMember("top_k", top_k),
    ...(stop.length === 0 ? {} : { stop }),
  };
}

function thinkingOf({ thinking, output_config: config }: JsonObject): Thinking | null {
  const effort = isObject(config) ? config.effort : undefined;
  const kind = isObject(thinking) ? thinking.type : undefined;
  if (kind === "enabled" && isObject(thinking)) {
    const { budget_tokens } = thinking;
    return { mode: "enabled", ...(typeof budget_tokens === "number" ? { budget_tokens } : {}) };
  }
  if (kind === "disabled") return null;
  if (effort === "low" || effort === "medium") return { mode: "effort", level: effort };
  if (typeof effort === "string") return { mode: "effort", level: "high" };
  return kind === "adaptive" ? { mode: "adaptive" } : null;
}

/** The JSON Schema of the answer; `null`: it is text. */
function formatOf({ output_config: config, output_format }: JsonObject): JsonObject | null {
  const format = (isObject(config) ? config.format : undefined) ?? output_format;
  if (!isObject(format)) return null;
  return format.type === "json_schema" && isObject(format.schema) ? format.schema : null;
}

function toolChoiceOf(choice: Json | undefined): Pick<ModelRequest, "tool_choice"> {
  if (!isObject(choice)) return {};
  switch (choice.type) {
    case "any":
      return { tool_choice: "required" };
    case "none":
      return { tool_choice: "none" };
    case "tool":
      if (typeof choice.name === "string") return { tool_choice: { name: choice.name } };
      throw wrong("tool_choice.name", "the name of a tool is required");
    default:
      return { tool_choice: "auto" };
  }
}

interface ReadTools {
  definitions: ToolDefinition[];
  foreign: Foreign[];
  code: readonly ContainerTool[];
  hosted: JsonObject[];
  unaccounted: MessagesRequest["unaccounted"];
}

/** @throws InvalidRequest for a value that is not a tool */
function readTools(list: Json | undefined): ReadTools {
  if (list === undefined || list === null) {
    return { definitions: [], foreign: [], code: [], hosted: [], unaccounted: [] };
  }
  if (!Array.isArray(list)) throw wrong("tools", "a list is expected");
  const definitions: ToolDefinition[] = [];
  const foreign: Foreign[] = [];
  const hosted: JsonObject[] = [];
  const unaccounted: MessagesRequest["unaccounted"] = [];
  let code: readonly ContainerTool[] = [];
  for (const [n, tool] of list.entries()) {
    const path = `tools.${n}`;
    if (!isObject(tool)) throw wrong(path, "a tool is an object");
    const { type, name, description, input_schema } = tool;
    if (typeof type === "string" && /^code_execution_\d{8}$/.test(type)) {
      code = TOOLS_OF_VERSION[type] ?? ALL_TOOLS;
      hosted.push(tool);
      continue;
    }
    if (typeof type === "string" && type !== "custom") {
      if (!CLIENT_TOOLS.test(type)) {
        const reason = `the tool type ${type} cannot be used: what a provider runs itself is not accounted`;
        unaccounted.push({ path, reason });
      }
      foreign.push({ path, type });
      continue;
    }
    if (typeof name !== "string") throw wrong(`${path}.name`, "a text is required");
    if (!isObject(input_schema)) throw wrong(`${path}.input_schema`, "a JSON Schema object is required");
    definitions.push({
      name,
      description: typeof description === "string" ? description : "",
      parameters: input_schema,
    });
  }
  checkToolNames(
    list.flatMap((tool, n) =>
      isObject(tool) && typeof tool.name === "string" ? [{ name: tool.name, path: `tools.${n}` }] : [],
    ),
  );
  return { definitions, foreign, code, hosted, unaccounted };
}
