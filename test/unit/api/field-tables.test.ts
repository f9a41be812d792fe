/** The JSON Schemas for editors: they take what Hull takes, and refuse what Hull refuses. */
import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Validator } from "@cfworker/json-schema";
import { describe, expect, it, test } from "vitest";
import { parse } from "yaml";
import { REPO_DIR } from "../../../scripts/dev/paths.ts";
import { manifestSchema, toolsSchema } from "../../../src/api/field-tables.ts";
import { Findings } from "../../../src/skill/findings.ts";
import type { JsonObject } from "../../../src/skill/manifest.ts";
import { FIELDS } from "../../../src/skill/manifest-fields.ts";
import { parseManifest } from "../../../src/skill/parse.ts";
import { readToolsJson } from "../../../src/skill/tools-json/read.ts";

const fits = (schema: JsonObject, value: unknown): boolean =>
  new Validator(schema, "2020-12").validate(value).valid;
const read = (path: string): string => readFileSync(join(REPO_DIR, path), "utf8");

/** The codes of the reader for a value that the field never takes. */
const REFUSED = ["value_not_allowed", "not_an_integer_in_range"];

describe("the schema of a frontmatter", () => {
  const schema = manifestSchema();
  /** Whether Hull takes a field's value, whatever the other fields are. */
  const taken = (frontmatter: string, field: string): boolean =>
    parseManifest(`---\n${frontmatter}\n---\nDo it.\n`, {
      folder: "a",
      file: "a/SKILL.md",
    }).diagnostics.every(({ code, field: at }) => at !== field || !REFUSED.includes(code));

  it("takes every skill of this repository", () => {
    const files = globSync("skills/*/SKILL.md", { cwd: REPO_DIR });
    expect(files.length).toBeGreaterThan(5);
    for (const file of files) {
      const frontmatter = parse(read(file).split("---\n")[1] ?? "");
      expect([basename(dirname(file)), fits(schema, frontmatter)]).toEqual([basename(dirname(file)), true]);
    }
  });

  const values = FIELDS.flatMap(([name, field]): [string, unknown][] => {
    switch (field.kind) {
      case "integer":
        return [field.min, field.min - 1, field.max, "x", 1.5].map((value) => [name, value]);
      case "choice":
        return [...field.of, field.of[0]?.toLowerCase(), "moon"].map((value) => [name, value]);
      default:
        return [];
    }
  });
  test.each(values)("Hull and the editor agree whether %s: %j is valid", (name, value) => {
    const frontmatter = { name: "a", description: "A.", mode: "llm", [name]: value };
    const text = Object.entries(frontmatter).map(([key, one]) => `${key}: ${JSON.stringify(one)}`);
    expect(fits(schema, frontmatter)).toBe(taken(text.join("\n"), name));
  });

  test.each([
    [{ daemon: { task: "Look.", wake_interval_ms: 1 } }, true],
    [{ daemon: { task: "Look.", wake_interval_ms: 0 } }, false],
    [{ daemon: { cron: "* * * * *" } }, false],
    [{ mcp_servers: { a: "https://a.example/mcp" } }, true],
    [{ mcp_servers: { a: { url: "https://a.example/mcp", timeout_ms: 600_001 } } }, false],
    [{ mcp_servers: { a: { headers: {} } } }, false],
    [{ mcp_servers: { a: { command: "npx -y a", args: ["b"], env: { C: "${D}" } } } }, true],
    [{ mcp_servers: { a: { command: ["npx"], args: "b" } } }, false],
  ])("%j is taken: %s", (more, good) => {
    const frontmatter = { name: "a", description: "A.", mode: "llm", ...more };
    const { manifest } = parseManifest(`---\n${JSON.stringify(frontmatter)}\n---\nDo it.\n`, {
      folder: "a",
      file: "a/SKILL.md",
    });
    expect(manifest !== null).toBe(good);
    expect(fits(schema, frontmatter)).toBe(good);
  });
});

describe("the schema of a tools.json", () => {
  const tool = (more: object) => [{ name: "look", description: "Looks.", ...more }];
  const schema = toolsSchema();

  it("takes that of this repository", () => {
    expect(fits(schema, JSON.parse(read("skills/text-tools/tools.json")))).toBe(true);
  });

  test.each([
    [{ "x-timeout-ms": 1 }, true],
    [{ "x-timeout-ms": 0 }, false],
    [{ "x-tier": "runner" }, true],
    [{ "x-tier": "moon" }, false],
    [{ "x-risk": "AUTO" }, true],
    [{ "x-risk": "none" }, false],
    [{ "x-hidden": true }, true],
    [{ "x-hidden": 1 }, false],
    [{ "x-requires-network": ["api.example.com"] }, true],
    [{ "x-requires-network": 1 }, false],
    [{ "x-deprecated": "Use look2." }, true],
    [{ "x-estimated-latency-ms": -1 }, false],
    [{ "x-config": [{ name: "p", type: "number", max: 2 }] }, true],
    [{ "x-config": [{ name: "p", type: "moon" }] }, false],
    [{ "x-config": [{ name: "p", max: "2" }] }, false],
  ])("%j is taken: %s", (more, good) => {
    const findings = new Findings("a", "a/tools.json");
    readToolsJson(findings, JSON.stringify(tool(more)), { keyVariables: [] });
    expect(findings.failed).toBe(!good);
    expect(fits(schema, tool(more))).toBe(good);
  });
});
