/** Folds the chunks of a streamed chat completion into the document that an unstreamed call would have given. */
import { ProviderBadResponse } from "../errors/provider.ts";
import { chunkShape, type DeltaCall } from "./openai-chat-shape.ts";
import type { ServerSentEvent } from "./sse.ts";
import type { StreamReader, WireTarget } from "./wire.ts";
import { parseArguments, parseJson, providerWords, readShape, type Sink } from "./wire.ts";

interface OpenCall {
  index: number | null;
  id: string | null;
  name: string;
  /** Text so far; anything else is what the provider sent in place of text. */
  arguments: unknown;
  extra_content: unknown;
}

export function createOpenAiStream(target: WireTarget, sink: Sink): StreamReader {
  const { provider } = target;
  const broken = (reason: string, words = {}) => new ProviderBadResponse({ provider, reason, ...words });
  const calls: OpenCall[] = [];
  let model: string | null = null;
  let content = "";
  let refusal: string | null = null;
  let reasoning = "";
  let finishReason: string | null = null;
  let usage: Record<string, unknown> | null = null;
  let answered = false;
  let complete = false;

  return {
    push(event: ServerSentEvent): boolean {
      if (event.data.trim() === "[DONE]") {
        complete = true;
        return true;
      }
      const data = parseJson(event.data);
      if (data === undefined) throw broken("an event of its stream is not JSON");
      if (event.event === "error") throw broken("its stream holds an error event", providerWords(data));
      const chunk = readShape(chunkShape, data, provider);
      model ??= chunk.model ?? null;
      usage = chunk.usage ?? usage;
      const choice = chunk.choices?.find((item) => (item.index ?? 0) === 0);
      if (choice === undefined) return false;
      answered = true;
      if (choice.finish_reason) {
        finishReason = choice.finish_reason;
        complete = true;
      }
      const { delta } = choice;
      if (delta === null || delta === undefined) return false;
      const text =
        typeof delta.content === "string"
          ? delta.content
          : (delta.content ?? []).map((part) => (part.type === "text" ? (part.text ?? "") : "")).join("");
      const thought = delta.reasoning_content || delta.reasoning || "";
      content += text;
      reasoning += thought;
      if (delta.refusal) refusal = (refusal ?? "") + delta.refusal;
      for (const call of delta.tool_calls ?? []) addFragment(calls, call);
      if (thought !== "") sink.onReasoning?.(thought);
      if (text !== "") sink.onText?.(text);
      return false;
    },
    answer() {
      if (!complete || !answered) throw broken("its stream was cut off");
      const message = {
        content,
        refusal,
        reasoning_content: reasoning,
        tool_calls: calls.map(({ id, name, arguments: args, extra_content }) => ({
          id,
          function: { name, arguments: args },
          extra_content,
        })),
      };
      return { model, choices: [{ message, finish_reason: finishReason }], usage };
    },
  };
}

/** Adds one fragment to the call it belongs to, or begins a call. */
function addFragment(calls: OpenCall[], fragment: DeltaCall): void {
  const call = callOf(calls, fragment);
  call.id ??= fragment.id || null;
  if (call.name === "") call.name = fragment.function?.name ?? "";
  if (fragment.extra_content !== undefined) call.extra_content = fragment.extra_content;
  const piece = fragment.function?.arguments;
  if (piece === undefined) return;
  call.arguments =
    typeof piece === "string" && typeof call.arguments === "string"
      ? call.arguments + piece
      : call.arguments === undefined || piece !== null
        ? piece
        : call.arguments;
}

/**
 * By index where the provider sends one. A name with another id begins a new call even under a known index (providers
 * that send 0 for all). Without an index (Google), a fragment continues the last call unless it names a tool and has
 * another id, or the last call is complete.
 */
function callOf(calls: OpenCall[], fragment: DeltaCall): OpenCall {
  const index = fragment.index ?? null;
  const known = index === null ? calls.at(-1) : calls.findLast((call) => call.index === index);
  const named = Boolean(fragment.function?.name);
  const otherId = Boolean(fragment.id) && fragment.id !== known?.id;
  const isNew = named && (otherId || (index === null && known !== undefined && isComplete(known)));
  if (known !== undefined && !isNew) return known;
  const begun: OpenCall = { index, id: null, name: "", arguments: undefined, extra_content: undefined };
  calls.push(begun);
  return begun;
}

const isComplete = (call: OpenCall): boolean =>
  call.arguments !== undefined &&
  (typeof call.arguments !== "string" || (call.arguments !== "" && parseArguments(call.arguments) !== null));
