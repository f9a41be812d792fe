/** The canonical conversation as input items of the Responses protocol. */

import type {
  EasyInputMessage,
  ResponseFunctionToolCall,
  ResponseInputContent,
  ResponseInputItem,
} from "openai/resources/responses/responses";
import type { Block, ModelRequest, Part } from "../engine/messages.ts";
import { UnsupportedMediaType } from "../errors/request.ts";
import { isObject } from "../skill/json.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { mediaUrl } from "./openai-chat-messages.ts";
import { callIdForm, sendableIds, sendableName, type WireTarget } from "./wire.ts";

const CALL_IDS = callIdForm(64);

/** A typed item, or one of the provider's own that goes back unchanged. */
export type WireItem = ResponseInputItem | JsonObject;

export function responsesInput(request: ModelRequest, target: WireTarget): WireItem[] {
  const sendableId = sendableIds(request.messages, CALL_IDS);
  // If tools are declared in namespaces, a call names the namespace of its tool.
  const namespaces = new Map(
    request.tool_search === undefined
      ? []
      : request.tools.flatMap(({ name, namespace }) => (namespace === undefined ? [] : [[name, namespace]])),
  );
  const callItem = (block: Block & { type: "tool_call" }): ResponseFunctionToolCall => {
    const name = sendableName(block.name);
    const namespace = namespaces.get(name);
    return {
      type: "function_call",
      call_id: sendableId(block.id),
      name,
      arguments: block.raw.trim() === "" ? "{}" : block.raw,
      ...(namespace === undefined ? {} : { namespace }),
    };
  };
  return request.messages.flatMap((message): WireItem[] => {
    if (message.role === "assistant") {
      const known = knownBlocks(message.content, request);
      return assistantItems(known, target, callItem);
    }
    if (message.role === "user") {
      const { content } = message;
      return [{ role: "user", content: content.length === 0 ? "" : content.map(inputPart) }];
    }
    return message.results.map((result) => ({
      type: "function_call_output",
      call_id: sendableId(result.call_id),
      output: result.content,
    }));
  });
}

function inputPart(part: Part): ResponseInputContent {
  switch (part.type) {
    case "text":
      return { type: "input_text", text: part.text };
    case "image":
      return { type: "input_image", image_url: mediaUrl(part), detail: part.detail ?? "auto" };
    case "document":
      return "url" in part
        ? { type: "input_file", file_url: part.url }
        : { type: "input_file", filename: part.filename ?? "document.pdf", file_data: mediaUrl(part) };
    case "audio":
      throw new UnsupportedMediaType({
        type: part.media_type,
        accepted: ["text/*", "image/*", "application/pdf"],
      });
  }
}

/** The provider understands results of tool search only while it is on. */
const knownBlocks = (content: readonly Block[], { tool_search }: ModelRequest): readonly Block[] =>
  tool_search !== undefined ? content : content.filter(({ type }) => !type.startsWith("tool_search_"));

/** The items of a turn. Reasoning must be followed by what it led to; alone it is refused. */
function assistantItems(
  content: readonly Block[],
  { provider }: WireTarget,
  callItem: (block: Block & { type: "tool_call" }) => WireItem,
): WireItem[] {
  const items: WireItem[] = [];
  const messages: (EasyInputMessage & { content: string })[] = [];
  const say = (text: string): void => {
    const last = messages.at(-1);
    if (last !== undefined && items.at(-1) === last) {
      last.content += text;
      return;
    }
    const said = { role: "assistant" as const, content: text };
    messages.push(said);
    items.push(said);
  };
  for (const block of content) {
    if (block.type === "output_text") {
      if (block.text !== "") say(block.text);
    } else if (block.type === "tool_call") items.push(callItem(block));
    else {
      const native = block.type === "opaque" ? block : block.native;
      if (native?.provider !== provider || !isObject(native.value)) continue;
      const { value } = native;
      if (isItem(value)) items.push(value);
      else if (typeof value.refusal === "string") say(value.refusal);
      else if (isPhase(value.phase)) setPhase(messages.at(-1), value.phase);
    }
  }
  return items.every((item) => "type" in item && item.type === "reasoning") ? [] : items;
}

function setPhase(message: EasyInputMessage | undefined, phase: "commentary" | "final_answer"): void {
  if (message !== undefined) message.phase = phase;
}

const isPhase = (phase: unknown): phase is "commentary" | "final_answer" =>
  phase === "commentary" || phase === "final_answer";

/** Whether a value is an item of a response, not a value of the same provider's chat protocol. */
const isItem = (value: JsonObject): boolean =>
  typeof value.type === "string" && (!value.type.startsWith("tool_search_") || "execution" in value);
