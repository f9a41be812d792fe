/** What commands that ask a server print. */
import { table } from "./table.ts";
import { terminalText } from "./terminal-text.ts";

/** What a command answers: with `json` the server's answer, otherwise a text for people. */
export function print(json: boolean, value: object, text: string): void {
  process.stdout.write(terminalText(json ? `${JSON.stringify(value, null, 2)}\n` : text, process.stdout));
}

/** Names with their values, those that have one, one on each line. */
export const factTable = (facts: readonly [name: string, value: string][]): string =>
  table(facts.filter(([, value]) => value !== ""));

/** A text that ends its line; nothing stays nothing. */
export const endedLine = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
