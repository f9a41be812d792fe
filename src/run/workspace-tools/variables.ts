/** Sets the variables of a command. Pure. */

export type Variables = { readonly [name: string]: string };

/** The command, preceded by its variables on the same line, so that line numbers in bash's messages stay right. */
export function withVariables(command: string, variables: Variables = {}): string {
  const set = Object.entries(variables).map(([name, value]) => `${name}=${quoted(value)}`);
  return set.length === 0 ? command : `export ${set.join(" ")}; ${command}`;
}

const quoted = (value: string): string => `'${value.replaceAll("'", "'\\''")}'`;
