/**
 * SKILL.md into frontmatter and body (serving.md §2): YAML 1.2 core schema, every value with its line and column.
 * The only file that evaluates the `yaml` module.
 */
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import type { Findings } from "./findings.ts";
import type { MapNode, Node, Position } from "./tree.ts";

/** Largest SKILL.md, in bytes. */
const MAX_FILE_BYTES = 1024 * 1024;
/** Largest frontmatter, in bytes (skill-formats.md §1.4); it bounds the time that hostile YAML can take. */
const MAX_FRONTMATTER_BYTES = 64 * 1024;
const MAX_DEPTH = 64;
/** Values after aliases are expanded; a bomb of nested aliases reaches it long before memory does. */
const MAX_NODES = 20_000;

export interface Frontmatter {
  /** `null` where the file has no usable frontmatter; the reason is among the findings. */
  root: MapNode | null;
  /** Trimmed. */
  body: string;
}

/** Splits and parses a SKILL.md; a byte order mark and CRLF are accepted. Problems go to `findings`. */
export function readFrontmatter(text: string, findings: Findings): Frontmatter {
  const none: Frontmatter = { root: null, body: "" };
  if (byteLength(text) > MAX_FILE_BYTES) {
    findings.error(
      "file_too_large",
      {},
      `SKILL.md is larger than ${MAX_FILE_BYTES} bytes (1 MiB).`,
      "Move long reference material into separate files of the skill.",
    );
    return none;
  }
  const lines = text
    .replace(/^\uFEFF/, "")
    .replace(/\r\n?/g, "\n")
    .split("\n");
  if (!isFence(lines[0])) {
    findings.error(
      "frontmatter_missing",
      { at: { line: 1, column: 1 } },
      "SKILL.md must begin with YAML frontmatter between two lines that hold only ---.",
      "Begin the file with: ---, name: …, description: …, ---.",
    );
    return none;
  }
  const end = lines.findIndex((line, i) => i > 0 && isFence(line));
  if (end < 0) {
    findings.error(
      "frontmatter_unclosed",
      { at: { line: 1, column: 1 } },
      "The frontmatter begins here, but no later line holds only ---.",
      "Close the frontmatter with a line ---.",
    );
    return none;
  }
  const source = lines.slice(1, end).join("\n");
  if (byteLength(source) > MAX_FRONTMATTER_BYTES) {
    findings.error(
      "frontmatter_too_large",
      { at: { line: 1, column: 1 } },
      `The frontmatter is larger than ${MAX_FRONTMATTER_BYTES} bytes (64 KiB).`,
      "Keep long text in the body or in separate files.",
    );
    return none;
  }
  const body = lines.slice(end + 1).join("\n");
  return { root: parseYaml(source, findings), body: body.trim() };
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

function isFence(line: string | undefined): boolean {
  return line !== undefined && /^---[ \t]*$/.test(line);
}

function parseYaml(source: string, findings: Findings): MapNode | null {
  const counter = new LineCounter();
  // The empty first line stands for the opening fence, so that line numbers are those of the file.
  const document = parseDocument(`\n${source}`, {
    version: "1.2",
    schema: "core",
    // `yaml` compares each key with every other; Walk finds duplicates in linear time.
    uniqueKeys: false,
    prettyErrors: false,
    lineCounter: counter,
    logLevel: "silent",
  });
  const position = (offset: number): Position => {
    const { line, col } = counter.linePos(offset);
    return { line, column: col };
  };
  // One mistake in YAML usually makes several errors; the first is the one to mend.
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined) {
    const exhausted = document.errors.some((error) => error.code === "RESOURCE_EXHAUSTION");
    findings.error(
      "frontmatter_yaml",
      { at: position(problem.pos[0]) },
      `The frontmatter is not valid YAML: ${exhausted ? "values are nested too deeply" : problem.message}`,
      'Put a value in quotes when it contains ": " or " #" or begins with a special character; indent with spaces.',
    );
    return null;
  }
  const walk = new Walk(position, findings);
  const root = walk.convert(document.contents, { line: 2, column: 1 }, 0);
  if (root === null || findings.failed) return null;
  if (root.kind !== "map") {
    findings.error(
      "frontmatter_not_mapping",
      { at: { line: 2, column: 1 } },
      "The frontmatter must be a mapping of fields, such as name: Hello.",
    );
    return null;
  }
  return root;
}

