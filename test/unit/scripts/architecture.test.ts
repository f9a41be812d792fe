import { expect, test } from "vitest";
import { checkArchitecture, withoutSpreadLiterals } from "../../../scripts/architecture.ts";
import { folder } from "./folder.ts";

test("a clean tree has no violations", () => {
  const root = folder({
    "src/errors.ts": 'export const throwing = "throw new Error(";\n',
    "src/skill/a.ts":
      'import { throwing } from "../errors.ts";\n// any of these, as any reader sees\nexport const a = [throwing];\n',
    "src/skill/constants.ts":
      'const TABLE = new Map([["a", 1]]);\nconst NONE: ReadonlySet<string> = new Set();\nconst EMPTY: readonly string[] = [];\nconst PROGRAM = `\nlet ticks = 0;\n`;\n',
    "src/skill/text.ts": 'import STYLE from "./style.css?raw";\nconst styles = [STYLE];\n',
    "src/skill/patterns.ts":
      "const patterns = [/(?<!a)a+$/, /[ab]+/g, /\\s*b/y, /^\\s*b/, /[a]+(?:-[a]+)*/g, /a b+$/];\n",
    "scripts/x.ts": 'import { a } from "../src/skill/a.ts";\nthrow new Error(String(a));\n',
    "test/t.ts": 'import { a } from "../src/skill/a.ts";\nexport const t = a;\n',
  });
  expect(checkArchitecture(root)).toEqual([]);
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
  ...[
    "let last: string | null = null;",
    "let count = 0;",
    "const known = new Map<string, { at: number }>();",
    "const known: WeakMap<object, () => void> = new WeakMap();",
    "const names: string[] = [];",
    "const recent = new RecentMap<string, number>(10);",
    "class A {\n  static #made = 0;\n}",
  ].map((code): [string, Record<string, string>, string, number, RegExp] => [
    "state of modules",
    { "src/skill/a.ts": code },
    "src/skill/a.ts",
    code.startsWith("class") ? 2 : 1,
    /a module keeps something/,
  ]),
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
    "exports of a namespace that is not spread",
    {
      "src/skill/a.ts": "export const listed = 1;\n",
      "src/skill/fixed-routes.ts": "const listed = 1;\n",
      "test/t.ts":
        'import * as a from "../src/skill/a.ts";\nexport const t = (all: unknown[]) => [a, ...all];\n',
    },
    "src/skill/a.ts",
    1,
    /nobody uses listed/,
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
  ["no module", { "src/skill/a.ts": 'import "./style.css";' }, "src/skill/a.ts", 1, /extension/],
  [
    "a text of another part",
    { "src/skill/a.ts": 'import B from "../http/b.mjs?raw";', "src/http/b.mjs": "x" },
    "src/skill/a.ts",
    1,
    /may not/,
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
    "handlers that override each other",
    {
      "src/http/a.ts":
        'import * as b from "./b.ts";\nimport * as c from "./c.ts";\nconst all = { ...b, ...c, getX: 1 };',
      "src/http/b.ts": "export function getX() {}",
      "src/http/c.ts": "export const getX = 1;",
    },
    "src/http/a.ts",
    2,
    /b\.ts and src\/http\/c\.ts both export getX/,
  ],
  [
    "circles",
    { "src/skill/a.ts": 'import "./b.ts";', "src/skill/b.ts": 'import "./a.ts";' },
    "src/skill/b.ts",
    1,
    /a\.ts → src\/skill\/b\.ts → src\/skill\/a\.ts/,
  ],
  [
    "circles of the runner",
    { "container/a.ts": 'import type { B } from "./b.ts";', "container/b.ts": 'import "./a.ts";' },
    "container/b.ts",
    1,
    /import circle: container\/a\.ts/,
  ],
  ["yaml", { "src/skill/a.ts": 'import "yaml";' }, "src/skill/a.ts", 1, /yaml/],
  ["edge", { "src/http/a.ts": 'import "node:fs/promises";' }, "src/http/a.ts", 1, /edge/],
  ["pure imports", { "src/engine/a.ts": 'import "cloudflare:workers";' }, "src/engine/a.ts", 1, /pure/],
  ["pure calls", { "src/engine/a.ts": "const t = Date.now();" }, "src/engine/a.ts", 1, /pure/],
  ["bare errors", { "src/http/a.ts": "\n\nthrow new Error(`x`);" }, "src/http/a.ts", 3, /bare Error/],
  ["logs", { "src/run/a.ts": "\nconsole.error(x);" }, "src/run/a.ts", 2, /redactor/],
  ["JSON answers", { "src/http/a.ts": "return Response.json(x);" }, "src/http/a.ts", 1, /jsonAnswer/],
  ["any", { "scripts/a.ts": "const f = (x: any) => x;" }, "scripts/a.ts", 1, /any/],
  ["casts", { "test/a.ts": "const x = {} as unknown as string;" }, "test/a.ts", 1, /cast/],
  ["slow patterns", { "src/a.ts": "const a = b.replace(/[^\\S\\n]+$/g, c);" }, "src/a.ts", 1, /quadratic/],
  ["slow beginnings of lines", { "scripts/a.ts": "/^\\s*a/m.test(b);" }, "scripts/a.ts", 1, /quadratic/],
  ["silencers", { "test/a.ts": "// @ts-expect-error" }, "test/a.ts", 1, /silences/],
  ["notes", { "container/a.ts": "// TODO later" }, "container/a.ts", 1, /issue/],
  ["objects for layout", { "src/http/a.ts": "x\nf({\n  ...{ a, b },\n});" }, "src/http/a.ts", 3, /is spread/],
  ["lists for layout", { "test/a.ts": "f(...[1, 2]);" }, "test/a.ts", 1, /is spread/],
];

test.each(CASES)("%s", (_, files, file, line, message) => {
  expect(checkArchitecture(folder(files))).toEqual([{ file, line, message: expect.stringMatching(message) }]);
});

test("a long file is a warning", () => {
  const root = folder({ "src/http/a.ts": "x\n".repeat(600), "src/http/b.ts": "x\n".repeat(601) });
  expect(checkArchitecture(root)).toEqual([
    { file: "src/http/b.ts", line: 601, message: expect.stringMatching(/601 lines/), warning: true },
  ]);
});

test.each([
  ["f({ ...{ a, b: { c } }, d });", "f({ a, b: { c }, d });"],
  ["f({ a, ...{ b, ...{ c }, } });", "f({ a, b, c });"],
  ["f(...[1, [2]], 3);", "f(1, [2], 3);"],
  ["f(`a ${b(`c`)} }`, { ...{ d: `e` } });", "f(`a ${b(`c`)} }`, { d: `e` });"],
  ["f(/[`'/]\\//, `//`, { ...{ a } });", "f(/[`'/]\\//, `//`, { a });"],
  ["f({ ...{}, a });", "f({  a });"],
  ["f({ ...(a ? { b } : {}), ...c });", "f({ ...(a ? { b } : {}), ...c });"],
  ["f([...[1, 2].map(g), ...[a][0]]);", "f([...[1, 2].map(g), ...[a][0]]);"],
  ["const f = (...[a, b]: Pair) => [a, b];", "const f = (...[a, b]: Pair) => [a, b];"],
  ["const f = (...[a, b]) => '...[a, b]';", "const f = (...[a, b]) => '...[a, b]';"],
])("%s without literals that are spread", (text, expected) => {
  expect(withoutSpreadLiterals(text)).toBe(expected);
});
