/** The output of a working handler as events: in order, redacted, limited. */
import { incompleteTail } from "../../bytes.ts";
import type { Redactor } from "../../redact.ts";
import { DeltaText, textOf } from "../delta.ts";
import type { RunEvent } from "../events.ts";

/** The most UTF-8 bytes of one call's output that become events. */
const MAX_BYTES = 1024 * 1024;
const beginning = (bytes: Uint8Array): string =>
  new TextDecoder().decode(bytes.subarray(0, bytes.length - incompleteTail(bytes)));
const CUT = "\n[hull: the output of this call passed 1 MB; the rest is not shown]\n";

type Stream = "emit" | "stdout" | "stderr";

export class ToolOutput {
  readonly #streams: Record<Stream, DeltaText>;
  #left = MAX_BYTES;

  constructor(callId: string, redactor: Redactor, emit: (event: RunEvent) => void) {
    const text = (stream: Stream) =>
      new DeltaText(redactor, async (piece) => {
        // A call does not wait for whoever reads its output.
        const shown = this.#within(textOf(piece));
        if (shown !== "") emit({ event: "tool_output", data: { call_id: callId, stream, text: shown } });
      });
    this.#streams = { emit: text("emit"), stdout: text("stdout"), stderr: text("stderr") };
  }

  push(stream: Stream, text: string): void {
    if (this.#left >= 0) void this.#streams[stream].pushText(text);
  }

  /** The part of a text to show. The cut comes after redaction, which could not find half a secret. */
  #within(text: string): string {
    if (this.#left < 0) return "";
    const bytes = new TextEncoder().encode(text);
    const fits = bytes.length <= this.#left;
    const shown = fits ? text : beginning(bytes.subarray(0, this.#left)) + CUT;
    this.#left = fits ? this.#left - bytes.length : -1;
    return shown;
  }

  /** Sends the rest that was held back. */
  async end(): Promise<void> {
    for (const stream of Object.values(this.#streams)) await stream.end();
  }
}
