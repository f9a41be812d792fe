/** Tables in D1. A schema is the text of files of `migrations/`, which `wrangler d1 migrations` applies, too. */
import * as z from "zod/mini";
import type { Owner } from "./env.ts";
import type { Page, PageWanted } from "./list-page.ts";
import { memoNamed } from "./memo.ts";

/**
 * Applies a schema until that has succeeded once. A request never waits for another request's attempt: that request may
 * have ended, and its attempt would then never finish.
 */
const tablesOf = memoNamed((db: D1Database, schema: string) => {
  let applied = false;
  return async (): Promise<void> => {
    if (applied) return;
    await apply(db, statementsOf(schema));
    applied = true;
  };
});

/** A statement of a schema. It is safe to repeat, unless it adds a column. */
interface SchemaStatement {
  text: string;
  /** `table.column`, and the file that adds it, whose first line names it. Absent: the statement adds none. */
  adds?: { column: string; file: string };
}

function statementsOf(schema: string): SchemaStatement[] {
  let file = "";
  return schema.split(/;\r?\n/).flatMap((part) => {
    file = /^-- (\d+_\w+\.sql)/m.exec(part)?.[1] ?? file;
    const text = part.replace(/^--.*\n/gm, "");
    const [, table, column] = /^ALTER TABLE (\w+) ADD COLUMN (\w+)/.exec(text) ?? [];
    if (table !== undefined) return [{ text, adds: { column: `${table}.${column}`, file } }];
    return text === "" ? [] : [{ text }];
  });
}

/** wrangler's table of the migrations that it need not apply, as wrangler makes it. */
const MIGRATIONS = `CREATE TABLE IF NOT EXISTS d1_migrations(
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)`;

/** Applies statements but those that add a column which exists. SQLite would refuse these, and wrangler's migration fail. */
async function apply(db: D1Database, statements: readonly SchemaStatement[]): Promise<void> {
  const absent = statements.some(({ adds }) => adds !== undefined) ? await absentOf(db, statements) : [];
  const files = new Set(absent.map(({ file }) => file));
  const noted = Array.from(files, (file) =>
    db.prepare("INSERT OR IGNORE INTO d1_migrations (name) VALUES (?)").bind(file),
  );
  const wanted = statements.filter(({ adds }) => adds === undefined || absent.includes(adds));
  // D1 refuses an empty batch.
  if (wanted.length === 0) return;
  try {
    await db.batch([
      ...wanted.map(({ text }) => db.prepare(text)),
      ...(noted.length === 0 ? [] : [db.prepare(MIGRATIONS), ...noted]),
    ]);
  } catch (error) {
    // Another isolate, or wrangler, may have added a column meanwhile.
    if (absent.length === 0 || (await absentOf(db, statements)).length === absent.length) throw error;
    await apply(db, statements);
  }
}

/** The columns to add that do not exist. */
async function absentOf(db: D1Database, statements: readonly SchemaStatement[]) {
  const added = statements.flatMap(({ adds = [] }) => adds);
  const query = `SELECT m.name || '.' || c.name AS name FROM sqlite_master AS m, pragma_table_info(m.name) AS c
    WHERE m.type = 'table' AND m.name IN (SELECT value FROM json_each(?))`;
  const tables = added.map(({ column }) => column.split(".")[0]);
  const { results } = await db.prepare(query).bind(JSON.stringify(tables)).all<{ name: string }>();
  const present = new Set(results.map(({ name }) => name));
  return added.filter(({ column }) => !present.has(column));
}

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

/** A column that is 1 or 0, and a flag in rows. */
export const flagColumn = () =>
  z.pipe(
    z.number(),
    z.transform((flag) => flag === 1),
  );

/** A statement with the values of its parameters. */
export type Statement<Text extends string = string> = readonly [text: Text, values: readonly unknown[]];

/**
 * Conditions that follow another one, and the values of their parameters.
 * @param wanted the value that each column must have; `null` sets no condition
 */
export function matching(wanted: { readonly [column: string]: string | number | null }): Statement {
  const given = Object.entries(wanted).filter(([, value]) => value !== null);
  return [given.map(([column]) => `AND ${column} = ?`).join(" "), given.map(([, value]) => value)];
}

