/** The body of `POST /v1/chat/completions` as a canonical request. */
import type {
  Beside,
  ModelRequest,
  Sampling,
  Thinking,
  ToolChoice,
  ToolDefinition,
} from "../../engine/messages.ts";
import type { ContainerTool } from "../../engine/workspace-tools/code-tools.ts";
import { reservedMembers } from "../../model/reserved.ts";
import { isObject } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { type ContainerWish, readContainer } from "../container-wish.ts";
import { modelMember, numberMember, textsMember, tokensMember } from "../members.ts";
import { wrong } from "../wrong.ts";
import { readChat } from "./conversation.ts";

export interface ChatRequest {
  model: string;
  stream: boolean;
  /** Whether the last event of a stream tells of the usage. */
  tells_usage: boolean;
  request: ModelRequest;
  /** Members without a canonical form: targets of the same protocol get them as they are. */
  extra: JsonObject;
  /** The same, where Hull runs the tools. */
  beside: Beside;
  container: ContainerWish | null;
  /** The tools for code that the client asked for. */
  code: readonly ContainerTool[];
}

const CANONICAL = new Set([
  "model",
  "messages",
  "stream",
  "stream_options",
  "n",
  "max_tokens",
  "max_completion_tokens",
  "temperature",
  "top_p",
  "stop",
  "seed",
  "frequency_penalty",
  "presence_penalty",
  "response_format",
  "reasoning_effort",
  "tools",
  "tool_choice",
  "container",
]);
/** Members that go to the provider though their names look like those of limits or tools. */
const FREE = new Set(["parallel_tool_calls"]);

const DEFAULT_MAX_TOKENS = 16_384;

/** @throws InvalidRequest for what is missing, of another type, or not accounted */
export function readChatRequest(body: JsonObject): ChatRequest {
  const extra = Object.fromEntries(
    Object.entries(body).filter(([name, value]) => !CANONICAL.has(name) && value !== null),
  );
  const checked = Object.fromEntries(Object.entries(extra).filter(([name]) => !FREE.has(name)));
  for (const { path, reason } of reservedMembers(checked))
    throw wrong(path, `it cannot be set here: ${reason}`);
  if (body.n !== undefined && body.n !== null && body.n !== 1) throw wrong("n", "one answer for each call");
  const { system, messages } = readChat(body.messages);
  const sampling = samplingOf(body);
  const thinking = thinkingOf(body.reasoning_effort);
  const limit = body.max_completion_tokens ?? body.max_tokens ?? null;
  return {
    model: modelMember(body.model),
    stream: body.stream === true,
    tells_usage: isObject(body.stream_options) && body.stream_options.include_usage === true,
    request: {
      system: system.filter((text) => text !== "").join("\n\n"),
      messages,
      tools: toolsOf(body.tools),
      tool_choice: toolChoiceOf(body.tool_choice),
      max_tokens: limit === null ? DEFAULT_MAX_TOKENS : tokensMember("max_completion_tokens", limit),
      ...formatOf(body.response_format),
      ...(Object.keys(sampling).length === 0 ? {} : { sampling }),
      ...(thinking === null ? {} : { thinking }),
    },
    extra,
    beside: { protocol: "openai-chat", body: extra, tools: [], headers: {} },
    container: readContainer(body.container),
    code: Array.isArray(body.tools) && body.tools.some(isCode) ? ["bash_code_execution"] : [],
  };
}

function samplingOf(body: JsonObject): Sampling {
  const stop = textsMember("stop", body.stop);
  return {
    ...numberMember("temperature", body.temperature),
    ...numberMember("top_p", body.top_p),
    ...numberMember("seed", body.seed),
    ...numberMember("frequency_penalty", body.frequency_penalty),
    ...numberMember("presence_penalty", body.presence_penalty),
    ...(stop.length === 0 ? {} : { stop }),
  };
}

function thinkingOf(effort: Json | undefined): Thinking | null {
  switch (effort) {
    case undefined:
    case null:
    case "none":
      return null;
    case "minimal":
    case "low":
      return { mode: "effort", level: "low" };
    case "medium":
      return { mode: "effort", level: "medium" };
    case "high":
    case "xhigh":
      return { mode: "effort", level: "high" };
    default:
      throw wrong("reasoning_effort", "none, minimal, low, medium, high or xhigh is expected");
  }
}

function formatOf(format: Json | undefined): Pick<ModelRequest, "json" | "schema"> {
  if (!isObject(format) || format.type === "text") return { json: false };
  if (format.type === "json_object") return { json: true };
  const named = isObject(format.json_schema) ? format.json_schema : {};
  if (format.type === "json_schema" && isObject(named.schema)) {
    return { json: true, schema: { schema: named.schema, strict: named.strict === true } };
  }
  throw wrong("response_format", "text, json_object or json_schema with a schema is expected");
}

function toolChoiceOf(choice: Json | undefined): ToolChoice {
  if (choice === "none" || choice === "required" || choice === "auto") return choice;
  if (choice === undefined || choice === null) return "auto";
  const named = isObject(choice) && isObject(choice.function) ? choice.function.name : null;
  if (typeof named === "string") return { name: named };
  throw wrong("tool_choice", "none, auto, required or a function by name is expected");
}

/** OpenAI's chat completions have no such tool: it goes by the name that Anthropic gave it, with or without a date. */
const isCode = (tool: Json): boolean =>
  isObject(tool) && typeof tool.type === "string" && /^code_execution(?:_\d{8})?$/.test(tool.type);

function toolsOf(list: Json | undefined): ToolDefinition[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) throw wrong("tools", "a list is expected");
  const own = list.filter((tool) => !isCode(tool));
  return own.map((tool, n) => {
    const declared = isObject(tool) && tool.type === "function" ? tool.function : null;
    if (!isObject(declared) || typeof declared.name !== "string") {
      throw wrong(`tools.${n}`, "a tool of type function with a name is expected");
    }
    const { name, description, parameters } = declared;
    return {
      name,
      description: typeof description === "string" ? description : "",
      parameters: isObject(parameters) ? parameters : { type: "object", properties: {} },
    };
  });
}
