/** The results of commands: their texts for the model, within `max_tool_output_bytes`. */
import { incompleteTail, join, utf8OrNull } from "../bytes.ts";
import { plainResult } from "./agent/call-results.ts";
import type { AgentToolResult } from "./agent/records.ts";
import { categoryOf, type ToolErrorCode } from "./tool-fault.ts";

/** The result of a call that never ran. */
export const refusedCall = (code: ToolErrorCode, message: string): AgentToolResult =>
  failure(code, null, [message]);

/** A failure whose first line names the code and the exit code. */
function failure(code: ToolErrorCode, exit_code: number | null, lines: readonly string[]): AgentToolResult {
  const head = `[tool_error code=${code} exit=${exit_code ?? "none"}]`;
  const content = [head, ...lines].filter((line) => line !== "").join("\n");
  return { ...plainResult("error", content, categoryOf(code)), code, exit_code, bytes: 0 };
}

/** How a process ended, as far as the model needs to know. */
export interface ProcessEnd {
  code: ToolErrorCode | null;
  exit_code: number | null;
  duration_ms: number;
  /** A sentence for causes without output of their own, e.g. a time limit. */
  remark?: string;
}

/** Renders a finished process: stdout if it succeeded, else a first line with the code and stderr (or stdout). */
export function processResult(
  { code, exit_code, duration_ms, remark = "" }: ProcessEnd,
  stdout: OutputWindow,
  stderr: OutputWindow,
): AgentToolResult {
  const source = code === null || stderr.blank ? stdout : stderr;
  const { text, truncated } = source.render();
  const result = code === null ? plainResult("ok", text, null) : failure(code, exit_code, [remark, text]);
  const figures = { exit_code, duration_ms, bytes: source.bytes };
  return truncated ? { ...result, ...figures, truncated } : { ...result, ...figures };
}

/**
 * Keeps the first three quarters and the last quarter of a byte stream, so an output of any length needs only `limit`
 * bytes of memory.
 */
export class OutputWindow {
  readonly #headLimit: number;
  readonly #tailLimit: number;
  readonly #limit: number;
  #head: Uint8Array[] = [];
  #headBytes = 0;
  #tail: Uint8Array[] = [];
  #tailBytes = 0;
  #total = 0;
  #blank = true;

  constructor(limit: number) {
    this.#limit = limit;
    this.#headLimit = Math.floor((limit * 3) / 4);
    this.#tailLimit = limit - this.#headLimit;
  }

  push(chunk: Uint8Array): void {
    this.#total += chunk.length;
    if (this.#blank) this.#blank = chunk.every((b) => b === 0x20 || (b >= 0x09 && b <= 0x0d));
    const room = this.#headLimit - this.#headBytes;
    const first = chunk.subarray(0, Math.max(0, room));
    if (first.length > 0) {
      this.#head.push(first);
      this.#headBytes += first.length;
    }
    const rest = chunk.subarray(first.length);
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    for (let oldest = this.#tail[0]; oldest !== undefined; oldest = this.#tail[0]) {
      if (this.#tailBytes - oldest.length < this.#tailLimit) break;
      this.#tailBytes -= oldest.length;
      this.#tail.shift();
    }
  }

  /** Bytes pushed in all. */
  get bytes(): number {
    return this.#total;
  }

  /** Whether nothing but white space was pushed. */
  get blank(): boolean {
    return this.#blank;
  }

  /** The trimmed text. Over the limit: head and tail with a line between them that says how much is left out. */
  render(): { text: string; truncated: boolean } {
    const head = join(this.#head);
    const tail = join(this.#tail);
    if (this.#total <= this.#limit) {
      const whole = decode(join([head, tail]));
      return { text: withRemark(whole.text.trim(), whole.replaced), truncated: false };
    }
    const kept = head.length - incompleteTail(head);
    const start = decode(head.subarray(0, kept));
    const cut = tail.subarray(Math.max(0, tail.length - this.#tailLimit));
    const end = decode(cut.subarray(boundaryAfter(cut)));
    const omitted = this.#total - kept - cut.length + boundaryAfter(cut);
    const marker = `[hull: ${omitted} of ${this.#total} bytes omitted]`;
    const text = `${start.text.trimStart()}\n${marker}\n${end.text.trimEnd()}`;
    return { text: withRemark(text, start.replaced || end.replaced), truncated: true };
  }
}

function withRemark(text: string, replaced: boolean): string {
  return replaced ? `${text}\n[hull: the output was not valid UTF-8; invalid bytes were replaced]` : text;
}

function decode(bytes: Uint8Array): { text: string; replaced: boolean } {
  const text = utf8OrNull(bytes);
  return { text: text ?? new TextDecoder().decode(bytes), replaced: text === null };
}

/** How many leading bytes are the rest of a split character. */
function boundaryAfter(bytes: Uint8Array): number {
  let n = 0;
  while (n < 3 && n < bytes.length && ((bytes[n] ?? 0) & 0xc0) === 0x80) n++;
  return n;
}

/** Names files that did not become files of the session, the first ones with the reason for each. */
export function listNotKept(files: readonly { path: string; why: string }[], most = 10): string {
  const named = files.slice(0, most).map(({ path, why }) => `${JSON.stringify(path)} (${why})`);
  return [...named, ...(files.length > most ? [`${files.length - most} more`] : [])].join(", ");
}
