/** docs/storage-schema.md names every table and every column: those of D1's migrations, and of the objects' own tables. */
import { globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";

const REPO = join(import.meta.dirname, "..", "..");
const read = (path: string): string => readFileSync(join(REPO, path), "utf8");

interface Table {
  name: string;
  columns: string[];
}

/** The tables that statements make. */
function tablesOf(statements: readonly string[]): Table[] {
  const database = new DatabaseSync(":memory:");
  for (const statement of statements) database.exec(statement);
  const named = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  const tables = named.map(({ name }) => {
    const columns = database.prepare("SELECT name FROM pragma_table_info(?)").all(String(name));
    return { name: String(name), columns: columns.map((column) => String(column.name)) };
  });
  database.close();
  return tables;
}

/** The statements for tables in the sources of the objects. */
const OWN = globSync("src/session/**/*.ts", { cwd: REPO }).flatMap((file) =>
  Array.from(read(file).matchAll(/CREATE TABLE (?:IF NOT EXISTS )?\w+ \([^;`"]*/g), ([statement]) => ({
    file,
    statement,
  })),
);

const MIGRATIONS = readdirSync(join(REPO, "migrations"))
  .sort()
  .map((name) => read(`migrations/${name}`));

/** Rows of tables, and paragraphs. */
const BLOCKS = read("docs/storage-schema.md")
  .split("\n\n")
  .flatMap((block) => (block.startsWith("|") ? block.split("\n") : [block]))
  .map((block) => new Set(Array.from(block.matchAll(/`([^`]+)`/g), ([, code = ""]) => code)));

/** The columns that no text about a table of this name says; `null`: no text names the table. */
function missing({ name, columns }: Table): string[] | null {
  const about = BLOCKS.filter((block) => block.has(name)).map((block) =>
    columns.filter((column) => !block.has(column)),
  );
  return about.sort((a, b) => a.length - b.length)[0] ?? null;
}

const gaps = (tables: readonly Table[]): string[] =>
  tables.flatMap((table) => {
    const columns = missing(table);
    if (columns === null) return [`table ${table.name}`];
    return columns.map((column) => `${table.name}.${column}`);
  });

test("docs/storage-schema.md names every table and column of D1", () => {
  expect(gaps(tablesOf(MIGRATIONS))).toEqual([]);
});

test("docs/storage-schema.md names every table and column of the objects", () => {
  const files = Map.groupBy(OWN, ({ file }) => file).values();
  const tables = [...files].flatMap((own) => tablesOf(own.map(({ statement }) => statement)));
  expect(tables.length).toBeGreaterThan(30);
  expect(gaps(tables)).toEqual([]);
});

/** Tables of D1 for which the check below finds no statement, and why that is right. */
const WITHOUT_STATEMENT = {
  api_keys: "revoking a key removes it; the statement is in two parts",
  uploaded_skills: "removing an upload does, in the same way",
  uploaded_versions: "it goes with the upload",
  catalog_pointer: "it has one row",
};

test("something removes the rows of every table of D1", () => {
  const sources = globSync("src/**/*.ts", { cwd: REPO }).map(read);
  const removed = new Set(
    [...sources, ...MIGRATIONS].flatMap((text) =>
      Array.from(text.matchAll(/DELETE\s+FROM\s+(\w+)/g), ([, table]) => table),
    ),
  );
  const growing = tablesOf(MIGRATIONS).flatMap(({ name }) => (removed.has(name) ? [] : [name]));
  expect(growing).toEqual(Object.keys(WITHOUT_STATEMENT));
});
