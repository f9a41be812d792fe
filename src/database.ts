/**
 * Tables in D1. The statements that make them stand in `migrations/` too, for `wrangler d1 migrations`; they change nothing
 * where they were applied before, so that an isolate applies them on its first use of the tables.
 */

/** Databases whose tables this isolate has seen to, by schema. */
const prepared = new WeakMap<D1Database, Map<readonly string[], Promise<unknown>>>();

/** The database with the tables of this schema in it. */
export async function databaseWith(db: D1Database, schema: readonly string[]): Promise<D1Database> {
  const known = prepared.get(db) ?? new Map<readonly string[], Promise<unknown>>();
  prepared.set(db, known);
  let done = known.get(schema);
  if (done === undefined) {
    done = db.batch(schema.map((statement) => db.prepare(statement)));
    known.set(schema, done);
    done.catch(() => known.delete(schema));
  }
  await done;
  return db;
}
