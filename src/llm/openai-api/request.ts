/** The body of `POST /v1/chat/completions` as a canonical request. */
import type { ModelRequest, ProviderPassthrough, Sampling, ToolDefinition } from "../../engine/messages.ts";
import type { ContainerTool } from "../../engine/workspace-tools/code-tools.ts";
import { reservedMembers } from "../../model/reserved.ts";
import { isObject, objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { type ContainerParams, readContainer } from "../container-params.ts";
import { modelMember, numberMember, textsMember, tokensMember } from "../members.ts";
import { systemPrompt } from "../system-prompt.ts";
import { checkAnswered, checkToolNames } from "../tool-call-ids.ts";
import { wrong } from "../wrong.ts";
import { readChat } from "./conversation.ts";
import { DEFAULT_MAX_TOKENS, effortOf, FREE_MEMBERS, formatOf, functionTool, toolChoiceOf } from "./terms.ts";

export interface ChatRequest {
  model: string;
  stream: boolean;
  /** Whether the last event of a stream reports the usage. */
  reports_usage: boolean;
  request: ModelRequest;
  /** Members without a canonical form: targets of the same protocol get them unchanged. */
  extra: JsonObject;
  /** The same members, for requests whose tools Hull executes. */
  passthrough: ProviderPassthrough;
  container: ContainerParams | null;
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

/** @throws InvalidRequest for a member that is missing, has another type, or is not accounted */
export function readChatRequest(body: JsonObject): ChatRequest {
  const extra = Object.fromEntries(
    Object.entries(body).filter(([name, value]) => !CANONICAL.has(name) && value !== null),
  );
  const checked = Object.fromEntries(Object.entries(extra).filter(([name]) => !FREE_MEMBERS.has(name)));
  for (const { path, reason } of reservedMembers(checked))
    throw wrong(path, `it cannot be set here: ${reason}`);
  if (body.n !== undefined && body.n !== null && body.n !== 1) throw wrong("n", "one answer for each call");
  const { system, messages, unanswered } = readChat(body.messages);
  checkAnswered(unanswered);
  const sampling = samplingOf(body);
  const thinking = effortOf(body.reasoning_effort, "reasoning_effort");
  const limited = (body.max_completion_tokens ?? null) === null ? "max_tokens" : "max_completion_tokens";
  const limit = body[limited] ?? null;
  return {
    model: modelMember(body.model),
    stream: body.stream === true,
    reports_usage: isObject(body.stream_options) && body.stream_options.include_usage === true,
    request: {
      ...systemPrompt(system),
      messages,
      tools: toolsOf(body.tools),
      ...toolChoiceOf(body.tool_choice, (choice) => objectOf(choice.function).name),
      max_tokens: limit === null ? DEFAULT_MAX_TOKENS : tokensMember(limited, limit),
      ...formatOf(body.response_format, "response_format", (format) => format.json_schema),
      ...(Object.keys(sampling).length === 0 ? {} : { sampling }),
      ...(thinking === null ? {} : { thinking }),
    },
    extra,
    passthrough: { protocol: "openai-chat", body: extra, tools: [], headers: {} },
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

/** OpenAI's chat completions have no such tool, so it has the name that Anthropic gave it, with or without a date. */
const isCode = (tool: Json): boolean =>
  isObject(tool) && typeof tool.type === "string" && /^code_execution(?:_\d{8})?$/.test(tool.type);

function toolsOf(list: Json | undefined): ToolDefinition[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) throw wrong("tools", "a list is expected");
  const tools = list.flatMap((tool, n) => {
    if (isCode(tool)) return [];
    const declared = isObject(tool) && tool.type === "function" ? tool.function : null;
    if (!isObject(declared) || typeof declared.name !== "string")
      throw wrong(`tools.${n}`, "a tool of type function with a name is expected");
    return [{ path: `tools.${n}.function`, definition: functionTool(declared, `tools.${n}`) }];
  });
  checkToolNames(tools.map(({ path, definition: { name } }) => ({ name, path })));
  return tools.map(({ definition }) => definition);
}
