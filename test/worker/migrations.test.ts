import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { databaseWith } from "../../src/database.ts";
import wranglerToml from "../../wrangler.toml?raw";
import { bindings } from "./file-bindings.ts";

const FILES = import.meta.glob<string>("../../migrations/*.sql", {
  query: "?raw",
  import: "default",
  eager: true,
});
const MIGRATIONS = Object.values(FILES);

/** Another isolate's view of the database, which has applied nothing yet. */
function isolate(before: () => Promise<void> = async () => {}): D1Database {
  return new Proxy(bindings.DB, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (key !== "batch") return typeof value === "function" ? value.bind(target) : value;
      return async (statements: D1PreparedStatement[]) => {
        await before();
        return target.batch(statements);
      };
    },
  });
}

test("an isolate makes the tables that the migrations make, and may apply them again", async () => {
  const { DB } = bindings;
  const made = async () => {
    const { results } = await DB.prepare(
      "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name NOT IN ('d1_migrations', 'sqlite_sequence') ORDER BY name",
    ).all();
    return results;
  };
  const migrated = await made();
  expect(migrated.length).toBeGreaterThan(MIGRATIONS.length);
  const tables = migrated.filter(({ type }) => type === "table");
  await DB.batch(tables.map(({ name }) => DB.prepare(`DROP TABLE ${name}`)));
  expect(await made()).toEqual([]);
  // The isolate has applied the texts themselves before.
  for (const again of ["-- once\n", "-- once more\n"])
    for (const schema of MIGRATIONS) await databaseWith(DB, schema + again);
  expect(await made()).toEqual(migrated);
});

test("two isolates at once add a column, which wrangler then does not add again", async () => {
  const { DB } = bindings;
  const table = "CREATE TABLE IF NOT EXISTS grown (id TEXT PRIMARY KEY);\n";
  await databaseWith(isolate(), table);
  await DB.prepare("INSERT INTO grown (id) VALUES ('before')").run();
  const columns = `-- 9999_grown.sql: more.
ALTER TABLE grown ADD COLUMN more TEXT;
ALTER TABLE grown ADD COLUMN n INTEGER NOT NULL DEFAULT 7;
CREATE INDEX IF NOT EXISTS grown_by_more ON grown (more);
`;
  const late = isolate(async () => {
    await databaseWith(isolate(), table + columns);
  });
  await databaseWith(late, table + columns);
  await databaseWith(isolate(), table + columns);
  // As an earlier version of Hull, which does not know the columns.
  await DB.prepare("INSERT INTO grown (id) VALUES ('after')").run();
  const { results } = await DB.prepare("SELECT * FROM grown ORDER BY id").all();
  expect(results).toEqual([
    { id: "after", more: null, n: 7 },
    { id: "before", more: null, n: 7 },
  ]);
  const known = await DB.prepare("SELECT name FROM d1_migrations WHERE name LIKE '9999%'").all();
  expect(known.results).toEqual([{ name: "9999_grown.sql" }]);
});

test("a failed addition of a column leaves nothing, and is tried again", async () => {
  const DB = isolate();
  const bad = "-- 9998_bad.sql\nALTER TABLE missing ADD COLUMN more TEXT;\n";
  for (let again = 0; again < 2; again++) await expect(databaseWith(DB, bad)).rejects.toThrow("missing");
  await bindings.DB.prepare("CREATE TABLE missing (id TEXT)").run();
  await databaseWith(DB, bad);
  expect((await bindings.DB.prepare("SELECT more FROM missing").all()).success).toBe(true);
});

test("a migration that adds a column begins with its name, so that isolates tell wrangler", () => {
  for (const [path, text] of Object.entries(FILES)) {
    const name = path.split("/").at(-1);
    if (/ALTER TABLE/i.test(text)) expect(text.startsWith(`-- ${name}`), path).toBe(true);
    else expect(text, path).not.toMatch(/^-- \d+_\w+\.sql/m);
  }
});

test("wrangler applies the migrations, too", () => {
  expect(parse(wranglerToml)).toMatchObject({ d1_databases: [{ migrations_dir: "migrations" }] });
});
