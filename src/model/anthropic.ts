/**
 * The Anthropic Messages protocol (agent-runtime.md §3.2; https://docs.anthropic.com/en/api/messages): canonical
 * request to body, answer to canonical turn.
 */
import type {
  Base64ImageSource,
  ContentBlockParam,
  MessageCreateParamsBase,
  Tool,
  ToolResultBlockParam,
  ToolChoice as WireToolChoice,
} from "@anthropic-ai/sdk/resources/messages";
import * as z from "zod/mini";
import type {
  Block,
  Message,
  ModelRequest,
  ModelTurn,
  Part,
  StopReason,
  ToolChoice,
  ToolDefinition,
  ToolResultMessage,
} from "../engine/messages.ts";
import { UnsupportedMediaType } from "../errors/request.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { createAnthropicStream } from "./anthropic-stream.ts";
import type { WireTarget } from "./wire.ts";
import { type CallIdSource, isJsonObject, readShape, sendableIds, sendableName, type Wire } from "./wire.ts";

const MAX_ID_LENGTH = 64;

/** A typed block, or one of Anthropic's own that goes back as it came. */
type WireBlock = ContentBlockParam | JsonObject;

interface WireMessage {
  role: "user" | "assistant";
  content: WireBlock[];
}

type WireBody = Omit<MessageCreateParamsBase, "messages"> & { messages: WireMessage[] };

export const anthropic: Wire = {
  body: (request, target, stream) => anthropicBody(request, target, stream),
  parse: parseMessage,
  stream: createAnthropicStream,
};

function anthropicBody(request: ModelRequest, target: WireTarget, stream: boolean): WireBody {
  const sendableId = sendableIds(request.messages, MAX_ID_LENGTH);
  return {
    model: target.model,
    max_tokens: request.max_tokens,
    messages: request.messages.flatMap((message) => wireMessage(message, target, sendableId)),
    ...(isBlank(request.system) ? {} : { system: request.system }),
    ...(request.tools.length === 0
      ? {}
      : { tools: request.tools.map(wireTool), tool_choice: wireChoice(request.tool_choice) }),
    ...(stream ? { stream: true } : {}),
  };
}

function wireChoice(choice: ToolChoice): WireToolChoice {
  if (typeof choice === "object") return { type: "tool", name: sendableName(choice.name) };
  return { type: choice === "required" ? "any" : choice };
}

type SendableId = (id: string) => string;

/** No message at all for an assistant turn of which nothing can be sent: Anthropic refuses empty content. */
function wireMessage(message: Message, target: WireTarget, sendableId: SendableId): WireMessage[] {
  if (message.role === "user") {
    const content = message.content.filter((part) => part.type !== "text" || !isBlank(part.text));
    return [{ role: "user", content: content.length === 0 ? [EMPTY_MESSAGE] : content.map(wirePart) }];
  }
  if (message.role === "tool") {
    return [{ role: "user", content: message.results.map((result) => wireResult(result, sendableId)) }];
  }
  const content = message.content.flatMap((block) => wireBlock(block, target, sendableId));
  return content.length === 0 ? [] : [{ role: "assistant", content }];
}

/** Stands for a user message without text, which Anthropic refuses. */
const EMPTY_MESSAGE: ContentBlockParam = { type: "text", text: "(empty message)" };

function wirePart(part: Part): ContentBlockParam {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "image": {
      if ("url" in part) return { type: "image", source: { type: "url", url: part.url } };
      const { media_type, data } = part;
      if (!isImageType(media_type)) {
        throw new UnsupportedMediaType({ type: media_type, accepted: [...IMAGE_TYPES] });
      }
      return { type: "image", source: { type: "base64", media_type, data } };
    }
    case "document": {
      const title = part.filename === undefined ? {} : { title: part.filename };
      if ("url" in part) return { type: "document", source: { type: "url", url: part.url }, ...title };
      const source = { type: "base64" as const, media_type: "application/pdf" as const, data: part.data };
      return { type: "document", source, ...title };
    }
    case "audio":
      throw new UnsupportedMediaType({ type: part.media_type, accepted: ["text/*", ...IMAGE_TYPES] });
  }
}

const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;
const isImageType = (type: string): type is Base64ImageSource["media_type"] =>
  IMAGE_TYPES.some((known) => known === type);

function wireResult(result: ToolResultMessage, sendableId: SendableId): ToolResultBlockParam {
  return {
    type: "tool_result",
    tool_use_id: sendableId(result.call_id),
    ...(isBlank(result.content) ? {} : { content: result.content }),
    ...(result.is_error ? { is_error: true } : {}),
  };
}

