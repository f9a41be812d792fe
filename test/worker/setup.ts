/**
 * Runs before each test file, which begins with empty stores, and with modules of its own instead of those that earlier
 * files loaded.
 */
import { reset } from "cloudflare:test";
import { afterAll, beforeAll, vi } from "vitest";
import { quietConsole } from "./quiet-console.ts";

declare global {
  interface ImportMeta {
    /** Files that match, by path, as Vite imports them. */
    glob<T>(pattern: string, options: { query: "?raw"; import: "default"; eager: true }): Record<string, T>;
  }
}

// Not the modules of `src`, which workerd itself loads only once.
vi.resetModules();
quietConsole();

const migrations = import.meta.glob<string>("../../migrations/*.sql", {
  query: "?raw",
  import: "default",
  eager: true,
});
/** One statement for D1, which takes longer than SQLite for each. */
const tables = Object.values(migrations).join("\n");

beforeAll(async () => {
  const { bindings } = await import("./file-bindings.ts");
  const { DB, FILES, SESSIONS, SKILLS } = bindings;
  // A store that was unused for a while is not in memory, and `reset` empties only what is in memory.
  await Promise.all([DB.prepare("SELECT 1").run(), FILES.head("any"), SKILLS.get("any")]);
  await reset();
  // Loads the code of sessions. Tests use several sessions at once in a way that workerd itself does not, and vitest
  // disables the rule that a promise continues in the object that waits for it: the first import would continue in
  // another object.
  await SESSIONS.get(SESSIONS.idFromName("loads-the-code")).status("nobody");
  // The isolate remembers that it made the tables.
  await DB.prepare(tables).run();
});

// A failed test may leave mocks behind, which would affect the next file.
afterAll(() => {
  vi.restoreAllMocks();
});
