/** Reads a JSON or YAML file that a user names, and knows the position of each value in it. */

import { readFile } from "node:fs/promises";
import { readYaml } from "../src/skill/frontmatter/yaml.ts";
import { fromJson, isObject } from "../src/skill/json.ts";
import type { Json } from "../src/skill/manifest.ts";
import { parseJsonTree } from "../src/skill/tools-json/json-tree.ts";
import { type Node, type Position, positionOf, toJson } from "../src/skill/tree.ts";
import { CommandError, EXIT } from "./command.ts";
import { reasonOf } from "./system-error.ts";
import { utf8Text } from "./utf8-text.ts";

export interface DocumentFile {
  value: Json;
  /** `<file>:<line>:<column>` of a dotted path, or of its longest prefix that exists. */
  at(path: string): string;
}

/** Throws `CommandError`: exit 3 without such a file, 2 if it is not UTF-8, 1 with the place of a syntax error. */
export async function readDocument(file: string): Promise<DocumentFile> {
  const bytes = await readFile(file).catch((error: unknown) => {
    throw new CommandError(EXIT.missing, "not_found", `${file} cannot be read: ${reasonOf(error)}.`);
  });
  const text = utf8Text(bytes, file);
  const tree = file.endsWith(".json") ? jsonIn(file, text) : yamlIn(file, text);
  return { value: toJson(tree), at: (path) => placeIn(file, positionOf(tree, path)) };
}

/**
 * A document that a request carries and the server checks. Throws `CommandError` as `readDocument` does, and (exit 1) if
 * it is no object.
 */
export async function readObject<T extends object>(file: string): Promise<T> {
  const { value, at } = await readDocument(file);
  if (isObject(value)) return fromJson(value);
  throw new CommandError(EXIT.failed, "bad_document", `${at("")} is not an object.`);
}

const placeIn = (file: string, { line, column }: Position): string => `${file}:${line}:${column}`;

function jsonIn(file: string, text: string): Node {
  const tree = parseJsonTree(text);
  if ("node" in tree) return tree.node;
  const { at, message } = tree.fault;
  throw new CommandError(EXIT.failed, "bad_json", `${placeIn(file, at)} is not valid JSON: ${message}`);
}

function yamlIn(file: string, text: string): Node {
  const top = { line: 1, column: 1 };
  const { node, fault } = readYaml(text, top);
  if (node !== null) return node;
  const where = placeIn(file, fault?.at ?? top);
  throw new CommandError(
    EXIT.failed,
    "bad_yaml",
    `${where} is not valid YAML: ${fault?.message ?? "it is empty"}.`,
  );
}
