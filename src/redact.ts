import { concat } from "./bytes.ts";
/**
 * The one redactor (design.md §2.10): log lines, errors and streams pass it. It removes each secret as it stands, as JSON has
 * it, in URL-encoded form and in Base64, and works on bytes, so that text in any chunking and binary output go through the
 * same code.
 */

/** What stands in a secret's place. */
export const REDACTED = "[redacted]";

/** Characters of the shortest value that is removed: shorter ones would cause false hits everywhere. */
export const MIN_SECRET_LENGTH = 8;

const SOUNDS_SECRET = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIALS?|AUTH)(?:_|$)/i;

/** Those of the variables whose names say that they hold secrets, and whose values are too short to be removed. */
export function tooShortToRedact(
  names: Iterable<string>,
  read: (name: string) => string | undefined,
): string[] {
  return [...new Set(names)].filter((name) => {
    const length = read(name)?.length ?? 0;
    return SOUNDS_SECRET.test(name) && length > 0 && length < MIN_SECRET_LENGTH;
  });
}

const EMPTY = new Uint8Array(0);
const MARK = new TextEncoder().encode(REDACTED);

export class Redactor {
  /** Encoded forms of all secrets, longest first, so that a secret that contains another wins. */
  #patterns: readonly Uint8Array[] = [];
  #forms: readonly string[] = [];
  /** The forms by their first UTF-16 code unit. */
  #byFirst: ReadonlyMap<number, readonly string[]> = new Map();

  /** @param secrets values to remove; those under 8 characters are ignored */
  constructor(secrets: Iterable<string>) {
    this.learn(secrets);
  }

  /** Removes these too from now on, in streams that have begun as well. */
  learn(secrets: Iterable<string>): void {
    const forms = new Set(this.#forms);
    for (const secret of secrets) {
      if (secret.length < MIN_SECRET_LENGTH) continue;
      forms
        .add(secret)
        .add(inJson(secret))
        .add(inJson(secret).replace(/[\u0080-\uffff]/g, unitInJson))
        .add(encodeURIComponent(secret.toWellFormed()))
        .add(base64(secret))
        .add(base64(secret).replace(/=+$/, ""));
    }
    this.#forms = [...forms];
    this.#byFirst = Map.groupBy(this.#forms, (form) => form.charCodeAt(0));
    this.#patterns = this.#forms
      .map((form) => new TextEncoder().encode(form))
      .sort((a, b) => b.length - a.length);
  }

  /** One that removes these too, for a while; this one stays as it is. */
  with(secrets: readonly string[]): Redactor {
    if (secrets.length === 0) return this;
    const wider = new Redactor([]);
    wider.#forms = this.#forms;
    wider.learn(secrets);
    return wider;
  }

  text(value: string): string {
    if (!this.#forms.some((form) => value.includes(form))) return value;
    return new TextDecoder().decode(this.bytes(new TextEncoder().encode(value)));
  }

  /** A JSON-like value with every string redacted, keys included: itself where it holds no secret, else a copy. */
  json(value: unknown): unknown {
    return this.#holdsSecret(value) ? this.#redacted(value) : value;
  }

  #redacted(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (Array.isArray(value)) return value.map((item) => this.#redacted(item));
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([key, item]) => [this.text(key), this.#redacted(item)]));
  }

  #holdsSecret(value: unknown): boolean {
    if (typeof value === "string") return this.#forms.some((form) => value.includes(form));
    if (Array.isArray(value)) return value.some((item) => this.#holdsSecret(item));
    if (typeof value !== "object" || value === null) return false;
    for (const key of Object.keys(value)) {
      if (this.#holdsSecret(key) || this.#holdsSecret(Reflect.get(value, key))) return true;
    }
    return false;
  }

  bytes(value: Uint8Array): Uint8Array {
    return this.#scan(value, true).out;
  }

  /** Whether a text holds no secret and does not end with the beginning of one. */
  #isClear(text: string): boolean {
    for (let at = 0; at < text.length; at++) {
      for (const form of this.#byFirst.get(text.charCodeAt(at)) ?? []) {
        if (text.startsWith(form, at) || form.startsWith(text.slice(at))) return false;
      }
    }
    return true;
  }

  /** A redactor for one stream: secrets cut by chunk boundaries are found too. */
  stream(): StreamRedactor {
    let held: Uint8Array = EMPTY;
    const step = (chunk: Uint8Array, last: boolean): Uint8Array => {
      if (this.#patterns.length === 0) return chunk;
      const { out, rest } = this.#scan(held.length === 0 ? chunk : concat([held, chunk]), last);
      held = rest;
      return out;
    };
    return {
      push: (chunk) => step(chunk, false),
      passes: (text) => held.length === 0 && text.isWellFormed() && this.#isClear(text),
      end: () => step(EMPTY, true),
    };
  }

  /** Replaces every secret; unless `last`, a tail that could be the beginning of one stays in `rest`. */
  #scan(data: Uint8Array, last: boolean): { out: Uint8Array; rest: Uint8Array } {
    const hold = last ? data.length : this.#holdFrom(data);
    const parts: Uint8Array[] = [];
    let at = 0;
    for (;;) {
      const hit = this.#find(data, at);
      if (hit === null || hit.start >= hold) break;
      parts.push(data.subarray(at, hit.start), MARK);
      at = hit.end;
    }
    const end = Math.max(at, hold);
    if (at === 0 && end === data.length) return { out: data, rest: EMPTY };
    parts.push(data.subarray(at, end));
    return { out: concat(parts), rest: data.slice(end) };
  }

  #find(data: Uint8Array, from: number): { start: number; end: number } | null {
    let best: { start: number; end: number } | null = null;
    for (const pattern of this.#patterns) {
      const start = indexOf(data, pattern, from);
      if (start !== -1 && (best === null || start < best.start))
        best = { start, end: start + pattern.length };
    }
    return best;
  }

  /** Index of the longest tail that is a proper prefix of a secret; the data's length when there is none. */
  #holdFrom(data: Uint8Array): number {
    let hold = data.length;
    for (const pattern of this.#patterns) {
      const longest = Math.min(pattern.length - 1, data.length);
      for (let length = longest; length > data.length - hold; length--) {
        if (startsWith(data, data.length - length, pattern, length)) {
          hold = data.length - length;
          break;
        }
      }
    }
    return hold;
  }
}

export interface StreamRedactor {
  push(chunk: Uint8Array): Uint8Array;
  /** Whether `push` would answer the bytes of this text at once and as they are; then they need not be pushed. */
  passes(text: string): boolean;
  /** What was still held back. */
  end(): Uint8Array;
}

function startsWith(data: Uint8Array, at: number, pattern: Uint8Array, length: number): boolean {
  for (let i = 0; i < length; i++) if (data[at + i] !== pattern[i]) return false;
  return true;
}

function indexOf(data: Uint8Array, pattern: Uint8Array, from: number): number {
  const first = pattern[0];
  if (first === undefined) return -1;
  for (let at = data.indexOf(first, from); at !== -1; at = data.indexOf(first, at + 1)) {
    if (at + pattern.length > data.length) return -1;
    if (startsWith(data, at, pattern, pattern.length)) return at;
  }
  return -1;
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/** As programs write it that keep JSON in ASCII. */
const unitInJson = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

function base64(text: string): string {
  let binary = "";
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte);
  return btoa(binary);
}
