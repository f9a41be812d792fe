/** Makes the request for a call's input, according to the skill's card. */

import { isUtf8 } from "node:buffer";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { buffer } from "node:stream/consumers";
import { mediaTypeOf } from "../../src/skill/media.ts";
import type { Card } from "../../typed/client/api.d.ts";
import { CommandError, EXIT, usageError } from "../command.ts";
import { utf8Text } from "../utf8-text.ts";

/** The parts of a card that a call needs. */
export type SkillAddress = Pick<Card, "route" | "method" | "input" | "inputMime" | "input_schema">;

export interface CallInput {
  /** Text, `-` for stdin, `@FILE` for a file's content; `undefined` for none. */
  text: string | undefined;
  files: readonly string[];
}

interface CallRequest {
  target: URL;
  init: { method: string; headers?: Record<string, string>; body?: Uint8Array<ArrayBuffer> | FormData };
}

/** Throws `CommandError` for a file that cannot be read, and for bytes that are to be text and are not UTF-8. */
export async function callRequest(url: string, card: SkillAddress, input: CallInput): Promise<CallRequest> {
  const target = new URL(card.route, url);
  const { method } = card;
  checkGiven(card, input);
  const given = input.text === undefined ? undefined : await readInput(input.text);
  if (method === "GET") {
    if (given !== undefined) target.searchParams.set("input", utf8Text(given, "The input"));
    return { target, init: { method } };
  }
  if (input.files.length > 0) {
    const body = new FormData();
    if (given !== undefined) body.set("input", utf8Text(given, "The input"));
    for (const path of input.files) {
      const content = new Blob([await read(path)], { type: mediaTypeOf(path) });
      body.append("file", content, basename(path));
    }
    return { target, init: { method, body } };
  }
  if (given === undefined) return { target, init: { method } };
  if (card.input_schema !== undefined) {
    const body = Buffer.from(`{"input":${jsonOf(utf8Text(given, "The input"), card.input_schema)}}`);
    return { target, init: { method, headers: { "content-type": "application/json" }, body } };
  }
  const type = card.input === "file" ? fileType(given, input.text, card.inputMime) : "text/plain";
  const headers = { "content-type": type };
  return { target, init: { method, headers, body: given } };
}

/** Throws `CommandError` (exit 2) for files that the skill's request cannot carry, and for a missing input. */
function checkGiven({ method, input_schema }: SkillAddress, { text, files }: CallInput): void {
  const why = method === "GET" ? "it is called by GET" : "it takes JSON";
  if (files.length > 0 && (method === "GET" || input_schema !== undefined)) {
    const hint = "Leave --file out, and pass the input as --input.";
    throw usageError("files_not_taken", `The skill takes no files: ${why}.`, hint);
  }
  if (text !== undefined || input_schema === undefined || method === "GET") return;
  const message = "The skill has an input_schema, and no input is given.";
  throw usageError("input_missing", message, "Pass it as JSON: --input '{…}'.");
}

const UNKNOWN_TYPE = "application/octet-stream";

/** A text as JSON: unchanged if it is JSON, unless the schema accepts only texts; anything else as a JSON string. */
function jsonOf(text: string, { type }: NonNullable<Card["input_schema"]>): string {
  if (type === "string") return JSON.stringify(text);
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}

/** The media type of the input of a file skill: the only one that it accepts, or else what name and bytes indicate. */
function fileType(content: Uint8Array, source = "", accepted: readonly string[] = []): string {
  const [only = "*", ...more] = accepted;
  if (more.length === 0 && !only.includes("*")) return only;
  const named = source.startsWith("@") ? mediaTypeOf(source) : UNKNOWN_TYPE;
  return named === UNKNOWN_TYPE && isUtf8(content) ? "text/plain" : named;
}

async function readInput(source: string): Promise<Buffer<ArrayBuffer>> {
  if (source.startsWith("@")) return read(source.slice(1));
  return source === "-" ? Buffer.from(await buffer(process.stdin)) : Buffer.from(source);
}

async function read(path: string): Promise<Buffer<ArrayBuffer>> {
  try {
    return await readFile(path);
  } catch {
    throw new CommandError(EXIT.missing, "file_missing", `There is no readable file "${path}".`);
  }
}
