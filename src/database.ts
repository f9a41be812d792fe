/**
 * Tables in D1. The statements that make them are in `migrations/` too, for `wrangler d1 migrations`. Repeated, they
 * change nothing, so an isolate applies them on its first use of the tables.
 */
import { memo } from "./memo.ts";

/** Applies a schema once, and again if that failed. */
const tablesOf = memo((db: D1Database) =>
  memo((schema: readonly string[]) => {
    let applied: Promise<unknown> | null = null;
    return (): Promise<unknown> => {
      applied ??= db.batch(schema.map((statement) => db.prepare(statement))).catch((error: unknown) => {
        applied = null;
        throw error;
      });
      return applied;
    };
  }),
);

/** The database with the tables of this schema. */
export async function databaseWith(db: D1Database, schema: readonly string[]): Promise<D1Database> {
  await tablesOf(db)(schema)();
  return db;
}
