/** Parses JSON text (RFC 8259) into nodes with positions, so that findings in a tools.json can point at them. */
import type { MapNode, Node, Position } from "../tree.ts";

/** Deeper values are refused, since their readers recurse. */
const MAX_DEPTH = 64;

const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
const LITERAL = /true|false|null/y;

interface JsonFault {
  /** A sentence. */
  message: string;
  at: Position;
}

/** A key that occurs more than once in its object; the last one wins. */
interface RepeatedKey {
  key: string;
  at: Position;
}

type JsonTree = { node: Node; repeated: RepeatedKey[] } | { fault: JsonFault };

/** Parses a whole text; skips a byte order mark. The values are those of `JSON.parse`. */
export function parseJsonTree(text: string): JsonTree {
  const reader = new Reader(text);
  try {
    return { node: reader.document(), repeated: reader.repeated };
  } catch (error) {
    if (error instanceof Stop) return { fault: { message: error.message, at: error.at } };
    throw error;
  }
}

class Stop extends Error {
  readonly at: Position;

  constructor(message: string, at: Position) {
    super(message);
    this.name = "Stop";
    this.at = at;
  }
}

class Reader {
  readonly #text: string;
  readonly repeated: RepeatedKey[] = [];
  #offset: number;
  #line = 1;
  #lineStart = 0;

  constructor(text: string) {
    this.#text = text;
    this.#offset = text.startsWith("\uFEFF") ? 1 : 0;
    this.#lineStart = this.#offset;
  }

  document(): Node {
    this.#blanks();
    const node = this.#value(0);
    this.#blanks();
    if (this.#offset < this.#text.length)
      this.#stop(`After the end of the value comes ${this.#here()}; nothing may follow it.`);
    return node;
  }

  #value(depth: number): Node {
    const at = this.#at();
    const first = this.#text[this.#offset];
    if (first === "{" || first === "[") {
      if (depth >= MAX_DEPTH) this.#stop(`Values are nested more than ${MAX_DEPTH} levels deep.`);
      this.#offset++;
      return first === "{" ? this.#object(at, depth) : this.#array(at, depth);
    }
    if (first === '"') {
      const value = this.#string();
      return { kind: "scalar", value, source: value, at };
    }
    const number = this.#match(NUMBER);
    if (number !== null) return { kind: "scalar", value: Number(number), source: number, at };
    const literal = this.#match(LITERAL);
    if (literal === null) this.#stop(`A value is expected here, not ${this.#here()}.`);
    const value = literal === "null" ? null : literal === "true";
    return { kind: "scalar", value, source: literal, at };
  }

  #object(at: Position, depth: number): MapNode {
    const entries: MapNode["entries"] = new Map();
    const from = this.#offset - 1;
    this.#blanks();
    if (this.#take("}")) return { kind: "map", entries, source: this.#since(from), at };
    for (;;) {
      const keyAt = this.#at();
      if (this.#text[this.#offset] !== '"')
        this.#stop(`A key in double quotes is expected here, not ${this.#here()}.`);
      const key = this.#string();
      this.#blanks();
      if (!this.#take(":")) this.#stop(`After the key ${JSON.stringify(key)} a colon is expected.`);
      this.#blanks();
      const value = this.#value(depth + 1);
      if (entries.has(key)) this.repeated.push({ key, at: keyAt });
      entries.set(key, { keyAt, value });
      this.#blanks();
      if (this.#take("}")) return { kind: "map", entries, source: this.#since(from), at };
      this.#comma("}");
    }
  }

  #array(at: Position, depth: number): Node {
    const items: Node[] = [];
    const from = this.#offset - 1;
    this.#blanks();
    if (this.#take("]")) return { kind: "list", items, source: this.#since(from), at };
    for (;;) {
      items.push(this.#value(depth + 1));
      this.#blanks();
      if (this.#take("]")) return { kind: "list", items, source: this.#since(from), at };
      this.#comma("]");
    }
  }

  #since(offset: number): string {
    return this.#text.slice(offset, this.#offset);
  }

  #comma(end: string): void {
    if (!this.#take(",")) this.#stop(`A comma or ${end} is expected here, not ${this.#here()}.`);
    this.#blanks();
    if (this.#text[this.#offset] === end) this.#stop(`JSON has no comma before ${end}.`);
  }

  #string(): string {
    const text = this.#match(STRING);
    if (text === null)
      this.#stop(
        "The text that begins here does not end on its line, or has an escape that JSON does not know.",
      );
    const value: unknown = JSON.parse(text);
    return String(value);
  }

  /** Skips blanks. Only they contain line breaks. */
  #blanks(): void {
    for (;;) {
      const sign = this.#text[this.#offset];
      if (sign !== " " && sign !== "\t" && sign !== "\n" && sign !== "\r") return;
      this.#offset++;
      if (sign !== "\n") continue;
      this.#line++;
      this.#lineStart = this.#offset;
    }
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#offset;
    const found = pattern.exec(this.#text)?.[0] ?? null;
    this.#offset += found?.length ?? 0;
    return found;
  }

  #take(sign: string): boolean {
    if (this.#text[this.#offset] !== sign) return false;
    this.#offset++;
    return true;
  }

  #at(): Position {
    return { line: this.#line, column: this.#offset - this.#lineStart + 1 };
  }

  #here(): string {
    const rest = this.#text.slice(this.#offset, this.#offset + 20);
    if (rest === "") return "the end of the file";
    return JSON.stringify(/^(?:\w+|[\s\S])/u.exec(rest)?.[0] ?? "");
  }

  #stop(message: string): never {
    throw new Stop(message, this.#at());
  }
}
