/** The scope of a hard limit: `tenant`, `skill:<slug>` or `session:<id>`. Pure. */
import type { Subject } from "./rpc.ts";

/** All scopes in which a call counts. */
export function scopesOf({ skill, session }: Subject): string[] {
  return [
    "tenant",
    ...(skill === null ? [] : [`skill:${skill}`]),
    ...(session === null ? [] : [`session:${session}`]),
  ];
}

/** The SQL condition that selects a scope's rows in a table with the columns `skill` and `session`. */
export function rowsOf(scope: string): { where: string; values: string[] } {
  const [, column, value = ""] = /^(skill|session):(.*)$/.exec(scope) ?? [];
  return column === undefined ? { where: "true", values: [] } : { where: `${column} = ?`, values: [value] };
}
