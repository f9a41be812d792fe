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
 * and so on. The shell fills them in, so that they are never commands themselves.
 */
export function withArguments(command: string, given: string): string {
  if (given === "") return command;
  const nth = command.replace(/\$ARGUMENTS\[(\d+)\]/g, (_, digits: string) => `\${${digits}}`);
  return `ARGUMENTS=${quoted(given)} bash -c ${[nth, ...wordsOf(given)].map(quoted).join(" ")}`;
}

const quoted = (value: string): string => `'${value.replaceAll("'", "'\\''")}'`;
