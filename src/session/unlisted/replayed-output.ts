/** Filters a script's output that the runner sends again, so that no part reaches the client twice. */
import { fromBase64 } from "../../bytes.ts";
import { pieceOf } from "../../run/delta.ts";
import type { RunEvent } from "../../run/events.ts";

export class ReplayedOutput {
  /** Bytes of each stream that were already sent. */
  readonly #sent = { delta: 0, stderr: 0 };

  constructor(events: readonly RunEvent[]) {
    for (const event of events) {
      if (event.event === "delta" || event.event === "stderr") {
        this.#sent[event.event] += bytesOf(event).length;
      }
    }
  }

  /** The part of an event that is new; `null`: nothing of it is. */
  rest(event: RunEvent): RunEvent | null {
    if (event.event !== "delta" && event.event !== "stderr") return event;
    const sent = this.#sent[event.event];
    if (sent === 0) return event;
    const bytes = bytesOf(event);
    this.#sent[event.event] = Math.max(0, sent - bytes.length);
    return bytes.length <= sent ? null : { event: event.event, data: pieceOf(bytes.subarray(sent)) };
  }
}

function bytesOf({ data: { text, b64 } }: Extract<RunEvent, { event: "delta" | "stderr" }>): Uint8Array {
  if (text !== undefined) return new TextEncoder().encode(text);
  return b64 === undefined ? new Uint8Array(0) : fromBase64(b64);
}
