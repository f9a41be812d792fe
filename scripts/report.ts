/** The output of commands that call a server. */
import { EXIT } from "./command.ts";
import { table } from "./table.ts";
import { writeOut } from "./terminal-text.ts";

/** The output of a command that did what it should: with `json` the server's answer, otherwise a text for people. */
export function print(json: boolean, value: object, text: string): number {
  writeOut(json ? `${JSON.stringify(value, null, 2)}\n` : text);
  return EXIT.ok;
}

/** Names with their values, one per line, without those that have no value. */
export const factTable = (facts: readonly [name: string, value: string][]): string =>
  table(facts.filter(([, value]) => value !== ""));

/** A text that ends its line; an empty text stays empty. */
export const endedLine = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
