/** Texts that a command takes: from an argument, or with `-` from its standard input. */
import { buffer } from "node:stream/consumers";
import { CommandError, EXIT } from "./command.ts";

/** Bytes as text. Throws `CommandError` (exit 2) if they are not UTF-8. @param what named in the message */
export function utf8Text(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CommandError(EXIT.usage, "bad_encoding", `${what} is not UTF-8.`);
  }
}

/** The text itself; of `-` what standard input holds. Throws `CommandError` (exit 2) if that is not UTF-8. */
export async function textOrStdin(given: string): Promise<string> {
  return given === "-" ? utf8Text(await buffer(process.stdin), "Standard input") : given;
}
