/** Reads a JSON or YAML file that a user names, and knows the position of each value in it. */

import { readFile } from "node:fs/promises";
import { fromJson, isObject } from "../src/skill/json.ts";
import type { Json } from "../src/skill/manifest.ts";
import { readTree } from "../src/skill/text-tree.ts";
import { type Position, positionOf, toJson } from "../src/skill/tree.ts";
import { CommandError, EXIT } from "./command.ts";
import { FileError } from "./file-error.ts";
import { reasonOf } from "./system-error.ts";
import { utf8Text } from "./utf8-text.ts";

export interface DocumentFile {
  value: Json;
  /** The position of a dotted path, or of its longest prefix that exists. */
  at(path: string): Position;
}

/** Throws `CommandError`: exit 3 without such a file, 2 if it is not UTF-8, 1 with the place of a syntax error. */
export async function readDocument(file: string): Promise<DocumentFile> {
  const bytes = await readFile(file).catch((error: unknown) => {
    throw new CommandError(EXIT.missing, "not_found", `${file} cannot be read: ${reasonOf(error)}.`);
  });
  const text = utf8Text(bytes, file);
  const tree = readTree(file, text);
  if ("node" in tree) return { value: toJson(tree.node), at: (path) => positionOf(tree.node, path) };
  const { at, message } = tree.fault;
  const [code, language] = file.endsWith(".json") ? ["bad_json", "JSON"] : ["bad_yaml", "YAML"];
  const fault = {
    path: "",
    message: `the file is not valid ${language}: ${message.replace(/\.$/, "")}.`,
    ...at,
  };
  throw new FileError(EXIT.failed, code, file, [fault]);
}

/**
 * A document that a request carries and the server checks. Throws `CommandError` as `readDocument` does, and (exit 1) if
 * it is no object.
 */
export async function readObject<T extends object>(file: string): Promise<T> {
  const { value, at } = await readDocument(file);
  if (isObject(value)) return fromJson(value);
  const fault = { path: "", message: "the file must hold an object.", ...at("") };
  throw new FileError(EXIT.failed, "bad_document", file, [fault]);
}