function wireBlock(block: Block, target: WireTarget, sendableId: SendableId): WireBlock[] {
  switch (block.type) {
    case "output_text":
      return isBlank(block.text) ? [] : [{ type: "text", text: block.text }];
    case "reasoning":
      return block.signature === undefined
        ? []
        : [{ type: "thinking", thinking: block.text, signature: block.signature }];
    case "tool_call":
      return [
        {
          type: "tool_use",
          id: sendableId(block.id),
          name: sendableName(block.name),
          input: block.arguments ?? {},
        },
      ];
    case "opaque":
      return block.provider === target.provider && isJsonObject(block.value) ? [block.value] : [];
    case "reasoning_summary":
    case "tool_search_query":
    case "tool_search_result": {
      const { native } = block;
      return native?.provider === target.provider && isJsonObject(native.value) ? [native.value] : [];
    }
  }
}

function wireTool(tool: ToolDefinition): Tool {
  const { properties = {}, required, ...rest } = tool.parameters;
  return {
    name: tool.name,
    description: tool.description,
    input_schema: {
      ...rest,
      type: "object",
      properties,
      ...(isStringList(required) ? { required } : {}),
    },
  };
}

const isStringList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

const isBlank = (text: string): boolean => text.trim() === "";

const messageShape = z.lazy(() => {
  const optionalText = z.nullish(z.string());
  const count = z.nullish(z.number());
  const usage = z.object({
    input_tokens: count,
    output_tokens: count,
    cache_read_input_tokens: count,
    cache_creation_input_tokens: count,
  });
  return z.object({
    model: optionalText,
    content: z.array(z.looseObject({ type: z.string() })),
    stop_reason: optionalText,
    usage: z.nullish(usage),
  });
});
const textBlock = z.lazy(() => z.object({ text: z.string() }));
const thinkingBlock = z.lazy(() => z.object({ thinking: z.string(), signature: z.optional(z.string()) }));
const toolUseBlock = z.lazy(() =>
  z.object({ id: z.nullish(z.string()), name: z.string(), input: z.optional(z.unknown()) }),
);

const STOP_REASONS = new Map<string, StopReason>([
  ["end_turn", "end_turn"],
  ["max_tokens", "max_tokens"],
  ["model_context_window_exceeded", "max_tokens"],
  ["stop_sequence", "stop_sequence"],
  ["tool_use", "tool_use"],
  ["pause_turn", "pause"],
  ["refusal", "refusal"],
]);

function parseMessage(answer: unknown, target: WireTarget, callId: CallIdSource): ModelTurn {
  const message = readShape(messageShape, answer, target.provider);
  const raw = message.stop_reason ?? null;
  const stop_reason = (raw === null ? undefined : STOP_REASONS.get(raw)) ?? "other";
  const last = message.content.at(-1);
  return {
    // The answer does not show whether the token limit cut a call's arguments, so its last call counts as cut.
    blocks: message.content.map((block) =>
      parseBlock(block, block === last && stop_reason === "max_tokens", target, callId),
    ),
    stop_reason,
    raw_stop_reason: raw,
    usage: {
      input_tokens: message.usage?.input_tokens ?? 0,
      output_tokens: message.usage?.output_tokens ?? 0,
      cache_read_tokens: message.usage?.cache_read_input_tokens ?? 0,
      cache_write_tokens: message.usage?.cache_creation_input_tokens ?? 0,
    },
    provider: target.provider,
    model: message.model ?? target.model,
  };
}

function parseBlock(
  block: { type: string },
  cut: boolean,
  { provider }: WireTarget,
  callId: CallIdSource,
): Block {
  switch (block.type) {
    case "text":
      return { type: "output_text", text: readShape(textBlock, block, provider).text };
    case "thinking": {
      const { thinking, signature } = readShape(thinkingBlock, block, provider);
      return { type: "reasoning", text: thinking, ...(signature ? { signature } : {}) };
    }
    case "tool_use": {
      const { id, name, input } = readShape(toolUseBlock, block, provider);
      return { type: "tool_call", id: callId(id), name, ...readInput(input, cut) };
    }
    default:
      return { type: "opaque", provider, value: isJsonObject(block) ? block : null };
  }
}

/** Text in place of an object is a streamed input that did not parse. */
function readInput(input: unknown, cut: boolean): { arguments: JsonObject | null; raw: string } {
  const given = input === undefined || input === "" ? {} : input;
  const raw = typeof given === "string" ? given : JSON.stringify(given);
  return { arguments: isJsonObject(given) && !cut ? given : null, raw };
}
