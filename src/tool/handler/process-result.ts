/**
 * Reads the answer of a handler's process. The shims of Python and Node send messages, `RS JSON LF` each
 * (container/programs/handler.py, container/programs/handler.mjs); anything else is a program's stdout.
 */

import { Gathered } from "../../bytes.ts";
import { lastOf, lastWords } from "../../cut.ts";
import { objectOf } from "../../skill/json.ts";
import { MAX_JSON_DEPTH, parsedJson } from "../../skill/json-depth.ts";
import type { Json } from "../../skill/manifest.ts";
import { type HandlerNote, isNoteKind, NOTES } from "./call.ts";

/** Longest result, in bytes of its JSON. */
export const MAX_RESULT_BYTES = 5 * 1024 * 1024;
/** Room for the other parts of a message. */
const MESSAGE_BYTES = 64;
const RECORD_SEPARATOR = 0x1e;
const LINE_FEED = 0x0a;
/** Characters of stderr to keep, for processes that fail. */
const TAIL_CHARACTERS = 2000;
const TOO_DEEP = `The result nests more than ${MAX_JSON_DEPTH} levels deep.`;
/** A line of progress is sent when it is this long, even without its end. */
const LINE_CHARACTERS = 8192;

export type ProcessResult =
  | { kind: "value"; value: Json }
  /** A program whose stdout is not JSON. */
  | { kind: "text"; text: string }
  | { kind: "error"; error: string }
  | { kind: "too_large" };

/** Takes a process's output piece by piece, and reports it immediately. */
export class ResultReader {
  readonly #note: (note: HandlerNote) => void;
  readonly #stderr = new TextDecoder();
  #line = "";
  #tail = "";
  /** `null` until the first bytes arrive. */
  #inMessages: boolean | null = null;
  #kept = new Gathered();
  #bytes = 0;
  #result: ProcessResult | null = null;

  constructor(note: (note: HandlerNote) => void) {
    this.#note = note;
  }

  /** The last words of stderr. */
  get stderrTail(): string {
    return lastWords(this.#tail, TAIL_CHARACTERS).trim();
  }

  stderr(bytes: Uint8Array): void {
    this.#say(this.#stderr.decode(bytes, { stream: true }));
  }

  result(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#inMessages ??= bytes[0] === RECORD_SEPARATOR;
    if (!this.#inMessages) {
      this.#keep(bytes);
      return;
    }
    let from = 0;
    for (let end = bytes.indexOf(LINE_FEED); end >= 0; end = bytes.indexOf(LINE_FEED, from)) {
      this.#keep(bytes.subarray(from, end));
      this.#understand();
      from = end + 1;
    }
    this.#keep(bytes.subarray(from));
  }

  /** The result after the end of the output. `null`: the handler ended without output. */
  end(): ProcessResult | null {
    this.#say(this.#stderr.decode());
    this.#flush(this.#line);
    this.#line = "";
    if (this.#inMessages !== false) return this.#result;
    if (this.#bytes > MAX_RESULT_BYTES) return { kind: "too_large" };
    const text = this.#text().trim();
    if (text === "") return null;
    const value = resultOf(text);
    return value === undefined ? { kind: "text", text } : { kind: "value", value };
  }

  #keep(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    if (this.#bytes <= MAX_RESULT_BYTES + MESSAGE_BYTES) this.#kept.push(bytes);
  }

  #text(): string {
    return new TextDecoder().decode(this.#kept.whole());
  }

  #understand(): void {
    const large = this.#bytes > MAX_RESULT_BYTES + MESSAGE_BYTES;
    const text = large ? "" : this.#text().slice(1);
    this.#kept = new Gathered();
    this.#bytes = 0;
    if (large) this.#result = { kind: "too_large" };
    const value = resultOf(text);
    // The shims write JSON, so such a text nests too deep. Without its value the call would seem to answer null.
    if (value === undefined && text.startsWith('{"value":'))
      this.#result = { kind: "error", error: TOO_DEEP };
    const [entry, ...more] = Object.entries(objectOf(value));
    if (entry === undefined || more.length > 0) return;
    const [kind, content] = entry;
    if (isNoteKind(kind)) {
      const note = NOTES[kind](content);
      if (note !== null) this.#note(note);
    } else if (kind === "value") this.#result = { kind: "value", value: content };
    else if (kind === "error" && typeof content === "string")
      this.#result = { kind: "error", error: content };
  }

  /** Sends whole lines as they come. */
  #say(text: string): void {
    this.#tail = lastOf(this.#tail + text, TAIL_CHARACTERS + 1);
    this.#line += text;
    const end = this.#line.lastIndexOf("\n") + 1;
    const ready = this.#line.length - end > LINE_CHARACTERS ? this.#line.length : end;
    this.#flush(this.#line.slice(0, ready));
    this.#line = this.#line.slice(ready);
  }

  #flush(text: string): void {
    if (text !== "") this.#note({ kind: "output", stream: "stderr", text });
  }
}

/**
 * Parses JSON without losing numbers: an integer that a number cannot hold, such as a 64-bit id, becomes text, and so does
 * a number beyond all that it holds, which would become null.
 */
function resultOf(text: string): Json | undefined {
  return parsedJson(text, /\d{16}|e\+?\d{3}/i.test(text) ? exactNumber : undefined);
}

/** A reviver for `JSON.parse`, which passes the source of a number. */
function exactNumber(...[, value, context]: unknown[]): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const { source } = objectOf(context);
  if (typeof source !== "string") return value;
  return !Number.isFinite(value) || /^-?\d+$/.test(source) ? source : value;
}
