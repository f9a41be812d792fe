import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { databaseWith } from "../../src/database.ts";
import wranglerToml from "../../wrangler.toml?raw";
import { bindings } from "./file-bindings.ts";

const MIGRATIONS = Object.values(
  import.meta.glob<string>("../../migrations/*.sql", { query: "?raw", import: "default", eager: true }),
);

test("an isolate makes the tables that the migrations make, and may apply them again", async () => {
  const { DB } = bindings;
  const made = async () => {
    const { results } = await DB.prepare(
      "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY name",
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

test("wrangler applies the migrations, too", () => {
  expect(parse(wranglerToml)).toMatchObject({ d1_databases: [{ migrations_dir: "migrations" }] });
});
