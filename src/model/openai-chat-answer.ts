/** Turns a chat completion into the canonical turn. */
import * as z from "zod/mini";
import type { Block, ModelTurn } from "../engine/messages.ts";
import { isObject } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { detailsText } from "./openrouter-reasoning.ts";
import {
  failedAnswer,
  optionalText,
  parseArguments,
  rawArguments,
  readShape,
  textIn,
  unusable,
} from "./provider-document.ts";
import { splitThinking } from "./think-tags.ts";
import { searchBlock } from "./tool-search-blocks.ts";
import { type CallIdSource, stopReason, turnOf, type WireTarget } from "./wire.ts";

/** @throws ProviderBadResponse if it is an error object or has another shape */
export function parseCompletion(answer: unknown, target: WireTarget, callId: CallIdSource): ModelTurn {
  refuseError(isObject(answer) && Array.isArray(answer.choices) ? answer.choices[0] : null, target);
  const completion = readShape(completionShape, answer, target);
  const [choice] = completion.choices;
  const message = choice?.message ?? {};
  const raw = choice?.finish_reason ?? null;
  const blocks = messageBlocks(message, stopReason(raw) === "max_tokens", target, callId);
  const turn = turnOf(target, completion, blocks, raw);
  return message.refusal ? { ...turn, stop_reason: "refusal" } : turn;
}

/** @throws ProviderBadResponse if a choice holds an error in place of an answer, as OpenRouter sends it */
export function refuseError(choice: unknown, target: WireTarget): void {
  if (!isObject(choice) || !isObject(choice.error)) return;
  throw failedAnswer(target, "a choice of it is an error", { error: choice.error });
}

/**
 * In the canonical order: reasoning, text, calls; the protocol itself has none. `cut`: the token limit ended the turn,
 * so a last call without arguments lost them.
 */
function messageBlocks(
  message: Partial<WireMessage>,
  cut: boolean,
  target: WireTarget,
  callId: CallIdSource,
): Block[] {
  const { provider } = target;
  const blocks: Block[] = [];
  const details = message.reasoning_details ?? [];
  const { text, thought } = contentTexts(message.content);
  const reasoning = message.reasoning_content || message.reasoning || detailsText(details) || thought;
  if (reasoning !== "" || details.length > 0) {
    const native = details.length === 0 ? {} : { native: { provider, value: details } };
    blocks.push({ type: "reasoning", text: reasoning, ...native });
  }
  blocks.push(...textBlocks(text));
  if (message.refusal) blocks.push({ type: "opaque", provider, value: { refusal: message.refusal } });
  const calls = message.tool_calls ?? [];
  let search = "";
  for (const call of calls) {
    const found = isObject(call) ? searchBlock(call, provider, search) : null;
    if (found?.type === "tool_search_query") search = found.id;
    if (found !== null) blocks.push(found);
    else blocks.push(...callBlocks(call, cut && call === calls.at(-1), target, callId));
  }
  return withSpokenReasoning(blocks);
}

/**
 * The text of a content, and the reasoning that Mistral puts into parts of it. Workers AI sends a piece of text that is a
 * JSON value, such as a digit, as this value.
 */
export function contentTexts(content: string | number | boolean | readonly unknown[] | null | undefined): {
  text: string;
  thought: string;
} {
  if (typeof content !== "object") return { text: String(content ?? ""), thought: "" };
  const parts = (content ?? []).filter(isObject);
  const thoughts = parts.flatMap(({ type, thinking }) =>
    type === "thinking" && Array.isArray(thinking) ? thinking.filter(isObject) : [],
  );
  return { text: textsOf(parts), thought: textsOf(thoughts) };
}

const textsOf = (parts: readonly JsonObject[]): string =>
  parts.map((part) => (part.type === "text" ? textIn(part, "text") : "")).join("");

/** Text and the reasoning inside it, in order. */
export const textBlocks = (text: string): Block[] =>
  splitThinking(text).map(({ type, text: piece }) =>
    type === "text" ? { type: "output_text", text: piece } : { type: "reasoning", text: piece },
  );

/** Some models put their whole answer into the reasoning. If a turn has nothing else, the reasoning is its text too. */
function withSpokenReasoning(blocks: Block[]): Block[] {
  const thoughts = blocks.flatMap((block) => (block.type === "reasoning" ? [block] : []));
  const text = thoughts.map((block) => block.text).join("");
  return thoughts.length < blocks.length || text.trim() === ""
    ? blocks
    : [...blocks, { type: "output_text", text }];
}

function callBlocks(call: WireCall, cut: boolean, target: WireTarget, callId: CallIdSource): Block[] {
  if (call.function === undefined || call.function === null) {
    throw unusable(target, "a tool call of it is not as documented");
  }
  const { provider } = target;
  const id = callId(call.id);
  const raw = rawArguments(call.function.arguments);
  const block: Block = {
    type: "tool_call",
    id,
    name: call.function.name ?? "",
    arguments: cut && raw.trim() === "" ? null : parseArguments(raw),
    raw,
  };
  const { extra_content } = call;
  return extra_content === undefined
    ? [block]
    : [block, { type: "opaque", provider, value: { call_id: id, extra_content } }];
}

function messageShape() {
  const part = z.looseObject({ type: z.string() });
  const called = z.object({ name: optionalText(), arguments: z.optional(z.unknown()) });
  const call = z.looseObject({
    id: optionalText(),
    type: optionalText(),
    function: z.nullish(called),
    /** Kept unchanged and sent back; everything in a JSON document is JSON. */
    extra_content: z.optional(z.custom<Json>()),
  });
  return z.object({
    content: z.nullish(z.union([z.string(), z.number(), z.boolean(), z.array(part)])),
    refusal: optionalText(),
    reasoning: optionalText(),
    reasoning_content: optionalText(),
    reasoning_details: z.catch(z.nullish(z.array(z.custom<Json>())), null),
    tool_calls: z.nullish(z.array(call)),
  });
}
export type WireMessage = z.infer<ReturnType<typeof messageShape>>;
export type WireCall = NonNullable<WireMessage["tool_calls"]>[number];

const completionShape = z.lazy(() => {
  const choice = z.object({ message: messageShape(), finish_reason: optionalText() });
  return z.object({
    model: optionalText(),
    choices: z.array(choice).check(z.minLength(1)),
    usage: z.optional(z.unknown()),
  });
});
