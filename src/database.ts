/**
 * Tables in D1. The statements that make them stand in `migrations/` too, for `wrangler d1 migrations`; they change nothing
 * where they were applied before, so that an isolate applies them on its first use of the tables.
 */
import { memo } from "./memo.ts";

/** Applies a schema once, and again where that failed. */
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

/** The database with the tables of this schema in it. */
export async function databaseWith(db: D1Database, schema: readonly string[]): Promise<D1Database> {
  await tablesOf(db)(schema)();
  return db;
}