/** Statements in the tables of a schema. What a single one returns is parsed. */
export class Tables<Text extends string = string> {
  readonly #db: D1Database;
  readonly #schema: string;
  readonly #first: readonly unknown[];

  /** @param first the values of the first parameters of each statement */
  constructor(db: D1Database, schema: string, first: readonly unknown[] = []) {
    this.#db = db;
    this.#schema = schema;
    this.#first = first;
  }

  /** All rows that a statement returns. */
  async rows<T>(shape: z.ZodMiniType<T>, statement: Text, values: readonly unknown[] = []): Promise<T[]> {
    const { results } = await (await this.prepared(statement, values)).all();
    return results.map((row) => shape.parse(row));
  }

  /** The first row that a statement returns; `null`: there is none. */
  async first<T>(
    shape: z.ZodMiniType<T>,
    statement: Text,
    values: readonly unknown[] = [],
  ): Promise<T | null> {
    const row = await (await this.prepared(statement, values)).first();
    return row === null ? null : shape.parse(row);
  }

  /**
   * A page of the rows that a query selects.
   * @param query all of it up to its last condition
   * @param by the columns that order the rows; together they are unique
   */
  async page<T>(
    shape: z.ZodMiniType<T>,
    [query, values]: Statement<Text>,
    by: readonly string[],
    { limit, after, ascending = false }: PageWanted,
  ): Promise<Page<T>> {
    const [beyond, order] = ascending ? [">", "ASC"] : ["<", "DESC"];
    const begun = after === null ? "" : `AND (${by}) ${beyond} (${after.map(() => "?")})`;
    const ordered = by.map((column) => `${column} ${order}`);
    const statement = `${query} ${begun} ORDER BY ${ordered} LIMIT ?`;
    const bound = this.#bound(await this.#database(), statement, [...values, ...(after ?? []), limit + 1]);
    const { results } = await bound.all();
    const data = results.slice(0, limit).map((row) => shape.parse(row));
    return { data, has_more: results.length > limit };
  }

  /** Executes a statement; returns how many rows it changed. */
  async run(statement: Text, values: readonly unknown[] = []): Promise<number> {
    const { meta } = await (await this.prepared(statement, values)).run();
    return meta.changes;
  }

  /** Executes statements in one transaction, all or none; returns the rows of each. */
  async batch(statements: readonly Statement<Text>[]): Promise<unknown[][]> {
    const db = await this.#database();
    const all = await db.batch(statements.map(([text, values]) => this.#bound(db, text, values)));
    return all.map(({ results }) => results);
  }

  /** A statement that is executed with those of other tables. */
  async prepared(statement: Text, values: readonly unknown[]): Promise<D1PreparedStatement> {
    return this.#bound(await this.#database(), statement, values);
  }

  #database(): Promise<D1Database> {
    return databaseWith(this.#db, this.#schema);
  }

  #bound(db: D1Database, statement: string, values: readonly unknown[]): D1PreparedStatement {
    return db.prepare(statement).bind(...this.#first, ...values);
  }
}

/** A statement about one tenant; the compiler refuses one that does not name it. */
export type OwnStatement = Statement<OwnText>;
type OwnText = `${string}${"tenant" | "owner"} = ?1${string}` | `INSERT ${string}?1${string}`;

/** Tables as one tenant sees them: ?1 of each statement is the tenant, and ?2 the first of its values. */
export type OwnTables = Tables<OwnText>;

export const ownTables = ({ env, tenant }: Owner, schema: string): OwnTables =>
  new Tables(env.DB, schema, [tenant]);

/** The most batches that one sweep removes: enough for a busy deployment, within the platform's limit on queries. */
const MAX_BATCHES = 10;

/** Removes rows in batches. @param remove removes a batch; returns whether there may be more to remove */
export async function removeInBatches(remove: () => Promise<boolean>): Promise<void> {
  for (let batch = 0; batch < MAX_BATCHES; batch++) if (!(await remove())) return;
}
