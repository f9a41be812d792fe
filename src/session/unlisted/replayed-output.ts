/** A script's output that is read a second time: what was told of it before is not told again. */
import { fromBase64 } from "../../bytes.ts";
import { pieceOf } from "../../run/delta.ts";
import type { RunEvent } from "../../run/events.ts";

export class ReplayedOutput {
  /** Bytes of each stream that were told. */
  readonly #told = { delta: 0, stderr: 0 };

  constructor(events: readonly RunEvent[]) {
    for (const event of events) {
      if (event.event === "delta" || event.event === "stderr") {
        this.#told[event.event] += bytesOf(event).length;
      }
    }
  }

  /** What is new of an event; `null` where all of it was told. */
  rest(event: RunEvent): RunEvent | null {
    if (event.event !== "delta" && event.event !== "stderr") return event;
    const told = this.#told[event.event];
    if (told === 0) return event;
    const bytes = bytesOf(event);
    this.#told[event.event] = Math.max(0, told - bytes.length);
    return bytes.length <= told ? null : { event: event.event, data: pieceOf(bytes.subarray(told)) };
  }
}

function bytesOf({ data: { text, b64 } }: Extract<RunEvent, { event: "delta" | "stderr" }>): Uint8Array {
  if (text !== undefined) return new TextEncoder().encode(text);
  return b64 === undefined ? new Uint8Array(0) : fromBase64(b64);
}
