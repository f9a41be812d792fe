import { globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const REPO = join(import.meta.dirname, "..", "..");

test("a module applies each migration: the one that uses its tables", () => {
  const sources = globSync("src/**/*.ts", { cwd: REPO }).map((file) =>
    readFileSync(join(REPO, file), "utf8"),
  );
  const unused = readdirSync(join(REPO, "migrations")).filter(
    (name) => !sources.some((text) => text.includes(`/migrations/${name}?raw"`)),
  );
  expect(unused).toEqual([]);
});
