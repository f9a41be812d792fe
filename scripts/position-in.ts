/** Where a value is in a file: for findings of code that has the value and not its position. */
import { parse, TomlError } from "smol-toml";
import { Findings } from "../src/skill/findings.ts";
import { readFrontmatter } from "../src/skill/frontmatter/read.ts";
import { readTree } from "../src/skill/text-tree.ts";
import { type Node, type Position, positionOf } from "../src/skill/tree.ts";
import { orNull, readRegular } from "./build/file-system.ts";
import { tomlTree } from "./toml-tree.ts";

/**
 * The position of a value, or of what is around it if it is absent; nothing if the text has a fault of syntax.
 * @param file its name says what the text is: TOML, JSON, a SKILL.md, else YAML
 * @param path dotted, as `positionOf` takes it
 */
export function positionIn(file: string, text: string, path: string): Partial<Position> {
  const node = nodeIn(file, text);
  return node === null ? {} : positionOf(node, path);
}

/** The same in a file on disk; nothing if it cannot be read. */
export function positionInFile(file: string, path: string): Partial<Position> {
  const bytes = orNull(() => readRegular(file));
  return bytes === null ? {} : positionIn(file, bytes.toString("utf8"), path);
}

/** The fault of syntax of a JSON or YAML file on disk, or else its value; nothing if the file cannot be read. */
export function faultIn(file: string): Partial<Position> {
  const bytes = orNull(() => readRegular(file));
  if (bytes === null) return {};
  const tree = readTree(file, bytes.toString("utf8"));
  return "fault" in tree ? tree.fault.at : tree.node.at;
}

function nodeIn(file: string, text: string): Node | null {
  if (file.endsWith(".toml")) return isToml(text) ? tomlTree(text) : null;
  if (/\.md$/i.test(file)) return readFrontmatter(text, new Findings("", file)).root;
  const tree = readTree(file, text);
  return "node" in tree ? tree.node : null;
}

function isToml(text: string): boolean {
  try {
    parse(text);
    return true;
  } catch (error) {
    if (error instanceof TomlError) return false;
    throw error;
  }
}
