/**
 * Tables in D1. `migrations/` has the same statements for `wrangler d1 migrations`. They are safe to repeat, so an
 * isolate applies them on its first use of the tables.
 */
import { memo } from "./memo.ts";

/**
 * Applies a schema until that has succeeded once. A request never waits for another request's attempt: that request may
 * have ended, and its attempt would then never finish.
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
