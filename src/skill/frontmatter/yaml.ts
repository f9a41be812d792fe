/** Parses YAML 1.2 (core schema) into nodes that know line and column. */
import { type Document, isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, parseDocument } from "yaml";
import type { MapNode, Node, Position } from "../tree.ts";

const MAX_DEPTH = 64;
/** Limit after expanding aliases. A bomb of nested aliases hits it long before memory runs out. */
const MAX_NODES = 20_000;
const MAX_ALIASES = 100;
/**
 * The most words, marks, blanks and line ends to parse. Counting them first is cheap and bounds the cost of hostile
 * YAML, since `yaml` makes an error with a stack trace for each misplaced one.
 */
const MAX_PIECES = 20_000;
/** A text with more mistakes than this is not YAML that merely lacks some quotes, so it is not parsed again. */
const MAX_MISTAKES = 1000;
const TOO_DEEP = "values are nested too deeply";

export interface YamlFault {
  at: Position;
  message: string;
  /** A limit was reached, or the key is forbidden, so no other spelling helps. */
  final?: true;
}

/** A key that occurs twice in its mapping; the later value wins. */
interface DuplicateKey {
  key: string;
  at: Position;
  /** Line of the earlier key. */
  line: number;
}

export interface YamlReading {
  /** `null` exactly if there is a fault. */
  node: Node | null;
  fault: YamlFault | null;
  /** The first problem that YAML warns about but can read, e.g. an unknown tag. */
  warning: YamlFault | null;
  duplicates: DuplicateKey[];
}

/** @param start position of the source's first character in its file */
export function readYaml(source: string, start: Position): YamlReading {
  const refused = (at: Position, message: string, final: boolean): YamlReading => {
    const fault: YamlFault = final ? { at, message, final } : { at, message };
    return { node: null, fault, warning: null, duplicates: [] };
  };
  const counter = new LineCounter();
  const long = lineOfTooMany(source);
  if (long !== null) {
    const at = { line: start.line + long, column: 1 };
    return refused(
      at,
      `it has more than ${MAX_PIECES} tokens: words, punctuation, spaces and line ends`,
      true,
    );
  }
  const document = parsed(source, counter);
  if (document === null) return refused(start, TOO_DEEP, true);
  const position = (offset: number): Position => {
    const { line, col } = counter.linePos(offset);
    return { line: start.line + line - 1, column: line === 1 ? start.column + col - 1 : col };
  };
  // One mistake in YAML usually causes several errors; the first is the one to fix.
  const [error] = document.errors;
  if (error !== undefined) {
    const tooDeep = error.code === "RESOURCE_EXHAUSTION";
    const final = tooDeep || document.errors.length > MAX_MISTAKES;
    return refused(position(error.pos[0]), tooDeep ? TOO_DEEP : error.message, final);
  }
  const [warning] = document.warnings;
  const walk = new Walk(position, source);
  const node = walk.convert(document.contents, start, 0);
  return {
    node,
    fault: walk.fault,
    warning: warning === undefined ? null : { at: position(warning.pos[0]), message: warning.message },
    duplicates: walk.duplicates,
  };
}

/**
 * The line, counted from 0, where the number of pieces exceeds the limit, found without parsing; `null`: it does not.
 */
function lineOfTooMany(source: string): number | null {
  let pieces = 0;
  let line = 0;
  for (const piece of new Lexer().lex(source)) {
    if (++pieces > MAX_PIECES) return line;
    line += piece.split("\n").length - 1;
  }
  return null;
}

