/**
 * Folds the events of a streamed response into the response of an unstreamed call. The last event contains it; servers
 * that leave its output out sent each item before.
 */
import { isObject } from "../skill/json.ts";
import type { JsonObject } from "../skill/manifest.ts";
import type { StreamEvent } from "./frames.ts";
import { cutOff, eventObject, failedAnswer, textIn, unusable } from "./provider-document.ts";
import { thinkSplitter } from "./think-tags.ts";
import type { Sink, StreamReader, WireTarget } from "./wire.ts";

/** The most items of one response. */
const MAX_ITEMS = 10_000;

/** Checks by hand the parts of each event that it reads: there is one event per token. */
export function createResponsesStream(target: WireTarget, sink: Sink): StreamReader {
  const odd = () => unusable(target, "an event of its stream is not as documented");
  const items: JsonObject[] = [];
  let response: JsonObject | null = null;
  const splitter = thinkSplitter(sink);
  return {
    push(received: StreamEvent): boolean {
      if (received.data === "[DONE]") return true;
      const event = eventObject(received, target);
      switch (event.type) {
        case "response.output_text.delta": {
          const text = textIn(event, "delta");
          if (text !== "") splitter.push(text);
          return false;
        }
        case "response.reasoning_text.delta":
        case "response.reasoning_summary_text.delta": {
          const text = textIn(event, "delta");
          if (text !== "") sink.onReasoning?.(text);
          return false;
        }
        case "response.function_call_arguments.delta":
          sink.onOutput?.(textIn(event, "delta"));
          return false;
        case "response.output_item.done": {
          const { output_index: at, item } = event;
          const place = typeof at === "number" ? at : items.length;
          if (!isObject(item) || !(place >= 0 && place < MAX_ITEMS)) throw odd();
          items[place] = item;
          return false;
        }
        case "response.completed":
        case "response.incomplete":
        case "response.failed":
          if (!isObject(event.response)) throw odd();
          response = event.response;
          return true;
        case "error":
          throw failedAnswer(target, "its stream holds an error event", {
            error: { ...event, type: event.code ?? null },
          });
        default:
          if (typeof event.type !== "string") throw odd();
          return false;
      }
    },
    answer() {
      if (response === null) throw cutOff(target, "its stream was cut off");
      splitter.end();
      const { output } = response;
      if (Array.isArray(output) && output.length > 0) return response;
      return { ...response, output: items.filter((item) => item !== undefined) };
    },
  };
}
