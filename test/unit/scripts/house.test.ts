import { expect, test } from "vitest";
import { checkHouse } from "../../../scripts/house.ts";
import { folder } from "./folder.ts";

test("a clean house has no violations", () => {
  const root = folder({
    "src/errors.ts": 'export const throwing = "throw new Error(";\n',
    "src/skill/a.ts":
      'import { throwing } from "../errors.ts";\n// any of these, as any reader sees\nexport const a = [throwing];\n',
    "scripts/x.ts": 'import { a } from "../src/skill/a.ts";\nthrow new Error(String(a));\n',
    "test/t.ts": 'import { a } from "../src/skill/a.ts";\nexport const t = a;\n',
  });
  expect(checkHouse(root)).toEqual([]);
});

const CASES: [string, Record<string, string>, string, number, RegExp][] = [
  [
    "layers",
    { "src/engine/a.ts": '\nimport "../model/b.ts";', "src/model/b.ts": "x" },
    "src/engine/a.ts",
    2,
    /engine may not import/,
  ],
  [
    "dynamic imports",
    { "src/skill/a.ts": 'await import("../http/b.ts");', "src/http/b.ts": "x" },
    "src/skill/a.ts",
    1,
    /may not/,
  ],
  [
    "type imports",
    { "src/skill/a.ts": 'import type { B } from "../http/b.ts";', "src/http/b.ts": "x" },
    "src/skill/a.ts",
    1,
    /may not/,
  ],
  [
    "container",
    { "container/a.ts": 'import "../src/skill/b.ts";', "src/skill/b.ts": "x" },
    "container/a.ts",
    1,
    /may not/,
  ],
  [
    "scripts",
    { "scripts/a.ts": 'import "../src/http/b.ts";', "src/http/b.ts": "x" },
    "scripts/a.ts",
    1,
    /may not/,
  ],
  [
    "exports",
    {
      "src/skill/a.ts": "export const used = 1;\nexport function unused(): void {}\n",
      "test/t.ts": 'import { used } from "../src/skill/a.ts";\nexport const t = used;\n',
    },
    "src/skill/a.ts",
    2,
    /nobody uses unused/,
  ],
  [
    "unknown part",
    { "src/new/a.ts": 'import "../skill/b.ts";', "src/skill/b.ts": "x" },
    "src/new/a.ts",
    1,
    /no place/,
  ],
  [
    "no extension",
    { "src/skill/a.ts": 'import "./b";', "src/skill/b.ts": "x" },
    "src/skill/a.ts",
    1,
    /extension/,
  ],
  [
    "barrels",
    {
      "src/skill/a.ts": 'import { c } from "./b.ts";',
      "src/skill/b.ts": '/** B */\nexport { c } from "./c.ts";',
      "src/skill/c.ts": "x",
    },
    "src/skill/a.ts",
    1,
    /barrel/,
  ],
  [
    "circles",
    { "src/skill/a.ts": 'import "./b.ts";', "src/skill/b.ts": 'import "./a.ts";' },
    "src/skill/b.ts",
    1,
    /a\.ts → src\/skill\/b\.ts → src\/skill\/a\.ts/,
  ],
  ["yaml", { "src/skill/a.ts": 'import "yaml";' }, "src/skill/a.ts", 1, /yaml/],
  ["edge", { "src/http/a.ts": 'import "node:fs/promises";' }, "src/http/a.ts", 1, /edge/],
  ["pure imports", { "src/engine/a.ts": 'import "cloudflare:workers";' }, "src/engine/a.ts", 1, /pure/],
  ["pure calls", { "src/engine/a.ts": "const t = Date.now();" }, "src/engine/a.ts", 1, /pure/],
  ["bare errors", { "src/http/a.ts": "\n\nthrow new Error(`x`);" }, "src/http/a.ts", 3, /bare Error/],
  ["any", { "scripts/a.ts": "const f = (x: any) => x;" }, "scripts/a.ts", 1, /any/],
  ["casts", { "test/a.ts": "const x = {} as unknown as string;" }, "test/a.ts", 1, /cast/],
  ["silencers", { "test/a.ts": "// @ts-expect-error" }, "test/a.ts", 1, /silenced/],
  ["notes", { "container/a.ts": "// TODO later" }, "container/a.ts", 1, /issue/],
  ["length", { "src/http/a.ts": "x\n".repeat(401) }, "src/http/a.ts", 401, /401 lines/],
];

test.each(CASES)("%s", (_, files, file, line, message) => {
  expect(checkHouse(folder(files))).toEqual([{ file, line, message: expect.stringMatching(message) }]);
});
