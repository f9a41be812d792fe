/**
 * `npm run attack`: runs every test whose name begins with `attack:`, and no other. It loads only files that contain
 * such a test, since many test files start servers when they are loaded.
 */
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const REPO = join(import.meta.dirname, "..", "..");
const MARK = /["'`]attack: /;

const files = globSync("test/{unit,runner,worker,e2e}/**/*.test.ts", { cwd: REPO })
  .filter((file) => MARK.test(readFileSync(join(REPO, file), "utf8")))
  .toSorted();
const vitest = join(REPO, "node_modules", "vitest", "vitest.mjs");
const { status } = spawnSync(
  process.execPath,
  [vitest, "run", "--silent=true", "-t", "attack: ", ...files, ...process.argv.slice(2)],
  { cwd: REPO, stdio: "inherit" },
);
process.exitCode = status ?? 1;
