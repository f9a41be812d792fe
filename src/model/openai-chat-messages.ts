/** The canonical conversation as messages of the chat protocol. */

import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionContentPart,
  ChatCompletionContentPartText,
  ChatCompletionMessageFunctionToolCall,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import type { Block, Media, Message, ModelRequest, Part } from "../engine/messages.ts";
import { textOfBlocks } from "../engine/messages.ts";
import { isObject, present } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { chatTraits } from "./chat-traits.ts";
import { systemList } from "./system-blocks.ts";
import { type CallIdForm, callIdForm, sendableIds, sendableName, type WireTarget } from "./wire.ts";

/** OpenAI's limit. */
const CALL_IDS = callIdForm(40);
/** Mistral's models accept no other ids (its error 3280), wherever they run. */
const MISTRAL_IDS: CallIdForm = {
  valid: /^[A-Za-z0-9]{9}$/,
  made: (n) => `call${String(n).padStart(5, "0")}`,
};
const MISTRAL = /(?:mi|mini|code|dev|magi)stral|(?:mix|pix)tral/i;

/** A call with the provider's additions that it wants back (Google: `thought_signature`). */
type WireToolCall = ChatCompletionMessageFunctionToolCall & { extra_content?: Json };

/** Entries of tool search go back unchanged, among the calls. */
type WireAssistant = Omit<ChatCompletionAssistantMessageParam, "tool_calls"> & {
  tool_calls?: (WireToolCall | JsonObject)[];
  reasoning_content?: string;
  reasoning_details?: Json;
};

const isMistral = ({ provider, model }: WireTarget): boolean => MISTRAL.test(provider) || MISTRAL.test(model);

export type WireMessage = Exclude<ChatCompletionMessageParam, { role: "assistant" }> | WireAssistant;

export function chatMessages(
  request: Pick<
    ModelRequest,
    "system" | "system_blocks" | "system_listed" | "messages" | "prefill" | "tool_search"
  >,
  target: WireTarget,
): WireMessage[] {
  const { system, prefill } = request;
  const to: Addressee = {
    target,
    sendableId: sendableIds(request.messages, isMistral(target) ? MISTRAL_IDS : CALL_IDS),
    searches: request.tool_search !== undefined,
  };
  const begun: WireMessage[] =
    prefill === undefined || prefill === "" || chatTraits(target).prefill === "none"
      ? []
      : [{ role: "assistant", content: prefill }];
  return [
    ...(system.trim() === "" ? [] : [{ role: "system" as const, content: systemContent(request) }]),
    ...request.messages.flatMap((message) => wireMessages(message, to)),
    ...begun,
  ];
}

/** A list only if the caller sent one: not every provider accepts lists of parts. */
function systemContent({
  system,
  system_blocks,
  system_listed,
}: Pick<ModelRequest, "system" | "system_blocks" | "system_listed">):
  | string
  | ChatCompletionContentPartText[] {
  const blocks = system_listed === true ? systemList(system, system_blocks) : null;
  return blocks?.map(({ text }) => ({ type: "text", text })) ?? system;
}

interface Addressee {
  target: WireTarget;
  sendableId: (id: string) => string;
  /** Whether tool search is on; otherwise the provider does not understand its entries. */
  searches: boolean;
}

function wireMessages(message: Message, to: Addressee): WireMessage[] {
  if (message.role === "user") return [{ role: "user", content: userContent(message.content) }];
  if (message.role === "tool") {
    return message.results.map((result) => ({
      role: "tool",
      tool_call_id: to.sendableId(result.call_id),
      content: result.content,
    }));
  }
  return assistantMessage(message.content, to);
}

/** One string if there is only text: not every provider accepts lists of parts. */
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
      return { type: "file", file: { filename: part.filename ?? "document.pdf", file_data: mediaUrl(part) } };
    case "audio": {
      const format = part.media_type.endsWith("wav") ? "wav" : "mp3";
      return { type: "input_audio", input_audio: { data: part.data, format } };
    }
  }
}

/** The URL of a part, or its bytes as a data URL. */
export const mediaUrl = (media: Media): string =>
  "url" in media ? media.url : `data:${media.media_type};base64,${media.data}`;

/**
 * The messages for a turn. A turn without sendable content gives none, since most providers refuse an assistant message
 * without content.
 */
function assistantMessage(blocks: readonly Block[], to: Addressee): WireAssistant[] {
  const { target } = to;
  const own = blocks.flatMap((block) =>
    block.type === "opaque" && block.provider === target.provider && isObject(block.value)
      ? [block.value]
      : [],
  );
  const calls = blocks.flatMap((block) => wireCall(block, own, to));
  const text = textOfBlocks(blocks);
  const refusal = own.find((value) => typeof value.refusal === "string")?.refusal;
  if (text === "" && calls.length === 0 && refusal === undefined) return [];
  const reasoning = textOfBlocks(blocks, "reasoning");
  const details = blocks.flatMap((block) =>
    block.type === "reasoning" &&
    block.native?.provider === target.provider &&
    Array.isArray(block.native.value)
      ? block.native.value
      : [],
  );
  return [
    {
      role: "assistant",
      content: text === "" ? null : text,
      ...present({ tool_calls: calls, reasoning_details: details }),
      ...(typeof refusal === "string" ? { refusal } : {}),
      ...(target.reasoning_echo && calls.length > 0 ? { reasoning_content: reasoning } : {}),
    },
  ];
}

function wireCall(
  block: Block,
  own: readonly JsonObject[],
  { target, sendableId, searches }: Addressee,
): (WireToolCall | JsonObject)[] {
  if (block.type === "tool_search_query" || block.type === "tool_search_result") {
    const value = searches && block.native?.provider === target.provider ? block.native.value : null;
    // Items of a response have `execution`; this protocol does not know them.
    return isObject(value) && !("execution" in value) ? [value] : [];
  }
  if (block.type !== "tool_call") return [];
  const extra = own.find((value) => value.call_id === block.id)?.extra_content;
  return [
    {
      id: sendableId(block.id),
      type: "function",
      function: { name: sendableName(block.name), arguments: block.raw.trim() === "" ? "{}" : block.raw },
      ...(extra === undefined ? {} : { extra_content: extra }),
    },
  ];
}
