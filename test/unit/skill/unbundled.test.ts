/** What the author of an upload does so that its handlers need no build. */
import { expect, test } from "vitest";
import { unbundled } from "../../../src/skill/tools-json/unbundled.ts";

const COMMAND = "npx esbuild PATH --bundle --format=esm --platform=node --outfile=";

// esbuild refuses to overwrite its input without the flag.
test.each([
  ["scripts/a.js", "scripts/a.js --allow-overwrite;"],
  ["scripts/a.mjs", "scripts/a.mjs --allow-overwrite;"],
  ["scripts/a.ts", "scripts/a.js, and name scripts/a.js in tools.json;"],
  ["scripts/a.mts", "scripts/a.js, and name scripts/a.js in tools.json;"],
])("%s is bundled into %s", async (path, rest) => {
  const bytes = new TextEncoder().encode('import pad from "left-pad";\nexport default () => pad;');
  const script = { path, mode: 0o644 as const, bytes };
  const made = await unbundled([script])(script, "isolate");
  const [fault] = "faults" in made ? made.faults : [];
  expect(fault?.hint).toContain(COMMAND.replace("PATH", path) + rest);
});
