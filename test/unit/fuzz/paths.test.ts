/** Names and paths of any kind stay where they belong, and come back as they were. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, posix, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { Commands } from "../../../container/commands.ts";
import { plainName } from "../../../container/environment.ts";
import { routePath } from "../../../src/http/path.ts";
import { insidePath } from "../../../src/skill/path.ts";
import { normaliseRoute } from "../../../src/skill/route.ts";
import { anyText, fc, webPath } from "../../support/property.ts";

const piece = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("a", "b.sh", "..", ".", "/", "/", "//", "…") },
  { weight: 1, arbitrary: fc.constantFrom("\0", "\\", "%2e", "%2F", "~", "*", " ", "\n", "\ud800", "é") },
  { weight: 1, arbitrary: anyText({ maxLength: 3 }) },
);
const path = fc.array(piece, { maxLength: 7 }).map((pieces) => pieces.join(""));

/** How often each outcome came. */
function tally(): { seen: Map<string, number>; note: (outcome: string) => void } {
  const seen = new Map<string, number>();
  return { seen, note: (outcome) => void seen.set(outcome, (seen.get(outcome) ?? 0) + 1) };
}

test("a path inside a folder resolves as in the system; a path that leaves it is refused", () => {
  const { seen, note } = tally();
  fc.assert(
    fc.property(path, (text) => {
      const inside = insidePath(text);
      const plain = posix.normalize(text).replace(/\/$/, "");
      const leaves = text.includes("\0") || /^(?:\/|\.\.(?:\/|$))|^\.?$/.test(plain);
      expect(inside).toBe(leaves ? null : plain);
      note(inside === null ? "none" : "inside");
    }),
    { numRuns: 2000 },
  );
  expect(Math.min(seen.get("none") ?? 0, seen.get("inside") ?? 0)).toBeGreaterThan(200);
});

test("a client's file name is one segment, and stays unchanged once it is plain", () => {
  fc.assert(
    fc.property(path, (text) => {
      const name = plainName(text);
      expect(dirname(resolve("/scratch/in", name))).toBe("/scratch/in");
      expect(name).not.toMatch(/[\u0000-\u001f\u007f]/);
      expect(plainName(name)).toBe(name);
    }),
  );
});

test("a route that is accepted is the path of its own request", () => {
  const { seen, note } = tally();
  fc.assert(
    fc.property(fc.oneof(path, webPath), (text) => {
      const route = normaliseRoute(text);
      note("path" in route ? "path" : "problem");
      if ("path" in route) expect(routePath(`http://localhost:3000${route.path}?x=1`)).toBe(route.path);
    }),
    { numRuns: 1000 },
  );
  expect(Math.min(seen.get("path") ?? 0, seen.get("problem") ?? 0)).toBeGreaterThan(100);
});

const bundle = mkdtempSync(join(tmpdir(), "hull-fuzz-"));
writeFileSync(join(bundle, "b.sh"), "#!/bin/sh\n", { mode: 0o755 });
writeFileSync(join(bundle, "a"), "");
afterAll(() => rmSync(bundle, { recursive: true }));

test("a command is a file of the bundle, an absolute path, or on PATH; otherwise it does not exist", async () => {
  const commands = new Commands({ PATH: "/bin" });
  const { seen, note } = tally();
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(path, fc.constantFrom("sh", "./b.sh", "./../b.sh", "/bin/sh")),
      async (text) => {
        const command = await commands.resolve(text, bundle);
        if (command === null) return note("none");
        note(command.file.startsWith("./") ? "bundle" : "system");
        if (text.startsWith("/")) expect(command.file).toBe(text);
        else if (text.includes("/") || text.startsWith("."))
          expect(resolve(bundle, command.file).startsWith(`${bundle}/`)).toBe(true);
      },
    ),
    { numRuns: 1000 },
  );
  expect([...seen.keys()].sort()).toEqual(["bundle", "none", "system"]);
});
