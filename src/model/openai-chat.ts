/**
 * The OpenAI chat completion protocol in the variants of its many providers: turns the canonical request into a body.
 * `openai-chat-messages.ts` handles the conversation, `openai-chat-answer.ts` the answer.
 */
import type {
  ChatCompletionCreateParams,
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionFunctionTool,
  ChatCompletionToolChoiceOption,
} from "openai/resources/chat/completions";
import type { ModelRequest, ToolChoice, ToolDefinition } from "../engine/messages.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { chatTraits } from "./chat-traits.ts";
import { mentionsJson, withJsonWord, withSchema } from "./json-instruction.ts";
import { parseCompletion } from "./openai-chat-answer.ts";
import { chatMessages, type WireMessage } from "./openai-chat-messages.ts";
import { OpenAiStream } from "./openai-chat-stream.ts";
import { rootObject } from "./root-schema.ts";
import { type ChatSearchTool, chatSearchTool } from "./search-tools.ts";
import { sendableName, type Wire, type WireTarget } from "./wire.ts";

export const openAiChat: Wire = {
  framing: "sse",
  body: openAiBody,
  parse: parseCompletion,
  stream: (target, sink) => new OpenAiStream(target, sink),
};

/** A declared function with the marks of tool search. */
type WireTool = ChatCompletionFunctionTool & { defer_loading?: true; namespace?: string };
type ChatBody = Omit<ChatCompletionCreateParams, "messages" | "tools"> & {
  messages: WireMessage[];
  tools?: (WireTool | ChatSearchTool)[];
};

export function openAiBody(request: ModelRequest, target: WireTarget, stream: boolean): ChatBody {
  const { sampling = {} } = request;
  const json = jsonMembers(request, target);
  const tokens: ChatTokens = { [target.token_field]: request.max_tokens };
  return {
    model: target.model,
    messages: chatMessages({ ...request, system: json.system }, target),
    ...tokens,
    ...toolMembers(request),
    ...parallelCalls(request),
    ...json.members,
    ...sampling,
    ...extensions(request, target),
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

type ChatTokens = Pick<ChatCompletionCreateParamsNonStreaming, "max_tokens" | "max_completion_tokens">;

function toolMembers(request: ModelRequest): Pick<ChatBody, "tools" | "tool_choice"> {
  const { tools, tool_choice, tool_search } = request;
  if (tools.length === 0) return {};
  const search = tool_search === undefined ? [] : [chatSearchTool(tools)];
  return {
    tools: [...search, ...tools.map(wireTool)],
    ...(tool_choice === undefined ? {} : { tool_choice: toolChoice(tool_choice) }),
  };
}

/**
 * OpenAI's switch, which has the same name in both of its protocols. Where the caller sends it without tools, OpenAI
 * itself answers.
 */
export const parallelCalls = ({
  parallel_tool_calls,
}: ModelRequest): Pick<ModelRequest, "parallel_tool_calls"> =>
  parallel_tool_calls === undefined ? {} : { parallel_tool_calls };

function wireTool(tool: ToolDefinition): WireTool {
  const { name, description, parameters, strict, defer_loading, namespace } = tool;
  const held = strict === true ? { strict } : {};
  return {
    type: "function",
    function: { name, description, parameters: rootObject(parameters), ...held },
    ...(defer_loading === true ? { defer_loading } : {}),
    ...(namespace === undefined ? {} : { namespace }),
  };
}

function toolChoice(choice: ToolChoice): ChatCompletionToolChoiceOption {
  return typeof choice === "object"
    ? { type: "function", function: { name: sendableName(choice.name) } }
    : choice;
}

interface JsonMode {
  system: string;
  members: Pick<ChatBody, "response_format">;
}

/** The members that ask for JSON, and the system text that they need. */
function jsonMembers(request: ModelRequest, target: WireTarget): JsonMode {
  const { system, json, json_as_text, schema } = request;
  const object = { response_format: { type: "json_object" } } as const;
  if (!json) return { system, members: {} };
  if (json_as_text === true) {
    return { system, members: target.json_mode && mentionsJson(request) ? object : {} };
  }
  if (schema === undefined) return { system: withJsonWord(request), members: object };
  if (target.capabilities.structured_output === "json_object") {
    return { system: withSchema(system, schema.schema), members: object };
  }
  const json_schema = { name: "response", ...schema };
  return { system, members: { response_format: { type: "json_schema", json_schema } } };
}

/** Members that are not OpenAI's, and each provider's own way to request reasoning. */
function extensions(request: ModelRequest, target: WireTarget): JsonObject {
  const traits = chatTraits(target);
  const { prefill, extra, passthrough } = request;
  // A client's own word for the effort is sent as OpenAI's `reasoning_effort`; OpenRouter accepts only one of the two.
  const named = { ...extra, ...passthrough?.body }.reasoning_effort !== undefined;
  const thinking = named && traits.thinking === "reasoning" ? undefined : request.thinking;
  const begun = prefill !== undefined && prefill !== "" && traits.prefill === "template";
  return {
    ...(thinking === undefined ? {} : thinkingMembers(thinking, traits.thinking, target)),
    ...(begun ? { add_generation_prompt: false, continue_final_message: true } : {}),
  };
}

function thinkingMembers(
  thinking: NonNullable<ModelRequest["thinking"]>,
  member: ReturnType<typeof chatTraits>["thinking"],
  { capabilities }: WireTarget,
): JsonObject {
  const level = thinking.mode === "effort" ? thinking.level : undefined;
  switch (member) {
    case "reasoning": {
      const budget = thinking.mode === "enabled" ? thinking.budget_tokens : undefined;
      if (level !== undefined) return { reasoning: { effort: level } };
      return { reasoning: budget === undefined ? { enabled: true } : { max_tokens: budget } };
    }
    case "think":
      return { think: level ?? true };
    case "chat_template_kwargs": {
      const preserve = capabilities.preserve_thinking === true ? { preserve_thinking: true } : {};
      return { chat_template_kwargs: { enable_thinking: true, ...preserve } };
    }
    case "reasoning_effort":
      return level === undefined ? {} : { reasoning_effort: level };
    case "none":
      return {};
  }
}
