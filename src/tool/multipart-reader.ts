/**
 * Reads multipart/form-data as it arrives (RFC 7578, RFC 2046 §5.1), for the Worker's forms and the runner's
 * executions. It holds only the present chunk and one part's headers. Pure: the caller supplies chunks and errors. A
 * library does not do it: @remix-run/multipart-parser holds each part until its end, busboy needs streams of Node, and
 * multipasta takes a body that breaks off behind a boundary for a whole one.
 */
import { concat } from "../bytes.ts";
import { dispositionFilename, parseParameters } from "./header-parameters.ts";

/** Bytes of all header lines of one part. */
export const MAX_HEADER_BYTES = 16 * 1024;
export const MAX_PARTS = 1000;
const MAX_BOUNDARY_LENGTH = 200;

export interface Part {
  name: string;
  /** `null`: a field, not a file. */
  filename: string | null;
  /** The part's Content-Type as sent; `null` if it has none. */
  type: string | null;
  /** Its content, readable once. The next call of `next` skips the rest of it. */
  body: AsyncIterable<Uint8Array>;
}

/** The boundary in a Content-Type; `null` if it is not multipart/form-data, or its boundary is missing or invalid. */
export function boundaryOf(contentType: string): string | null {
  const parsed = parseParameters(contentType);
  if (parsed?.value !== "multipart/form-data") return null;
  const boundary = parsed.parameters.get("boundary") ?? "";
  return /^[\x20-\x7e]+$/.test(boundary) && boundary.length <= MAX_BOUNDARY_LENGTH ? boundary : null;
}

const CR = 13;
const LF = 10;
const DASH = 45;
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const CONTROL = /[\u0000-\u0008\u000a-\u001f\u007f]/;
const utf8 = new TextDecoder();

export class MultipartReader {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #delimiter: Uint8Array;
  readonly #fail: (reason: string) => Error;
  readonly #maxParts: number;
  /**
   * Bytes that were read but, from `#at` on, not yet returned. The line break before the first boundary may be missing.
   */
  #data: Uint8Array = Uint8Array.of(CR, LF);
  #at = 0;
  #parts = 0;
  /** `content`: of a part, or before the first one. */
  #place: "content" | "boundary" | "end" = "content";

  /** @param fail makes the error for a body that is not a form */
  constructor(
    source: AsyncIterator<Uint8Array>,
    boundary: string,
    fail: (reason: string) => Error,
    maxParts = MAX_PARTS,
  ) {
    this.#source = source;
    this.#maxParts = maxParts;
    this.#delimiter = new TextEncoder().encode(`\r\n--${boundary}`);
    this.#fail = fail;
  }

  /** The next part; `null` after the last one, when the source was read to its end. */
  async next(): Promise<Part | null> {
    if (this.#place === "end") return null;
    while ((await this.#content()) !== null);
    if (await this.#closes()) {
      this.#place = "end";
      while (!(await this.#source.next()).done);
      return null;
    }
    this.#parts += 1;
    if (this.#parts > this.#maxParts) throw this.#fail(`it has more than ${this.#maxParts} parts`);
    const part = { ...(await this.#head()), body: this.#body(this.#parts) };
    this.#place = "content";
    return part;
  }

  async *#body(part: number): AsyncGenerator<Uint8Array, void> {
    while (part === this.#parts) {
      const chunk = await this.#content();
      if (chunk === null) return;
      yield chunk;
    }
  }

  /** The next bytes up to the next boundary; `null` at the boundary. */
  async #content(): Promise<Uint8Array | null> {
    while (this.#place === "content") {
      const found = delimiterAt(this.#data, this.#at, this.#delimiter);
      if (found > this.#at) return this.#take(found);
      if (found + this.#delimiter.length <= this.#data.length) {
        this.#at += this.#delimiter.length;
        this.#place = "boundary";
      } else if (!(await this.#more())) throw this.#cut();
    }
    return null;
  }

  /** Skips the end of the boundary's line; returns whether the boundary was the last one. */
  async #closes(): Promise<boolean> {
    while (this.#data.length - this.#at < 2) if (!(await this.#more())) throw this.#cut();
    if (this.#data[this.#at] === DASH && this.#data[this.#at + 1] === DASH) return true;
    const rest = await this.#line(MAX_HEADER_BYTES);
    if (rest.trim() !== "") throw this.#fail("a boundary is not followed by the end of its line");
    return false;
  }

  async #head(): Promise<Omit<Part, "body">> {
    let room = MAX_HEADER_BYTES;
    const headers = new Map<string, string>();
    for (;;) {
      const before = this.#at;
      const line = await this.#line(room);
      room -= this.#at - before;
      if (line === "") break;
      const colon = line.indexOf(":");
      const name = line.slice(0, Math.max(0, colon)).toLowerCase();
      if (!TOKEN.test(name)) throw this.#fail("a header line of a part has no name");
      if (headers.has(name)) throw this.#fail(`a part has the header ${name} twice`);
      headers.set(name, line.slice(colon + 1).trim());
    }
    const disposition = parseParameters(headers.get("content-disposition") ?? "");
    const name = disposition?.parameters.get("name");
    if (disposition?.value !== "form-data" || name === undefined) {
      throw this.#fail("a part has no Content-Disposition of the form: form-data; name=…");
    }
    return {
      name: unescaped(name),
      filename: dispositionFilename(disposition, unescaped),
      type: headers.get("content-type") ?? null,
    };
  }

  /** The next line without its end. */
  async #line(room: number): Promise<string> {
    let end = this.#data.indexOf(LF, this.#at);
    while (end === -1) {
      if (this.#data.length - this.#at > room) throw this.#tooLong();
      if (!(await this.#more())) throw this.#cut();
      end = this.#data.indexOf(LF, this.#at);
    }
    const bytes = this.#take(end + 1);
    if (bytes.length > room) throw this.#tooLong();
    const line = utf8.decode(bytes);
    if (!line.endsWith("\r\n")) throw this.#fail("a line of a part's headers does not end in CR LF");
    const text = line.slice(0, -2);
    if (CONTROL.test(text)) throw this.#fail("a part's headers have control characters");
    return text;
  }

  #take(end: number): Uint8Array {
    const bytes = this.#data.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  /** Reads more; returns whether there was more. */
  async #more(): Promise<boolean> {
    const { done, value } = await this.#source.next();
    if (done) return false;
    const left = this.#data.subarray(this.#at);
    this.#at = 0;
    this.#data = left.length === 0 ? value : concat([left, value]);
    return true;
  }

  #cut(): Error {
    return this.#fail(this.#parts === 0 ? "it has no part" : "it ends before its last boundary");
  }

  #tooLong(): Error {
    return this.#fail(`a part's headers are longer than ${MAX_HEADER_BYTES} bytes`);
  }
}

/**
 * Where the delimiter begins, or its possible beginning at the end of the data; the length of the data if there is
 * neither. A delimiter has one CR, its first byte, so no byte is read more than twice, whatever the data.
 */
function delimiterAt(data: Uint8Array, from: number, delimiter: Uint8Array): number {
  for (let at = data.indexOf(CR, from); at !== -1; at = data.indexOf(CR, at + 1)) {
    let length = 1;
    while (
      length < delimiter.length &&
      at + length < data.length &&
      data[at + length] === delimiter[length]
    ) {
      length += 1;
    }
    if (length === delimiter.length || at + length === data.length) return at;
  }
  return data.length;
}

/** The three characters that the HTML standard encodes in names. */
function unescaped(name: string): string {
  return name.replace(/%(?:0A|0D|22)/gi, decodeURIComponent);
}
