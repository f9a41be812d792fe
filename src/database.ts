/**
 * Tables in D1. The statements that make them are in `migrations/` too, for `wrangler d1 migrations`. Repeated, they
 * change nothing, so an isolate applies them on its first use of the tables.
 */
import { memo } from "./memo.ts";

/**
 * Applies a schema until that has succeeded once. Nobody waits for another one's attempt: whoever made it may be gone, and then
 * it never ends.
 */
const tablesOf = memo((db: D1Database) =>
  memo((schema: readonly string[]) => {
    let applied = false;
    return async (): Promise<void> => {
      if (applied) return;
      await db.batch(schema.map((statement) => db.prepare(statement)));
      applied = true;
    };
  }),
);

/** The database with the tables of this schema. */
export async function databaseWith(db: D1Database, schema: readonly string[]): Promise<D1Database> {
  await tablesOf(db)(schema)();
  return db;
}
