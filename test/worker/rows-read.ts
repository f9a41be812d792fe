/** How many rows statements read: what a deployment pays for, and what tells a search of an index from a scan. */
import { runInDurableObject } from "cloudflare:test";

/** The rows that the statements with this text have read. */
type RowsRead = (text: string) => number;

interface Executed {
  statement: string;
  /** Final once the statement's rows have been read. */
  readonly rows: number;
}

const readBy = (executed: readonly Executed[]): RowsRead => {
  return (text) =>
    executed.reduce((sum, { statement, rows }) => sum + (statement.includes(text) ? rows : 0), 0);
};

/** What a Durable Object's statements read while `work` is done. */
export async function rowsRead<T extends Rpc.DurableObjectBranded>(
  object: DurableObjectStub<T>,
  work: () => Promise<unknown>,
): Promise<RowsRead> {
  const executed: Executed[] = [];
  await runInDurableObject(object, (_, { storage: { sql } }) => {
    const exec = sql.exec.bind(sql);
    const value = (statement: string, ...values: unknown[]) => {
      const cursor = exec(statement, ...values);
      executed.push({
        statement,
        get rows() {
          return cursor.rowsRead;
        },
      });
      return cursor;
    };
    Object.defineProperty(sql, "exec", { value, configurable: true });
  });
  await work();
  await runInDurableObject(object, (_, { storage: { sql } }) => {
    Reflect.deleteProperty(sql, "exec");
  });
  return readBy(executed);
}

/** A database that counts what its statements read. */
export function countingDatabase(DB: D1Database): { DB: D1Database; read: RowsRead } {
  const executed: Executed[] = [];
  const texts = new WeakMap<D1PreparedStatement, string>();
  const noted = <T>(statement: string, result: D1Result<T>): D1Result<T> => {
    executed.push({ statement, rows: result.meta.rows_read });
    return result;
  };
  const counted = (statement: D1PreparedStatement, text: string): D1PreparedStatement => {
    const { bind, all } = statement;
    texts.set(statement, text);
    return Object.assign(statement, {
      bind: (...values: unknown[]) => counted(bind.apply(statement, values), text),
      all: async () => noted(text, await all.call(statement)),
      run: async () => noted(text, await all.call(statement)),
      first: async () => noted(text, await all.call(statement)).results[0] ?? null,
    });
  };
  const watched = new Proxy(DB, {
    get(target, key) {
      if (key === "prepare") return (text: string) => counted(target.prepare(text), text);
      if (key === "batch")
        return async (statements: D1PreparedStatement[]) => {
          const results = await target.batch(statements);
          const text = statements.map((statement) => texts.get(statement) ?? "");
          return results.map((result, n) => noted(text[n] ?? "", result));
        };
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { DB: watched, read: readBy(executed) };
}
