/** Texts that a command takes: from an argument, or with `-` from its standard input. */

import { buffer } from "node:stream/consumers";
import { utf8OrNull } from "../src/bytes.ts";
import { usageError } from "./command.ts";

/** Bytes as text. Throws `CommandError` (exit 2) if they are not UTF-8. @param what named in the message */
export function utf8Text(bytes: Uint8Array, what: string): string {
  const text = utf8OrNull(bytes);
  if (text === null) throw usageError("bad_encoding", `${what} is not UTF-8.`);
  return text;
}

/**
 * The lines of standard input as they come, without their ends (`\n`, `\r\n`). Throws `CommandError` (exit 2) at the
 * first line that is not UTF-8.
 */
export async function* stdinLines(): AsyncGenerator<string> {
  let pieces: Uint8Array[] = [];
  let number = 0;
  const line = (): string => {
    const bytes = Buffer.concat(pieces);
    pieces = [];
    return utf8Text(bytes, `Line ${++number} of standard input`).replace(/\r$/, "");
  };
  for await (const chunk of process.stdin) {
    let rest: Uint8Array = Buffer.from(chunk);
    for (let end = rest.indexOf(LINE_END); end >= 0; end = rest.indexOf(LINE_END)) {
      pieces.push(rest.subarray(0, end));
      yield line();
      rest = rest.subarray(end + 1);
    }
    pieces.push(rest);
  }
  if (pieces.some(({ length }) => length > 0)) yield line();
}

const LINE_END = 0x0a;

/** The text itself; for `-` the content of standard input. Throws `CommandError` (exit 2) if that is not UTF-8. */
export async function textOrStdin(given: string): Promise<string> {
  return given === "-" ? utf8Text(await buffer(process.stdin), "Standard input") : given;
}
