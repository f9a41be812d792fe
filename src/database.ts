/** Tables in D1. A schema is the text of files of `migrations/`, which `wrangler d1 migrations` applies, too. */
import * as z from "zod/mini";
import { memoNamed } from "./memo.ts";

/**
 * Applies a schema until that has succeeded once. A request never waits for another request's attempt: that request may
 * have ended, and its attempt would then never finish.
 */
const tablesOf = memoNamed((db: D1Database, schema: string) => {
  let applied = false;
  return async (): Promise<void> => {
    if (applied) return;
    await db.batch(statementsOf(schema).map((statement) => db.prepare(statement)));
    applied = true;
  };
});

/** The statements are safe to repeat. */
const statementsOf = (schema: string): string[] =>
  schema
    .replace(/^--.*\n/gm, "")
    .split(/;\r?\n/)
    .filter((statement) => statement !== "");

/** The database with the tables of this schema, which an isolate creates on first use. */
export async function databaseWith(db: D1Database, schema: string): Promise<D1Database> {
  await tablesOf(db, schema)();
  return db;
}

/** A column that holds JSON which Hull wrote. */
export const jsonColumn = <T = unknown>() =>
  z.pipe(
    z.string(),
    z.transform((text): T => JSON.parse(text)),
  );

/** A statement with the values of its parameters. */
export type Statement = readonly [text: string, values: readonly unknown[]];

/** Statements in the tables of a schema. What a single one returns is parsed. */
export class Tables {
  readonly #db: D1Database;
  readonly #schema: string;

  constructor(db: D1Database, schema: string) {
    this.#db = db;
    this.#schema = schema;
  }

  /** All rows that a statement returns. */
  async rows<T>(shape: z.ZodMiniType<T>, statement: string, values: readonly unknown[] = []): Promise<T[]> {
    const { results } = await (await this.prepared(statement, values)).all();
    return results.map((row) => shape.parse(row));
  }

  /** The first row that a statement returns; `null`: there is none. */
  async first<T>(
    shape: z.ZodMiniType<T>,
    statement: string,
    values: readonly unknown[] = [],
  ): Promise<T | null> {
    const row = await (await this.prepared(statement, values)).first();
    return row === null ? null : shape.parse(row);
  }

  /** Executes a statement; returns how many rows it changed. */
  async run(statement: string, values: readonly unknown[] = []): Promise<number> {
    const { meta } = await (await this.prepared(statement, values)).run();
    return meta.changes;
  }

  /** Executes statements in one transaction, all or none; returns the rows of each. */
  async batch(statements: readonly Statement[]): Promise<unknown[][]> {
    const db = await this.#database();
    const all = await db.batch(statements.map(([text, values]) => db.prepare(text).bind(...values)));
    return all.map(({ results }) => results);
  }

  /** A statement that is executed with those of other tables. */
  async prepared(statement: string, values: readonly unknown[]): Promise<D1PreparedStatement> {
    return (await this.#database()).prepare(statement).bind(...values);
  }

  #database(): Promise<D1Database> {
    return databaseWith(this.#db, this.#schema);
  }
}

/** The most batches that one sweep removes: enough for a busy deployment, within the platform's limit on queries. */
const MAX_BATCHES = 10;

/** Removes rows in batches. @param remove removes a batch; returns whether there may be more to remove */
export async function removeInBatches(remove: () => Promise<boolean>): Promise<void> {
  for (let batch = 0; batch < MAX_BATCHES; batch++) if (!(await remove())) return;
}

/** A page of rows, of which the query read one more than `limit`. @param nameOf where the page after this row begins */
export function pageOfRows<T, Name = string>(
  found: readonly T[],
  limit: number,
  nameOf: (last: T) => Name,
): { data: T[]; next_cursor: Name | null } {
  const data = found.slice(0, limit);
  const last = data.at(-1);
  return { data, next_cursor: found.length > limit && last !== undefined ? nameOf(last) : null };
}
