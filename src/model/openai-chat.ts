/**
 * The OpenAI chat completion protocol as its many providers speak it (agent-runtime.md §3.3;
 * https://platform.openai.com/docs/api-reference/chat): canonical request to body, answer to canonical turn.
 */
import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionContentPart,
  ChatCompletionCreateParams,
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionMessageFunctionToolCall,
  ChatCompletionMessageParam,
  ChatCompletionToolChoiceOption,
} from "openai/resources/chat/completions";
import type {
  Block,
  Media,
  Message,
  ModelRequest,
  ModelTurn,
  Part,
  StopReason,
  ToolChoice,
  Usage,
} from "../engine/messages.ts";
import type { Json } from "../skill/manifest.ts";
import { completionShape, type WireMessage, type WireUsage } from "./openai-chat-shape.ts";
import { createOpenAiStream } from "./openai-chat-stream.ts";
import {
  type CallIdSource,
  isJsonObject,
  parseArguments,
  readShape,
  sendableIds,
  sendableName,
  type Wire,
  type WireTarget,
} from "./wire.ts";

/** OpenAI refuses longer tool call ids. */
const MAX_ID_LENGTH = 40;

export const openAiChat: Wire = {
  body: openAiBody,
  parse: parseCompletion,
  stream: createOpenAiStream,
};

/** A call with what a provider put beside it and wants back (Google: `thought_signature`). */
type WireToolCall = ChatCompletionMessageFunctionToolCall & { extra_content?: Json };

type WireAssistant = ChatCompletionAssistantMessageParam & { reasoning_content?: string };

export function openAiBody(
  request: ModelRequest,
  target: WireTarget,
  stream: boolean,
): ChatCompletionCreateParams {
  const sendableId = sendableIds(request.messages, MAX_ID_LENGTH);
  const body: ChatCompletionCreateParamsNonStreaming = {
    model: target.model,
    messages: [
      ...systemMessage(request.system),
      ...request.messages.flatMap((message) => wireMessages(message, target, sendableId)),
    ],
    [target.token_field]: request.max_tokens,
    ...(request.tools.length === 0
      ? {}
      : {
          tools: request.tools.map(({ name, description, parameters }) => ({
            type: "function" as const,
            function: { name, description, parameters },
          })),
        }),
    ...(request.tools.length > 0 && request.tool_choice !== "auto"
      ? { tool_choice: toolChoice(request.tool_choice) }
      : {}),
    ...(request.json && target.json_mode && mentionsJson(request)
      ? { response_format: { type: "json_object" } }
      : {}),
  };
  return stream ? { ...body, stream: true, stream_options: { include_usage: true } } : body;
}

function toolChoice(choice: ToolChoice): ChatCompletionToolChoiceOption {
  return typeof choice === "object"
    ? { type: "function", function: { name: sendableName(choice.name) } }
    : choice;
}

/** JSON mode is refused for a conversation that never asks for JSON in words. */
function mentionsJson(request: ModelRequest): boolean {
  const texts = request.messages.flatMap((message) => (message.role === "user" ? message.content : []));
  return (
    /json/i.test(request.system) || texts.some((part) => part.type === "text" && /json/i.test(part.text))
  );
}

function systemMessage(system: string): ChatCompletionMessageParam[] {
  return system.trim() === "" ? [] : [{ role: "system", content: system }];
}

type SendableId = (id: string) => string;

function wireMessages(
  message: Message,
  target: WireTarget,
  sendableId: SendableId,
): ChatCompletionMessageParam[] {
  if (message.role === "user") return [{ role: "user", content: userContent(message.content) }];
  if (message.role === "tool") {
    return message.results.map((result) => ({
      role: "tool",
      tool_call_id: sendableId(result.call_id),
      content: result.content,
    }));
  }
  return assistantMessage(message.content, target, sendableId);
}

/** One string where there is only text: not every provider takes lists of parts. */
function userContent(parts: readonly Part[]): string | ChatCompletionContentPart[] {
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (texts.length === parts.length) return texts.join("\n\n");
  return parts.map(contentPart);
}

function contentPart(part: Part): ChatCompletionContentPart {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "image": {
      const detail = part.detail === undefined ? {} : { detail: part.detail };
      return { type: "image_url", image_url: { url: mediaUrl(part), ...detail } };
    }
    case "document":
      return {
        type: "file",
        file: { filename: part.filename ?? "document.pdf", file_data: mediaUrl(part) },
      };
    case "audio": {
      const format = part.media_type.endsWith("wav") ? "wav" : "mp3";
      return { type: "input_audio", input_audio: { data: part.data, format } };
    }
  }
}

const mediaUrl = (media: Media): string =>
  "url" in media ? media.url : `data:${media.media_type};base64,${media.data}`;

