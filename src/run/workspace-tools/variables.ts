/** Variables of a command, as it would set them itself. Pure. */

/** Variables by name. */
export type Variables = { readonly [name: string]: string };

/** The command with its variables. The first line stays the first one, so that bash's messages count right. */
export function withVariables(command: string, variables: Variables = {}): string {
  const set = Object.entries(variables).map(([name, value]) => `${name}=${quoted(value)}`);
  return set.length === 0 ? command : `export ${set.join(" ")}; ${command}`;
}

const quoted = (value: string): string => `'${value.replaceAll("'", "'\\''")}'`;