/** `null`: it is nested more deeply than the recursive parser can follow. */
function parsed(source: string, lineCounter: LineCounter): Document | null {
  try {
    return parseDocument(source, {
      version: "1.2",
      schema: "core",
      // `yaml` compares each key with every other; Walk finds duplicates in linear time.
      uniqueKeys: false,
      prettyErrors: false,
      lineCounter,
      logLevel: "silent",
    });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Turns a YAML document into nodes with positions. `convert` returns `null` after it recorded why it stopped. */
class Walk {
  readonly duplicates: DuplicateKey[] = [];
  fault: YamlFault | null = null;
  readonly #position: (offset: number) => Position;
  readonly #source: string;
  readonly #anchors = new Map<string, { node: Node; size: number }>();
  #count = 0;
  #aliases = 0;

  constructor(position: (offset: number) => Position, source: string) {
    this.#position = position;
    this.#source = source;
  }

  convert(node: unknown, fallback: Position, depth: number): Node | null {
    const before = this.#count;
    if (isAlias(node)) {
      const target = this.#anchors.get(node.source);
      const at = this.#at(node, fallback);
      if (target === undefined) {
        this.fault ??= { at, message: `the alias *${node.source} refers to nothing that is complete here` };
        return null;
      }
      if (++this.#aliases > MAX_ALIASES) return this.#stop(at, `there are more than ${MAX_ALIASES} aliases`);
      this.#count += target.size;
      return this.#count > MAX_NODES ? this.#tooMany(at) : target.node;
    }
    this.#count++;
    const at = this.#at(node, fallback);
    if (this.#count > MAX_NODES) return this.#tooMany(at);
    if (depth > MAX_DEPTH) return this.#stop(at, `values are nested more than ${MAX_DEPTH} levels deep`);
    const result = this.#build(node, at, fallback, depth);
    if (result !== null && (isScalar(node) || isMap(node) || isSeq(node)) && node.anchor !== undefined) {
      this.#anchors.set(node.anchor, { node: result, size: this.#count - before });
    }
    return result;
  }

  #build(node: unknown, at: Position, fallback: Position, depth: number): Node | null {
    if (isMap(node)) return this.#map(node.items, at, depth, this.#written(node));
    if (isSeq(node)) {
      const list: Node[] = [];
      for (const item of node.items) {
        const value = this.convert(item, at, depth + 1);
        if (value === null) return null;
        list.push(value);
      }
      return { kind: "list", items: list, source: this.#written(node), at };
    }
    if (!isScalar(node)) return { kind: "scalar", value: null, source: "", at: fallback };
    const source = node.source ?? "";
    const value = node.value;
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
      return { kind: "scalar", value, source, at };
    }
    return { kind: "scalar", value: null, source, at: source === "" ? fallback : at };
  }

  #map(pairs: { key: unknown; value: unknown }[], at: Position, depth: number, source: string): Node | null {
    const entries: MapNode["entries"] = new Map();
    for (const { key, value } of pairs) {
      const keyAt = this.#at(key, at);
      if (!isScalar(key)) return this.#stop(keyAt, "a key must be plain text, not a list, mapping or alias");
      const name = typeof key.value === "string" ? key.value : (key.source ?? String(key.value));
      if (name === "__proto__") return this.#stop(keyAt, `the key ${name} is not allowed`);
      const earlier = entries.get(name);
      if (earlier !== undefined) this.duplicates.push({ key: name, at: keyAt, line: earlier.keyAt.line });
      const converted = this.convert(value, keyAt, depth + 1);
      if (converted === null) return null;
      entries.set(name, { keyAt, value: converted });
    }
    return { kind: "map", entries, source, at };
  }

  #written({ range }: { range?: readonly number[] | null }): string {
    return this.#source.slice(range?.[0], range?.[1]).trim();
  }

  #at(node: unknown, fallback: Position): Position {
    if ((isAlias(node) || isScalar(node) || isMap(node) || isSeq(node)) && node.range) {
      return this.#position(node.range[0]);
    }
    return fallback;
  }

  #tooMany(at: Position): null {
    return this.#stop(at, `the frontmatter expands to more than ${MAX_NODES} values`);
  }

  #stop(at: Position, message: string): null {
    this.fault ??= { at, message, final: true };
    return null;
  }
}