/** No message for a turn of which nothing can be sent: most providers refuse an assistant without content. */
function assistantMessage(
  blocks: readonly Block[],
  target: WireTarget,
  sendableId: SendableId,
): ChatCompletionMessageParam[] {
  const own = blocks.flatMap((block) =>
    block.type === "opaque" && block.provider === target.provider ? [block.value] : [],
  );
  const calls = blocks.flatMap((block): WireToolCall[] => {
    if (block.type !== "tool_call") return [];
    const extra = own.find((value) => isJsonObject(value) && value.call_id === block.id);
    return [
      {
        id: sendableId(block.id),
        type: "function",
        function: { name: sendableName(block.name), arguments: block.raw.trim() === "" ? "{}" : block.raw },
        ...(isJsonObject(extra) && extra.extra_content !== undefined
          ? { extra_content: extra.extra_content }
          : {}),
      },
    ];
  });
  const text = blocks.map((block) => (block.type === "output_text" ? block.text : "")).join("");
  const reasoning = blocks.map((block) => (block.type === "reasoning" ? block.text : "")).join("");
  const refusal = own.find((value) => isJsonObject(value) && typeof value.refusal === "string");
  if (text === "" && calls.length === 0 && refusal === undefined) return [];
  const message: WireAssistant = {
    role: "assistant",
    content: text === "" ? null : text,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(isJsonObject(refusal) && typeof refusal.refusal === "string" ? { refusal: refusal.refusal } : {}),
    ...(target.reasoning_echo && calls.length > 0 ? { reasoning_content: reasoning } : {}),
  };
  return [message];
}

const STOP_REASONS = new Map<string, StopReason>([
  ["stop", "end_turn"],
  ["length", "max_tokens"],
  ["max_tokens", "max_tokens"],
  ["tool_calls", "tool_use"],
  ["function_call", "tool_use"],
  ["content_filter", "content_filter"],
]);

function parseCompletion(answer: unknown, target: WireTarget, callId: CallIdSource): ModelTurn {
  const completion = readShape(completionShape, answer, target.provider);
  const [choice] = completion.choices;
  const message = choice?.message ?? {};
  const raw = choice?.finish_reason ?? null;
  const finish = raw === null ? "end_turn" : (STOP_REASONS.get(raw.toLowerCase()) ?? "other");
  const blocks = messageBlocks(message, finish === "max_tokens", target.provider, callId);
  return {
    blocks,
    stop_reason: message.refusal ? "refusal" : stopReason(finish, blocks),
    raw_stop_reason: raw,
    usage: readUsage(completion.usage ?? {}),
    provider: target.provider,
    model: completion.model ?? target.model,
  };
}

/** Some providers say "stop" for a turn that ends in calls. */
function stopReason(finish: StopReason, blocks: readonly Block[]): StopReason {
  return finish === "end_turn" && blocks.some((block) => block.type === "tool_call") ? "tool_use" : finish;
}

/**
 * The canonical order: reasoning, text, calls; the protocol itself has none. `cut`: the token limit ended the turn, so
 * that a last call without arguments lost them.
 */
function messageBlocks(
  message: Partial<WireMessage>,
  cut: boolean,
  provider: string,
  callId: CallIdSource,
): Block[] {
  const blocks: Block[] = [];
  const reasoning = message.reasoning_content || message.reasoning;
  if (reasoning) blocks.push({ type: "reasoning", text: reasoning });
  const text =
    typeof message.content === "string"
      ? message.content
      : (message.content ?? []).map((part) => (part.type === "text" ? (part.text ?? "") : "")).join("");
  if (text !== "") blocks.push({ type: "output_text", text });
  if (message.refusal) {
    blocks.push({ type: "opaque", provider, value: { refusal: message.refusal } });
  }
  const calls = message.tool_calls ?? [];
  for (const call of calls) {
    const id = callId(call.id);
    const raw = rawArguments(call.function.arguments);
    const lost = cut && call === calls.at(-1) && raw.trim() === "";
    blocks.push({
      type: "tool_call",
      id,
      name: call.function.name ?? "",
      arguments: lost ? null : parseArguments(raw),
      raw,
    });
    if (call.extra_content !== undefined) {
      blocks.push({ type: "opaque", provider, value: { call_id: id, extra_content: call.extra_content } });
    }
  }
  return blocks;
}

/** Arguments are JSON text by the protocol; some providers send the object itself. */
function rawArguments(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function readUsage(usage: WireUsage): Usage {
  return {
    input_tokens: usage.prompt_tokens ?? 0,
    output_tokens: usage.completion_tokens ?? 0,
    cache_read_tokens:
      usage.prompt_tokens_details?.cached_tokens ??
      usage.input_tokens_details?.cached_tokens ??
      usage.cache_read_tokens ??
      usage.cached_prompt_tokens ??
      usage.prompt_cache_hit_tokens ??
      0,
    cache_write_tokens: usage.prompt_tokens_details?.cache_write_tokens ?? 0,
  };
}
