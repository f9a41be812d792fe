/** Runs before each test file: the file begins with empty stores, and with modules of the tests that no other file has used. */
import { reset } from "cloudflare:test";
import { afterAll, beforeAll, vi } from "vitest";
import { quietConsole } from "./quiet-console.ts";

declare global {
  interface ImportMeta {
    /** Files that match, by path, as Vite imports them. */
    glob<T>(pattern: string, options: { query: "?raw"; import: "default"; eager: true }): Record<string, T>;
  }
}

// Not those of `src`, which workerd itself loads once.
vi.resetModules();
quietConsole();

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
  const { DB, FILES, SESSIONS, SKILLS } = bindings;
  // What nobody has used for a while is not in memory, and only what is there is removed.
  await Promise.all([DB.prepare("SELECT 1").run(), FILES.head("any"), SKILLS.get("any")]);
  await reset();
  // Loads the code of sessions. Tests hold several sessions at once in a way that workerd itself does not, and vitest switches off
  // that a promise goes on in the object that waits for it: the first import would go on in another object.
  await SESSIONS.get(SESSIONS.idFromName("loads-the-code")).status("nobody");
  // The isolate remembers that it made the tables.
  await DB.batch(statements.map((statement) => DB.prepare(statement)));
});

// What a test that failed left replaced is the next file's too.
afterAll(() => {
  vi.restoreAllMocks();
});
