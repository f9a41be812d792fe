/** The events of a skill's run in a session; the last one also lists the files that the run made. */
import { wellFormedJson } from "../../bytes.ts";
import type { Warning } from "../../engine/messages.ts";
import { toHullError } from "../../errors.ts";
import type { ProducedFile } from "../../run/answers.ts";
import { formatEvent } from "../../run/events.ts";
import { logError, problemOf } from "../../run/problem.ts";
import { isObject } from "../../skill/json.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { RequestContext } from "../context.ts";

const DONE = /^(?:id: [^\n]*\n)?event: done\ndata: /;

interface MadeFiles {
  files: readonly ProducedFile[];
  /** What the answer says about files that it lacks. */
  warnings: readonly Warning[];
}

/**
 * The stream, with `files` added to the `done` of a run that answers its caller. If the run has no answer, or cannot
 * answer without files that are not stored, an `error` precedes the `done`, which then says `ok: false`.
 * @param filesOf stores the files that the run made; called with its result once the run has ended. `null`: it does not
 *   answer its caller yet
 */
export function eventsWithFiles(
  context: RequestContext,
  events: ReadableStream<Uint8Array>,
  filesOf: (result: JsonObject) => Promise<MadeFiles | null>,
): ReadableStream<Uint8Array> {
  const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
  const encoder = new TextEncoder();
  const frames = new Frames();
  const shown = async (frame: string): Promise<string> => {
    const [head = null] = DONE.exec(frame) ?? [];
    if (head === null) return frame;
    const text = frame.slice(head.length).trimEnd();
    const data = parsedJson(text);
    if (!isObject(data) || data.ok !== true) return frame;
    try {
      const made = await filesOf(data);
      if (made === null) return frame;
      const files = wellFormedJson(context.redacted(made.files));
      // Sends the original text, since numbers that JavaScript cannot hold must keep their digits.
      return `${head}${withWarnings(data, text, context.redacted(made.warnings)).slice(0, -1)},"files":${files}}\n\n`;
    } catch (thrown) {
      const error = toHullError(thrown);
      logError(error, context);
      const failed = formatEvent(problemOf(error, context), "error");
      return `${failed}${head}${text.replace(/^\{"ok":true/, '{"ok":false')}\n\n`;
    }
  };
  return events.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      async transform(chunk, controller) {
        for (const frame of frames.push(decoder.decode(chunk, { stream: true })))
          controller.enqueue(encoder.encode(await shown(frame)));
      },
      flush(controller) {
        const rest = frames.rest();
        if (rest !== "") controller.enqueue(encoder.encode(rest));
      },
    }),
  );
}

/** The text of `data`, with further warnings, if there are any. */
function withWarnings(data: JsonObject, text: string, further: readonly Warning[]): string {
  const { warnings: own } = data;
  return further.length === 0
    ? text
    : wellFormedJson({ ...data, warnings: [...(Array.isArray(own) ? own : []), ...further] });
}

/** Cuts a text into events, however it is split into pieces: each event ends with a blank line, and contains none. */
class Frames {
  #pieces: string[] = [];
  #last = "";

  push(text: string): string[] {
    const whole: string[] = [];
    for (let left = text; left !== ""; ) {
      const across = this.#last === "\n" && left.startsWith("\n");
      const end = across ? 1 : left.indexOf("\n\n") + 2;
      const ends = across || end > 1;
      const piece = ends ? left.slice(0, end) : left;
      this.#pieces.push(piece);
      this.#last = piece.at(-1) ?? "";
      left = left.slice(piece.length);
      if (ends) whole.push(this.rest());
    }
    return whole;
  }

  /** The beginning of an event that is not yet complete. */
  rest(): string {
    const text = this.#pieces.join("");
    this.#pieces = [];
    this.#last = "";
    return text;
  }
}
