/** Where the keys and values of a TOML text are, which smol-toml does not say. */
import { parse } from "smol-toml";
import { Lines } from "../src/skill/lines.ts";
import type { MapNode, Node } from "../src/skill/tree.ts";

/** The nodes of a text that smol-toml accepts. Every scalar is its text. */
export const tomlTree = (text: string): MapNode => new Scan(text).run();

const BLANKS = /[ \t]*/y;
const SEPARATORS = /[\s,]*/y;
const COMMENT = /#[^\n]*/y;
const BARE_KEY = /[\w-]+/y;
/** A string of any kind. A long one may end in two quotes of its own. */
const STRING =
  /"""(?:[^"\\]+|\\[\s\S]|""?(?!"))*"{3,5}|'''(?:[^']+|''?(?!'))*'{3,5}|"(?:[^"\\]+|\\.)*"|'[^']*'/y;
/** A date may have a blank before its time. */
const PLAIN = /[^,\]}#\n]*/y;

const empty = (at: MapNode["at"]): MapNode => ({ kind: "map", entries: new Map(), source: "", at });

class Scan {
  readonly #text: string;
  readonly #lines: Lines;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#lines = new Lines(text);
  }

  run(): MapNode {
    const root = empty(this.#lines.at(0));
    let table = root;
    for (;;) {
      const sign = this.#sign();
      if (sign === undefined) return root;
      if (sign === "[") table = this.#table(root);
      else this.#member(table);
    }
  }

  /** The table that a header begins. */
  #table(root: MapNode): MapNode {
    const at = this.#lines.at(this.#at);
    const isItem = this.#text.startsWith("[[", this.#at);
    this.#at += isItem ? 2 : 1;
    const [outer, key, keyAt] = this.#key(root);
    this.#at += isItem ? 2 : 1;
    const found = outer.entries.get(key)?.value;
    if (isItem) {
      const item = empty(at);
      if (found?.kind === "list") found.items.push(item);
      else outer.entries.set(key, { keyAt, value: { kind: "list", items: [item], source: "", at } });
      return item;
    }
    const table = found?.kind === "map" ? found : empty(at);
    outer.entries.set(key, { keyAt, value: table });
    return table;
  }

  /** `key = value` */
  #member(table: MapNode): void {
    const [outer, key, keyAt] = this.#key(table);
    this.#at++;
    this.#skip(BLANKS);
    outer.entries.set(key, { keyAt, value: this.#value() });
  }

  /** Reads a dotted key and the blanks after it; returns the table that has its last part, and that part. */
  #key(from: MapNode): [outer: MapNode, key: string, keyAt: MapNode["at"]] {
    let outer = from;
    for (;;) {
      this.#skip(BLANKS);
      const keyAt = this.#lines.at(this.#at);
      const key = this.#string() ?? this.#skip(BARE_KEY);
      this.#skip(BLANKS);
      if (this.#text[this.#at] !== ".") return [outer, key, keyAt];
      this.#at++;
      outer = inner(outer, key, keyAt);
    }
  }

  #value(): Node {
    const at = this.#lines.at(this.#at);
    const begin = this.#at;
    const sign = this.#text[begin];
    if (sign !== "[" && sign !== "{") {
      const value = this.#string() ?? this.#skip(PLAIN).trim();
      return { kind: "scalar", value, source: value, at };
    }
    this.#at++;
    const list: Node[] = [];
    const table = empty(at);
    const closes = sign === "[" ? "]" : "}";
    while (this.#sign() !== closes)
      if (sign === "[") list.push(this.#value());
      else this.#member(table);
    this.#at++;
    const source = this.#text.slice(begin, this.#at);
    return sign === "[" ? { kind: "list", items: list, source, at } : { ...table, source };
  }

  /** The next sign outside of comments that separates nothing. */
  #sign(): string | undefined {
    do this.#skip(SEPARATORS);
    while (this.#skip(COMMENT) !== "");
    return this.#text[this.#at];
  }

  /** The value of a string that begins here; `null`: none does. */
  #string(): string | null {
    const written = this.#skip(STRING);
    return written === "" ? null : String(parse(`text = ${written}`).text);
  }

  /** Skips what the pattern matches here, and returns it. */
  #skip(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found = ""] = pattern.exec(this.#text) ?? [];
    this.#at += found.length;
    return found;
  }
}

/** The table of a key, which begins here if there is none; of several, the last one. */
function inner(outer: MapNode, key: string, keyAt: MapNode["at"]): MapNode {
  const found = outer.entries.get(key)?.value;
  const last = found?.kind === "list" ? found.items.at(-1) : found;
  if (last?.kind === "map") return last;
  const table = empty(keyAt);
  outer.entries.set(key, { keyAt, value: table });
  return table;
}
