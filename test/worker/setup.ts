/** Runs before each test file: the file begins with empty stores, and with modules of the tests that no other file has used. */
import { reset } from "cloudflare:test";
import { beforeAll, vi } from "vitest";

declare global {
  interface ImportMeta {
    /** Files that match, by path, as Vite imports them. */
    glob<T>(pattern: string, options: { query: "?raw"; import: "default"; eager: true }): Record<string, T>;
  }
}

// Not those of `src`, which workerd itself loads once.
vi.resetModules();

const migrations = import.meta.glob<string>("../../migrations/*.sql", {
  query: "?raw",
  import: "default",
  eager: true,
});
const statements = Object.values(migrations)
  .flatMap((text) => text.replace(/^--.*$/gm, "").split(";"))
  .filter((statement) => statement.trim() !== "");

beforeAll(async () => {
  const { bindings } = await import("./file-bindings.ts");
  const { DB, FILES, SKILLS } = bindings;
  // What nobody has used for a while is not in memory, and only what is there is removed.
  await Promise.all([DB.prepare("SELECT 1").run(), FILES.head("any"), SKILLS.get("any")]);
  await reset();
  // The isolate remembers that it made the tables.
  await DB.batch(statements.map((statement) => DB.prepare(statement)));
});
