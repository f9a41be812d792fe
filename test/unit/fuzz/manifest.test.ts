/** Whatever a SKILL.md contains: a manifest that survives storage, or errors that say where. */
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { card, makeRecord } from "../../../src/skill/bundle.ts";
import { canonicalJson } from "../../../src/skill/canonical.ts";
import { skillRecordShape } from "../../../src/skill/manifest.ts";
import { KNOWN_FIELDS } from "../../../src/skill/manifest-fields.ts";
import { parseManifest } from "../../../src/skill/parse.ts";
import { parseSkill } from "../../../src/skill/parse-skill.ts";
import { altered, anyText, fc } from "../../support/property.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const examples = globSync("skills/*/SKILL.md", { cwd: ROOT }).map((path) =>
  readFileSync(ROOT + path, "utf8"),
);

const OBVIOUS = { name: "Fuzzed", description: "d", mode: "script", run: "cat" };
const words = fc.constantFrom(
  "script",
  "llm",
  "proxy",
  "static-file",
  "text",
  "file",
  "none",
  "json",
  "GET",
  "POST",
  "*/*",
  "/a/b",
  "anthropic",
  "mock",
  "cat SKILL.md",
  "https://example.com/{input}",
  "${KEY}",
  "SKILL.md",
  "../x",
  "-1",
  "1",
  "60000",
  "image/*",
  "text/csv",
  "\0",
  "\u2028",
  "../../etc/passwd",
  "__proto__",
  "constructor",
);
const value = fc.oneof(
  { weight: 3, arbitrary: words },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.integer() },
  {
    weight: 1,
    arbitrary: fc.array(
      fc.record(
        {
          name: words,
          description: words,
          command: fc.oneof(words, fc.array(words)),
          parameters: fc.array(fc.record({ name: words, type: words }, { requiredKeys: [] }), {
            maxLength: 2,
          }),
          provider: words,
          model: words,
          url: words,
        },
        { requiredKeys: [] },
      ),
      { maxLength: 3 },
    ),
  },
);
/** JSON is YAML: well-formed frontmatter with fields of any kind. */
const shaped = fc
  .dictionary(fc.constantFrom(...KNOWN_FIELDS, "surplus"), value, { maxKeys: 6 })
  .map((extra) => `---\n${JSON.stringify({ ...OBVIOUS, ...extra }, null, 1)}\n---\nBody.\n`);
const PIECES = [
  "---\n",
  "\n",
  "\r\n",
  "\r",
  "\uFEFF",
  ": ",
  "- ",
  "&a ",
  "*a",
  "<<: *a\n",
  "|\n",
  '"',
  "!!binary ",
  "\t",
];
const piece = fc.oneof(
  fc.constantFrom(...PIECES, "%YAML 1.1\n", "? ", "{", "}", "[", "]", "#", "\0", "\uD800", "...\n"),
  fc.constantFrom(...KNOWN_FIELDS.map((field) => `${field}: `)),
  anyText({ maxLength: 8 }),
);
/** A real skill with pieces put in, or cut out. */
const mutated = fc
  .tuple(
    fc.constantFrom(...examples),
    fc.array(fc.tuple(fc.nat(), fc.nat(20), piece), { minLength: 1, maxLength: 4 }),
  )
  .map(([text, changes]) => altered(text, changes));
const random = fc.array(piece, { maxLength: 30 }).map((pieces) => `---\n${pieces.join("")}`);

for (const [name, texts, runs] of [
  ["fields of any kind", shaped, 800],
  ["mutated skills", mutated, 400],
  ["random texts", random, 200],
] as const) {
  test(`${name}: a manifest that survives storage, or an error with its line`, async () => {
    const seen = { manifest: 0, errors: 0 };
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        const bytes = new TextEncoder().encode(text);
        const files = new Map([["SKILL.md", bytes]]);
        const parsed = parseManifest(text, { folder: "fuzzed", file: "SKILL.md", files });
        const lines = text.split(/\r\n?|\n/).length;
        for (const { line, column, message } of parsed.diagnostics) {
          expect(message).not.toBe("");
          if (line === undefined) continue;
          expect(line).toBeGreaterThanOrEqual(1);
          expect(line).toBeLessThanOrEqual(lines);
          expect(column).toBeGreaterThanOrEqual(1);
        }
        // Everything strict accepts, lenient loads.
        const { verdicts } = parseSkill(text, { directory: "fuzzed" });
        if (verdicts.strict.valid) expect(verdicts.lenient.valid).toBe(true);
        const errors = parsed.diagnostics.filter(({ level }) => level === "error");
        expect(errors.length === 0).toBe(parsed.manifest !== null);
        if (parsed.manifest === null) {
          seen.errors++;
          expect(errors.some(({ line }) => line !== undefined)).toBe(true);
          return;
        }
        seen.manifest++;
        const bundle = await makeRecord(parsed.manifest, parsed.body, [
          { path: "SKILL.md", mode: 0o644, bytes },
        ]);
        const stored = skillRecordShape.parse(JSON.parse(bundle.json));
        expect(canonicalJson(stored)).toBe(bundle.json);
        expect(card(stored, bundle.digest).route).toMatch(/^\//);
      }),
      { numRuns: runs },
    );
    expect(seen.errors).toBeGreaterThan(0);
    if (texts !== random) expect(seen.manifest).toBeGreaterThan(0);
  });
}
