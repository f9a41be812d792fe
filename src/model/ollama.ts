/**
 * Ollama's native chat protocol: turns the canonical request into a body, and the answer into a canonical turn. Always
 * streamed, one JSON object per line.
 */

import * as z from "zod/mini";
import type { Block, Message, ModelRequest, ModelTurn, Part } from "../engine/messages.ts";
import { textOfBlocks } from "../engine/messages.ts";
import { ModelLacks } from "../errors/provider.ts";
import { UnsupportedMediaType } from "../errors/request.ts";
import { exactJson } from "../skill/exact-json.ts";
import { isObject, objectOf, present, textOf } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { callAt, createOllamaStream } from "./ollama-stream.ts";
import { textBlocks } from "./openai-chat-answer.ts";
import { optionalText, parseArguments, readShape } from "./provider-document.ts";
import { rootObject } from "./root-schema.ts";
import { type CallIdSource, sendableName, turnOf, type Wire, type WireTarget } from "./wire.ts";

/** Hull's defaults: Ollama's own suit short chats. */
const OPTIONS = { num_ctx: 32_768, min_p: 0.05, repeat_penalty: 1.05 };
const KEEP_ALIVE = "30m";

export const ollama: Wire = {
  framing: "ndjson",
  body: ollamaBody,
  parse: parseOllama,
  stream: createOllamaStream,
};

interface WireCall {
  id: string;
  function: { name: string; arguments: JsonObject };
}

/** https://github.com/ollama/ollama/blob/main/api/types.go, `Message` */
interface WireMessage {
  role: "system" | "user" | "assistant" | "tool";
  content: string;
  thinking?: string;
  images?: string[];
  tool_calls?: WireCall[];
  tool_name?: string;
  tool_call_id?: string;
}

function ollamaBody(request: ModelRequest, target: WireTarget, stream: boolean): object {
  const { system, thinking, prefill } = request;
  const messages: WireMessage[] = [
    ...(system.trim() === "" ? [] : [{ role: "system" as const, content: system }]),
    ...request.messages.flatMap((message) => wireMessages(message, target)),
    ...(prefill === undefined || prefill === "" ? [] : [{ role: "assistant" as const, content: prefill }]),
  ];
  // There is no tool choice: tools that may not be called are not declared.
  const tools = request.tool_choice === "none" ? [] : request.tools;
  return {
    model: target.model,
    messages,
    ...ollamaParameters(request),
    ...(tools.length === 0 ? {} : { tools: tools.map(wireTool) }),
    ...(thinking === undefined ? {} : { think: thinking.mode === "effort" ? thinking.level : true }),
    ...(request.json ? { format: request.schema?.schema ?? "json" } : {}),
    stream,
  };
}

/** Limits and sampling, in the form for both native endpoints. */
export function ollamaParameters({
  max_tokens,
  sampling = {},
}: Pick<ModelRequest, "max_tokens" | "sampling">): object {
  const { temperature, top_p, top_k, stop, seed } = sampling;
  return {
    max_tokens,
    options: { ...OPTIONS, num_predict: max_tokens, ...present({ temperature, top_p, top_k, stop, seed }) },
    keep_alive: KEEP_ALIVE,
  };
}

const wireTool = ({ name, description, parameters }: ModelRequest["tools"][number]) => ({
  type: "function",
  function: { name, description, parameters: rootObject(parameters) },
});

function wireMessages(message: Message, target: WireTarget): WireMessage[] {
  if (message.role === "user") return [userMessage(message.content, target)];
  if (message.role === "tool") {
    return message.results.map(({ content, name, call_id }) => ({
      role: "tool",
      content,
      tool_name: sendableName(name),
      tool_call_id: call_id,
    }));
  }
  const { content } = message;
  const text = textOfBlocks(content);
  const thinking = content.map(ownThought).join("");
  const calls = content.flatMap((block): WireCall[] =>
    block.type === "tool_call"
      ? [{ id: block.id, function: { name: sendableName(block.name), arguments: block.arguments ?? {} } }]
      : [],
  );
  if (text === "" && calls.length === 0) return [];
  // Models that think between calls need to see their earlier thoughts.
  const thought = calls.length === 0 ? "" : thinking;
  return [{ role: "assistant", content: text, ...present({ thinking: thought, tool_calls: calls }) }];
}

/** The text of reasoning; empty if another provider signed it, since that is useless here. */
const ownThought = (block: Block): string =>
  block.type === "reasoning" && block.signature === undefined && block.native === undefined ? block.text : "";

function userMessage(parts: readonly Part[], { provider, model }: WireTarget): WireMessage {
  const images = parts.flatMap((part): string[] => {
    if (part.type === "text") return [];
    if (part.type === "image" && "data" in part) return [part.data];
    if ("url" in part) {
      const what = "files by URL; send the bytes in Base64";
      throw new ModelLacks({ provider, model, option: "messages", what });
    }
    throw new UnsupportedMediaType({ type: part.media_type, accepted: ["text/*", "image/*"] });
  });
  const content = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
  return { role: "user", content, ...present({ images }) };
}

const answerShape = z.lazy(() => {
  const text = optionalText();
  const called = z.object({ name: z.string(), arguments: z.optional(z.custom<Json>()) });
  const call = z.object({ id: text, function: called });
  return z.looseObject({
    model: text,
    message: z.object({ content: text, thinking: text, tool_calls: z.nullish(z.array(call)) }),
    done_reason: text,
  });
});

function parseOllama(answer: unknown, target: WireTarget, callId: CallIdSource, sent = ""): ModelTurn {
  const { model, message, done_reason, ...usage } = readShape(answerShape, answer, target);
  const blocks: Block[] = [
    ...(message.thinking ? [{ type: "reasoning" as const, text: message.thinking }] : []),
    ...textBlocks(message.content ?? ""),
    ...(message.tool_calls ?? []).map(({ id, function: { name, arguments: given } }, index): Block => {
      const args = isObject(given) ? given : parseArguments(textOf(given));
      const place = (document: Json): Json | undefined =>
        objectOf(callAt(document, index).function).arguments;
      const text = typeof given === "string" ? given : exactJson(given ?? {}, sent, place);
      return { type: "tool_call", id: callId(id), name, arguments: args, raw: text };
    }),
  ];
  return turnOf(target, { model, usage }, blocks, done_reason ?? null);
}
