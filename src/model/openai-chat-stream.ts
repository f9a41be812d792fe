/** Folds the chunks of a streamed chat completion into the document of an unstreamed call. */
import { isObject } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import type { StreamEvent } from "./frames.ts";
import { contentTexts, refuseError } from "./openai-chat-answer.ts";
import { createCallFold } from "./openai-chat-calls.ts";
import { detailsText, mergeDetails } from "./openrouter-reasoning.ts";
import { cutOff, eventObject, heardOutput, lengthLimit, textIn, unusable } from "./provider-document.ts";
import { thinkSplitter } from "./think-tags.ts";
import { readUsage } from "./usage.ts";
import type { Sink, StreamReader, WireTarget } from "./wire.ts";

/** Checks by hand the parts of each chunk that it reads: there is one chunk per token. */
export function createOpenAiStream(target: WireTarget, sink: Sink): StreamReader {
  const odd = (what: string) => unusable(target, `${what} of its stream is not as documented`);
  const keep = lengthLimit(target);
  const calls = createCallFold(heardOutput(sink, keep), odd);
  let model: Json = null;
  let content = "";
  let refusal = "";
  let reasoning = "";
  const details: JsonObject[] = [];
  let finishReason: Json = null;
  let usage: JsonObject | null = null;
  let answered = false;
  let complete = false;
  /** What the sink received. Reasoning is kept only while it may still have to be sent as text. */
  let spoke = false;
  let thoughts = "";
  const think = (text: string): void => {
    if (!spoke) thoughts += text;
    sink.onReasoning?.(text);
  };
  const splitter = thinkSplitter({
    onText(text) {
      spoke = true;
      sink.onText?.(text);
    },
    onReasoning: think,
  });

  const takeDelta = (delta: JsonObject): void => {
    const pieces = Array.isArray(delta.reasoning_details) ? delta.reasoning_details : [];
    if (pieces.length > 0) mergeDetails(details, pieces, keep);
    const said = contentOf(delta.content, odd);
    const thought =
      textIn(delta, "reasoning_content") || textIn(delta, "reasoning") || detailsText(pieces) || said.thought;
    if (thought !== "") {
      reasoning += keep(thought);
      think(thought);
    }
    if (said.text !== "") {
      content += keep(said.text);
      splitter.push(said.text);
    }
    refusal += keep(textIn(delta, "refusal"));
    calls.take(delta.tool_calls);
  };

  const takeUsage = (more: JsonObject): void => {
    usage = { ...usage, ...more };
    sink.onUsage?.(readUsage(usage));
  };

  return {
    push(event: StreamEvent): boolean {
      if (event.data === "[DONE]" || event.data.trim() === "[DONE]") {
        complete = true;
        return true;
      }
      const chunk = eventObject(event, target);
      if (typeof chunk.model === "string") model ??= chunk.model;
      if (isObject(chunk.usage)) takeUsage(chunk.usage);
      const { choices } = chunk;
      if (choices === undefined || choices === null) return false;
      if (!Array.isArray(choices)) throw odd("a chunk");
      // Hull asks for one answer. Portkey, in front of Cohere, sends each block of it as a choice of its own.
      const [choice] = choices;
      if (choice === undefined) return false;
      if (!isObject(choice)) throw odd("a choice");
      refuseError(choice, target);
      answered = true;
      // Moonshot's place for it.
      if (isObject(choice.usage)) takeUsage(choice.usage);
      if (typeof choice.finish_reason === "string" && choice.finish_reason !== "") {
        finishReason = choice.finish_reason;
        complete = true;
      }
      // A server that cannot stream may send its whole message as one event.
      const delta = choice.delta ?? choice.message;
      if (isObject(delta)) takeDelta(delta);
      else if (delta !== undefined && delta !== null) throw odd("a delta");
      return false;
    },
    answer() {
      if (!complete || !answered) throw cutOff(target, "its stream was cut off");
      splitter.end();
      const tool_calls = calls.list();
      if (!spoke && tool_calls.length === 0 && refusal === "" && thoughts.trim() !== "") {
        sink.onText?.(thoughts);
      }
      const message = {
        content,
        refusal,
        reasoning_content: reasoning,
        ...(details.length === 0 ? {} : { reasoning_details: details }),
        tool_calls,
      };
      return { model, choices: [{ message, finish_reason: finishReason }], usage };
    },
  };
}

/** The content of a delta: a string, or a list of parts. */
function contentOf(content: Json | undefined, odd: (what: string) => Error): ReturnType<typeof contentTexts> {
  if (isObject(content)) throw odd("a delta");
  return contentTexts(content);
}
