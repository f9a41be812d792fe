/** Sets the variables and the arguments of a command. Pure. */

import { wordsOf } from "../../engine/agent/skill-text.ts";

export type Variables = { readonly [name: string]: string };

/** The command, preceded by its variables on the same line, so that line numbers in bash's messages stay right. */
export function withVariables(command: string, variables: Variables = {}): string {
  const set = Object.entries(variables).map(([name, value]) => `${name}=${quoted(value)}`);
  return set.length === 0 ? command : `export ${set.join(" ")}; ${command}`;
}

/**
 * The command of a skill's text with what the skill was called with: all of it as `$ARGUMENTS`, its words as `$0`, `$1`
 * and so on. The shell fills them in, so that they are never commands themselves. A command that names none of them is as
 * it is without arguments.
 */
export function withArguments(command: string, given: string): string {
  // No program of Linux may start with an argument or a variable of more than 128 KiB.
  if (given === "" || !NAMES_ARGUMENTS.test(command)) return command;
  const nth = command.replace(/\$ARGUMENTS\[(\d+)\]/g, (_, digits: string) => `\${${digits}}`);
  return `ARGUMENTS=${quoted(given)} bash -c ${[nth, ...wordsOf(given)].map(quoted).join(" ")}`;
}

/** The command with a text as its standard input. @param input one line */
export const withInput = (command: string, input: string): string =>
  `bash -c ${quoted(command)} <<'END_OF_INPUT'\n${input}\nEND_OF_INPUT`;

const NAMES_ARGUMENTS = /\$\{?#?(?:ARGUMENTS\b|[\d@*#])/;

const quoted = (value: string): string => `'${value.replaceAll("'", "'\\''")}'`;
