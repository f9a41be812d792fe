/** Reads a JSON or YAML text into nodes with positions. */
import { readYaml } from "./frontmatter/yaml.ts";
import { parseJsonTree } from "./tools-json/json-tree.ts";
import type { Node, Position } from "./tree.ts";

interface TextFault {
  at: Position;
  /** A sentence or a clause. */
  message: string;
}

const TOP: Position = { line: 1, column: 1 };

/** @param path of the file; one that does not end in `.json` is read as YAML */
export function readTree(path: string, text: string): { node: Node } | { fault: TextFault } {
  if (path.endsWith(".json")) return parseJsonTree(text);
  const { node, fault } = readYaml(text, TOP);
  return node === null ? { fault: fault ?? { at: TOP, message: "it is empty" } } : { node };
}
