/** Folds the lines of Ollama's native endpoints into the document of an unstreamed call. */
import { compactPart } from "../skill/exact-json.ts";
import { isObject, objectOf } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import type { StreamEvent } from "./frames.ts";
import { cutOff, eventObject, heardOutput, lengthLimit, textIn, unusable } from "./provider-document.ts";
import { thinkSplitter } from "./think-tags.ts";
import type { Sink, StreamReader, WireTarget } from "./wire.ts";

/** A call of a line, or of the whole document. */
export function callAt(document: Json, index: number): JsonObject {
  const { tool_calls } = objectOf(objectOf(document).message);
  return objectOf(Array.isArray(tool_calls) ? tool_calls[index] : null);
}

/** Checks by hand the parts of each line that it reads: there is one line per token. The last one has `done: true`. */
export function createOllamaStream(target: WireTarget, sink: Sink): StreamReader {
  const keep = lengthLimit(target);
  const output = heardOutput(sink, keep);
  const odd = () => unusable(target, "a line of its stream is not as documented");
  let content = "";
  let thinking = "";
  const tool_calls: Json[] = [];
  /** The calls as JSON, with all digits of their numbers. */
  const texts: string[] = [];
  let last: JsonObject | null = null;
  const splitter = thinkSplitter(sink);
  return {
    push(event: StreamEvent): boolean {
      const line = eventObject(event, target);
      const message = line.message ?? {};
      if (!isObject(message)) throw odd();
      const thought = textIn(message, "thinking");
      if (thought !== "") {
        thinking += keep(thought);
        sink.onReasoning?.(thought);
      }
      const text = textIn(message, "content");
      if (text !== "") {
        content += keep(text);
        splitter.push(text);
      }
      for (const [n, call] of (Array.isArray(message.tool_calls) ? message.tool_calls : []).entries()) {
        texts.push(output(compactPart(event.data, call, (document) => callAt(document, n))));
        tool_calls.push(call);
      }
      if (line.done === true) last = line;
      return last !== null;
    },
    answer() {
      if (last === null) throw cutOff(target, "its stream was cut off");
      splitter.end();
      return { ...last, message: { content, thinking, tool_calls } };
    },
    text: () => `{"message":{"tool_calls":[${texts.join(",")}]}}`,
  };
}
