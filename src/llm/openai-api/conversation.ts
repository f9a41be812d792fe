/** The messages of a chat completion's client as canonical messages. */
import type { Block, Message, SystemBlock, ToolResultMessage } from "../../engine/messages.ts";
import { toolCall } from "../../model/provider-document.ts";
import { isObject, objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { decodeBlock } from "../foreign-blocks.ts";
import { textMember, wrong } from "../members.ts";
import { addResults } from "../messages.ts";
import { systemBlock } from "../system-prompt.ts";
import { type OwnCall, ToolCallIds } from "../tool-call-ids.ts";
import { filePart, imagePart, type OwnPart, partsOf, textOf, textsOf } from "./message-content.ts";

interface ChatConversation {
  /** Texts of system and developer messages, in order. */
  system: SystemBlock[];
  /** Whether one of them came as a list. */
  listed: boolean;
  messages: Message[];
  /** A call without a result; `null`: there is none. */
  unanswered: OwnCall | null;
}

/** @throws InvalidRequest if a message lacks what its role needs, or a result has no call before it */
export function readChat(list: readonly Json[]): ChatConversation {
  const system: SystemBlock[] = [];
  let listed = false;
  const messages: Message[] = [];
  const called = new ToolCallIds();
  for (const [index, message] of list.entries()) {
    const path = `messages.${index}`;
    if (!isObject(message)) throw wrong(path, "a message is an object");
    switch (message.role) {
      case "system":
      case "developer":
        system.push(...systemOf(message.content, `${path}.content`));
        listed ||= Array.isArray(message.content);
        break;
      case "user":
        messages.push({ role: "user", content: partsOf(message.content, `${path}.content`, ownPart) });
        break;
      case "assistant": {
        const content = said(message, path);
        const calls = content.filter((block) => block.type === "tool_call");
        for (const [n, { id, name }] of calls.entries()) called.add(id, name, `${path}.tool_calls.${n}.id`);
        if (content.length > 0) messages.push({ role: "assistant", content });
        break;
      }
      case "tool":
        addResults(messages, [resultOf(message, path, called)]);
        break;
      default:
        throw wrong(`${path}.role`, "the role is system, developer, user, assistant or tool");
    }
  }
  return { system, listed, messages, unanswered: called.unanswered };
}

/** Parts may have Anthropic's marks of the prompt cache, as clients of OpenRouter and LiteLLM send them. */
function systemOf(content: Json | undefined, path: string): SystemBlock[] {
  const given = Array.isArray(content) ? content : [];
  return textsOf(content, path, ownPart).map((text, n) => systemBlock(text, given[n]));
}

function said(message: JsonObject, path: string): Block[] {
  const { tool_calls = null, reasoning_details = null, refusal } = message;
  const own = message.content == null ? "" : textOf(message.content, `${path}.content`, ownPart);
  // A refusal counts as the assistant's text, like a refusal part in `content`.
  const text = own === "" && typeof refusal === "string" ? refusal : own;
  const calls = Array.isArray(tool_calls) ? tool_calls : [];
  const thoughts = Array.isArray(reasoning_details) ? reasoning_details.flatMap(thoughtIn) : [];
  return [
    ...thoughts,
    ...(text === "" ? [] : [{ type: "output_text" as const, text }]),
    ...calls.map((call, n) => callOf(call, `${path}.tool_calls.${n}`)),
  ];
}

/**
 * The block in a detail, if Hull itself put it into `reasoning_details`. Any other detail is useless to the provider.
 */
function thoughtIn(detail: Json): Block[] {
  const block = isObject(detail) && typeof detail.data === "string" ? decodeBlock(detail.data) : null;
  return block === null ? [] : [block];
}

function callOf(call: Json, path: string): Block {
  const called = isObject(call) && isObject(call.function) ? call.function : null;
  if (!isObject(call) || called === null || typeof called.name !== "string" || typeof call.id !== "string") {
    throw wrong(path, "a call has an id and a function with name and arguments");
  }
  return toolCall(call.id, called.name, called.arguments);
}

function resultOf(message: JsonObject, path: string, called: ToolCallIds): ToolResultMessage {
  const { tool_call_id, content } = message;
  if (typeof tool_call_id !== "string") throw wrong(`${path}.tool_call_id`, "a string is required");
  const name = called.nameOf(tool_call_id, `${path}.tool_call_id`);
  return {
    call_id: tool_call_id,
    name,
    content: textOf(content, `${path}.content`, ownPart),
    is_error: false,
  };
}

/** Parts that have other names in responses. */
const ownPart: OwnPart = (part, path) => {
  if (part.type === "image_url") {
    const image = objectOf(part.image_url);
    return imagePart(textMember(image, "url", `${path}.image_url`), image.detail, path);
  }
  if (part.type !== "file") return null;
  const file = objectOf(part.file);
  if (typeof file.file_data !== "string") throw wrong(`${path}.file`, "file_data or file_id is required");
  return filePart(file.file_data, file.filename);
};