/** Turns a YAML document into nodes with positions. `convert` answers `null` after it reported why it stopped. */
class Walk {
  readonly #position: (offset: number) => Position;
  readonly #findings: Findings;
  readonly #anchors = new Map<string, { node: Node; size: number }>();
  #count = 0;

  constructor(position: (offset: number) => Position, findings: Findings) {
    this.#position = position;
    this.#findings = findings;
  }

  convert(node: unknown, fallback: Position, depth: number): Node | null {
    const before = this.#count;
    if (isAlias(node)) {
      const target = this.#anchors.get(node.source);
      const at = this.#at(node, fallback);
      if (target === undefined) {
        return this.#stop(at, `The alias *${node.source} refers to nothing that is complete at this point.`);
      }
      this.#count += target.size;
      return this.#count > MAX_NODES ? this.#tooMany(at) : target.node;
    }
    this.#count++;
    const at = this.#at(node, fallback);
    if (this.#count > MAX_NODES) return this.#tooMany(at);
    if (depth > MAX_DEPTH) return this.#stop(at, `Values are nested more than ${MAX_DEPTH} levels deep.`);
    const result = this.#build(node, at, fallback, depth);
    if (result !== null && (isScalar(node) || isMap(node) || isSeq(node)) && node.anchor !== undefined) {
      this.#anchors.set(node.anchor, { node: result, size: this.#count - before });
    }
    return result;
  }

  #build(node: unknown, at: Position, fallback: Position, depth: number): Node | null {
    if (isMap(node)) return this.#map(node.items, at, depth);
    if (isSeq(node)) {
      const list: Node[] = [];
      for (const item of node.items) {
        const value = this.convert(item, at, depth + 1);
        if (value === null) return null;
        list.push(value);
      }
      return { kind: "list", items: list, at };
    }
    if (!isScalar(node)) return { kind: "scalar", value: null, source: "", at: fallback };
    const source = node.source ?? "";
    const value = node.value;
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
      return { kind: "scalar", value, source, at };
    }
    return { kind: "scalar", value: null, source, at: source === "" ? fallback : at };
  }

  #map(pairs: { key: unknown; value: unknown }[], at: Position, depth: number): Node | null {
    const entries: MapNode["entries"] = new Map();
    for (const { key, value } of pairs) {
      const keyAt = this.#at(key, at);
      if (!isScalar(key)) return this.#stop(keyAt, "A key must be plain text, not a list, mapping or alias.");
      const name = typeof key.value === "string" ? key.value : (key.source ?? String(key.value));
      if (name === "__proto__") return this.#stop(keyAt, `The key ${name} is not allowed.`);
      const earlier = entries.get(name);
      if (earlier !== undefined) {
        this.#findings.error(
          "duplicate_key",
          { path: name, at: keyAt },
          `The key ${name} appears twice; the first is on line ${earlier.keyAt.line}.`,
          "Remove one of them.",
        );
        continue;
      }
      const converted = this.convert(value, keyAt, depth + 1);
      if (converted === null) return null;
      entries.set(name, { keyAt, value: converted });
    }
    return { kind: "map", entries, at };
  }

  #at(node: unknown, fallback: Position): Position {
    if ((isAlias(node) || isScalar(node) || isMap(node) || isSeq(node)) && node.range) {
      return this.#position(node.range[0]);
    }
    return fallback;
  }

  #tooMany(at: Position): null {
    return this.#stop(at, `The frontmatter expands to more than ${MAX_NODES} values.`);
  }

  #stop(at: Position, message: string): null {
    this.#findings.error("frontmatter_yaml", { at }, message);
    return null;
  }
}
