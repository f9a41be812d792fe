/** Statements of D1 that fail as a test says. */

/** A statement whose `method`, once its values are bound, is `replaced`, which may first carry it out. */
export function withMethod(
  statement: D1PreparedStatement,
  method: "run" | "first",
  replaced: (execute: () => Promise<unknown>) => Promise<unknown>,
): D1PreparedStatement {
  const bind = statement.bind.bind(statement);
  return Object.assign(statement, {
    bind: (...values: unknown[]) => {
      const bound = bind(...values);
      const execute = bound[method].bind(bound);
      return Object.assign(bound, { [method]: () => replaced(execute) });
    },
  });
}
