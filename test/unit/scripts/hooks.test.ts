import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { buildRoots } from "../../../scripts/build/build.ts";
import { BuildCache } from "../../../scripts/build/cache.ts";
import { writeBuild } from "../../../scripts/build/write.ts";
import { folder, put, skillText } from "./folder.ts";

/** The hook `turn` of a skill that imports from its own folder, from outside of it, and from CommonJS and ES packages. */
const SKILL = {
  "skills/a/SKILL.md": skillText("A"),
  "skills/a/hooks.ts": `
    import { join } from "node:path";
    import { seven } from "./lib/seven.ts";
    import { shout } from "../../shared/shout.ts";
    import old from "old";
    import words from "./words.json";
    export enum Kind { One }
    export const turn = (turn: { n: number }): string => shout([turn.n + seven, old.base("/x/y"), words.hi, join("a", "b")].join());
    export default function () { return process.env.NODE_ENV; }`,
  "skills/a/lib/seven.ts": "export const seven: number = 7;",
  "skills/a/words.json": '{"hi": "hello"}',
  "skills/a/node_modules/old/package.json": '{"name": "old", "main": "main.js"}',
  "skills/a/node_modules/old/main.js":
    'const { basename } = require("path"); exports.base = (p) => basename(p); const E = require("events"); new E();',
  "shared/shout.ts": "export const shout = (text: string) => text.toUpperCase();",
  "tsconfig.json": '{"compilerOptions": {"target": "es5"}}',
};

async function build(project: string, cache?: BuildCache) {
  const options = { projectDir: project, ...(cache === undefined ? {} : { cache }) };
  const result = await buildRoots([join(project, "skills")], options);
  const found = result.diagnostics.map(({ diagnostic: d }) => `${d.code} ${d.file}:${d.line ?? ""}`);
  return { ...result, found, skill: result.skills[0] };
}

describe("hook modules", () => {
  test("are bundled with what they import, in the same way in any folder", async () => {
    const project = folder(SKILL);
    const result = await build(project);
    const { skill } = result;
    expect(result.found).toEqual([]);
    const contents = await skill?.contents();
    const name = skill?.objects.find((object) => object.startsWith("module/")) ?? "";
    const record = JSON.parse(new TextDecoder().decode(contents?.get(`skill/${skill?.digest}`)));
    expect(record.hooks).toEqual({
      module: name.slice("module/".length),
      exports: ["Kind", "default", "turn"],
    });
    const out = join(project, "out");
    await writeBuild(out, result, new Date());
    expect(existsSync(join(out, name))).toBe(true);
    const elsewhere = folder(
      Object.fromEntries(Object.entries(SKILL).map(([path, text]) => [`deep/er/${path}`, text])),
    );
    put(elsewhere, "tsconfig.json", '{"compilerOptions": {"useDefineForClassFields": false}}');
    const other = await build(join(elsewhere, "deep/er"));
    expect(other.skill?.digest).toBe(skill?.digest);

    put(project, "module.mjs", contents?.get(name) ?? "");
    const loaded: { turn(turn: object): string } = await import(join(project, "module.mjs"));
    expect(loaded.turn({ n: 1 })).toBe("8,Y,HELLO,A/B");
    expect(readFileSync(join(project, "module.mjs"), "utf8")).not.toContain(project);
  });

  test.each([
    ["hooks.ts", "export const a = ;", "hooks_build a/hooks.ts:1", /expected/i],
    [
      "hooks.ts",
      'import "left-pad";\nexport const a = 1;',
      "hooks_build a/hooks.ts:1",
      /npm install left-pad/,
    ],
    ["hooks.js", '\nimport "./no.js";\nexport const a = 1;', "hooks_build a/hooks.js:2", /path/],
    [
      "hooks.ts",
      'import fs from "node:fs";\nexport { fs };',
      "hooks_module a/hooks.ts:1",
      /Do the rest in a tool/,
    ],
    [
      "hooks.ts",
      'import { spawn } from "child_process";\nexport { spawn };',
      "hooks_module a/hooks.ts:1",
      /tool/,
    ],
    [
      "hooks.ts",
      'import { env } from "cloudflare:workers";\nexport { env };',
      "hooks_module a/hooks.ts:1",
      /tool/,
    ],
    ["hooks.ts", "const a = 1;", "hooks_no_exports a/hooks.ts:", /Export functions/],
  ])("%s %j: %s", async (name, text, found, hint) => {
    const project = folder({ "skills/a/SKILL.md": skillText("A"), [`skills/a/${name}`]: text });
    const result = await build(project);
    expect(result.catalog).toBeNull();
    expect(result.found).toEqual([found]);
    const [{ diagnostic } = { diagnostic: { message: "", hint: "" } }] = result.diagnostics;
    expect(`${diagnostic.message} ${diagnostic.hint}`).toMatch(hint);
  });

  test("are refused if a skill has them in both languages", async () => {
    const files = { "skills/a/hooks.ts": "export const a = 1;", "skills/a/hooks.js": "export const a = 1;" };
    const { found } = await build(folder({ "skills/a/SKILL.md": skillText("A"), ...files }));
    expect(found).toEqual(["hooks_two_files a/hooks.js:"]);
  });

  test("are built again when a file changes that lies outside the folder, or was missing", async () => {
    const project = folder(SKILL);
    const cache = new BuildCache();
    // A file that was only just written is read again.
    await setTimeout(100);
    const first = await build(project, cache);
    expect((await build(project, cache)).skill?.digest).toBe(first.skill?.digest);
    expect(cache.rebuilt).toBe(0);
    put(project, "shared/shout.ts", "export const shout = (text: string) => text;");
    expect((await build(project, cache)).skill?.digest).not.toBe(first.skill?.digest);
    put(project, "skills/a/hooks.ts", 'import { x } from "late"; export const late = () => x;');
    expect((await build(project, cache)).found).toEqual(["hooks_build a/hooks.ts:1"]);
    put(project, "node_modules/late/index.js", "export const x = 1;");
    expect((await build(project, cache)).found).toEqual([]);
  });
});
