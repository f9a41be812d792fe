/** Parses JSON text (RFC 8259) into nodes with positions, so that findings in a tools.json can point at them. */
import { firstOf } from "../../cut.ts";
import { type JsonListener, type JsonFault as ScanFault, scanJson } from "../json-scan.ts";
import { Lines } from "../lines.ts";
import type { Node, Position } from "../tree.ts";

/** Deeper values are refused, since their readers recurse. */
const MAX_DEPTH = 64;

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
  const from = text.startsWith("\uFEFF") ? 1 : 0;
  const builder = new Builder(text, from);
  const fault = scanJson(text, { depth: MAX_DEPTH, from, listener: builder });
  if (fault !== null)
    return { fault: { message: messageOf(fault, text, builder.lastKey), at: builder.lines.at(fault.at) } };
  return { node: builder.root, repeated: builder.repeated };
}

function messageOf({ expected, at, closes }: ScanFault, text: string, lastKey: string): string {
  const here = signAt(text, at);
  switch (expected) {
    case "value":
      return `A value is expected here, not ${here}.`;
    case "key":
      return `A key in double quotes is expected here, not ${here}.`;
    case "colon":
      return `After the key ${JSON.stringify(lastKey)} a colon is expected.`;
    case "comma":
      return `A comma or ${closes} is expected here, not ${here}.`;
    case "member":
      return `JSON has no comma before ${closes}.`;
    case "string":
      return "The text that begins here does not end on its line, or has an escape that JSON does not know.";
    case "end":
      return `The value has ended, but ${here} follows it.`;
    case "depth":
      return `Values are nested more than ${MAX_DEPTH} levels deep.`;
  }
}

function signAt(text: string, at: number): string {
  const rest = firstOf(text.slice(at), 20);
  if (rest === "") return "the end of the file";
  return JSON.stringify(/^(?:\w+|[\s\S])/u.exec(rest)?.[0] ?? "");
}

/** An array or object that is still open. */
interface Open {
  node: Exclude<Node, { kind: "scalar" }>;
  from: number;
  /** Of the member whose value comes next. */
  key: string;
  keyAt: Position;
}

class Builder implements JsonListener {
  readonly repeated: RepeatedKey[] = [];
  /** The value of a text without a fault. */
  root: Node;
  readonly lines: Lines;
  readonly #text: string;
  readonly #open: Open[] = [];

  constructor(text: string, from: number) {
    this.#text = text;
    this.lines = new Lines(text, from);
    this.root = { kind: "scalar", value: null, source: "", at: this.lines.at(from) };
  }

  get lastKey(): string {
    return this.#open.at(-1)?.key ?? "";
  }

  open(bracket: "[" | "{", from: number): void {
    const at = this.lines.at(from);
    const node: Open["node"] =
      bracket === "{"
        ? { kind: "map", entries: new Map(), source: "", at }
        : { kind: "list", items: [], source: "", at };
    this.#open.push({ node, from, key: "", keyAt: at });
  }

  close(end: number): void {
    const closed = this.#open.pop();
    if (closed !== undefined) this.#add({ ...closed.node, source: this.#text.slice(closed.from, end) });
  }

  key(source: string, from: number): void {
    const outer = this.#open.at(-1);
    if (outer === undefined) return;
    outer.key = stringOf(source);
    outer.keyAt = this.lines.at(from);
  }

  scalar(written: string, from: number): void {
    const at = this.lines.at(from);
    const text = written.startsWith('"') ? stringOf(written) : null;
    const value = text ?? (LITERALS.has(written) ? (LITERALS.get(written) ?? null) : Number(written));
    this.#add({ kind: "scalar", value, source: text ?? written, at });
  }

  #add(value: Node): void {
    const outer = this.#open.at(-1);
    if (outer === undefined) this.root = value;
    else if (outer.node.kind === "list") outer.node.items.push(value);
    else {
      const { key, keyAt } = outer;
      if (outer.node.entries.has(key)) this.repeated.push({ key, at: keyAt });
      outer.node.entries.set(key, { keyAt, value });
    }
  }
}

const LITERALS: ReadonlyMap<string, boolean | null> = new Map([
  ["true", true],
  ["false", false],
  ["null", null],
]);

function stringOf(source: string): string {
  const value: unknown = JSON.parse(source);
  return String(value);
}
