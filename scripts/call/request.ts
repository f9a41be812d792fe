/** Makes the request for a call's input, according to the skill's card. */
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { CommandError, EXIT } from "../command.ts";

/** The parts of a card that a call needs. */
export interface SkillAddress {
  route: string;
  method: string;
  input: string;
  output: string;
  workspaceTools?: boolean;
}

export interface CallInput {
  /** Text, `-` for stdin, `@FILE` for a file's text; `undefined` for none. */
  text: string | undefined;
  files: readonly string[];
}

interface CallRequest {
  target: URL;
  init: { method: string; headers?: Record<string, string>; body?: string | FormData };
}

export async function callRequest(url: string, card: SkillAddress, input: CallInput): Promise<CallRequest> {
  const target = new URL(card.route, url);
  const { method } = card;
  const text = input.text === undefined ? undefined : await readText(input.text);
  if (method === "GET") {
    if (text !== undefined) target.searchParams.set("input", text);
    return { target, init: { method } };
  }
  if (input.files.length > 0) {
    const body = new FormData();
    if (text !== undefined) body.set("input", text);
    for (const path of input.files) body.append("file", new Blob([await read(path)]), basename(path));
    return { target, init: { method, body } };
  }
  if (text === undefined) return { target, init: { method } };
  return { target, init: { method, headers: { "content-type": "text/plain" }, body: text } };
}

async function readText(source: string): Promise<string> {
  if (source.startsWith("@")) return (await read(source.slice(1))).toString("utf8");
  if (source !== "-") return source;
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

async function read(path: string): Promise<Buffer<ArrayBuffer>> {
  try {
    return await readFile(path);
  } catch {
    throw new CommandError(EXIT.missing, "file_missing", `There is no readable file ${path}.`);
  }
}
