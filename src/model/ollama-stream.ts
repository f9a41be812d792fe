/** Folds the lines of Ollama's native endpoints into the document of an unstreamed call. */
import { isObject } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import type { StreamEvent } from "./frames.ts";
import { cutOff, eventObject, keeper, textIn, unusable } from "./provider-document.ts";
import { thinkSplitter } from "./think-tags.ts";
import type { Sink, StreamReader, WireTarget } from "./wire.ts";

/** Checks by hand the parts of each line that it reads: there is one line per token. The last one has `done: true`. */
export function createOllamaStream(target: WireTarget, sink: Sink): StreamReader {
  const keep = keeper(target);
  const odd = () => unusable(target, "a line of its stream is not as documented");
  let content = "";
  let thinking = "";
  const tool_calls: Json[] = [];
  let last: JsonObject | null = null;
  const splitter = thinkSplitter({
    onText: (text) => sink.onText?.(text),
    onReasoning: (text) => sink.onReasoning?.(text),
  });
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
      for (const call of Array.isArray(message.tool_calls) ? message.tool_calls : []) {
        keep(JSON.stringify(call));
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
  };
}
