/** Where findings are, as editors, problem matchers and GitHub read it, from the real command line. */
import { join } from "node:path";
import { parse } from "smol-toml";
import { afterEach, describe, expect, test, vi } from "vitest";
import { positionIn } from "../../../scripts/position-in.ts";
import { tomlTree } from "../../../scripts/toml-tree.ts";
import type { Diagnostic } from "../../../src/skill/manifest.ts";
import { toText } from "../../../src/skill/tree.ts";
import { hullHere } from "../../support/hull-here.ts";
import { folder, skillText } from "./folder.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

const TOML = String.raw`# "a" = 1
title = "x # y" # [not.a.table]
dotted . "a.b" . c = 'lit#eral'
list = [ "one", # a comment, with ]
  "two", { k = [1, 2], "l" = 1979-05-27 07:32:00Z } ,
]
empty = ''''''
none = ""
long = """
[a]
""\""" \\"""""
"\u0071\t" = """"quoted""""

[ server . "x y" ]
port = 1_000
[[rule]]
on = { a.b = true, c = [] }
[[ rule ]]
[rule.deep]
value = -0.50
[server]
name = '''it's'''''
`;

/** With every scalar as its text; those of numbers and dates are as written, which `plain` undoes. */
const texts = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(texts);
  if (value instanceof Date) return "date";
  if (value === null || typeof value !== "object") return String(value);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, texts(inner)]));
};
const plain = (text: string): string =>
  text.replace("1_000", "1000").replace("-0.50", "-0.5").replace("1979-05-27 07:32:00Z", "date");

describe("the position of a value", () => {
  test("the tree of a TOML text has the values that smol-toml reads", () => {
    expect(JSON.parse(plain(JSON.stringify(toText(tomlTree(TOML)))))).toEqual(texts(parse(TOML)));
  });

  test.each([
    ["title", "title = "],
    ["dotted.a.b.c", "c = 'lit"],
    ["list[0]", '"one"'],
    ["list.two", '"two"'],
    ["list.2.k", "k = [1"],
    ["list.2.k[1]", "2], "],
    ["list[2].l", '"l" ='],
    ["none", "none = "],
    ["q\t", '"\\u0071'],
    ["server.x y.port", "port = "],
    ["server.x y.gone", "[ server"],
    ["server.name", "name = '"],
    ["rule[0].on.a.b", "b = true"],
    ["rule.1.gone", "[[ rule ]]"],
    ["rule.1.deep.value", "value = "],
    ["gone", '# "a" = 1'],
  ])("in TOML: %s", (path, stands) => {
    const { line = 0, column = 0 } = positionIn("hull.toml", TOML, path);
    expect(TOML.split("\n")[line - 1]?.slice(column - 1, column - 1 + stands.length)).toBe(stands);
  });

  const skill = "---\nname: x\nmcp_servers:\n  a:\n    command: y\n---\n";
  test.each([
    ["a.json", '{\n\t"a": 1,\n\t"b": [{"c": 2}]\n}', "b[0].c", { line: 3, column: 9 }],
    ["a.yaml", "a: 1\nb:\n  - c: 2\n    d.e: 3\n", "b.0.d.e", { line: 4, column: 5 }],
    ["x/SKILL.md", skill, "mcp_servers.a.command", { line: 5, column: 5 }],
    ["a.json", "{", "a", {}],
    ["a.yaml", "a: [", "a", {}],
    ["a.toml", "a = [", "a", {}],
    ["SKILL.md", "a", "a", {}],
  ])("in %s: %j", (file, text, path, position) => {
    expect(positionIn(file, text, path)).toEqual(position);
  });
});

/** What reads the output of a C compiler, as `$gcc` of VS Code does. */
const MATCHER = /^(\S+?):(\d+):(\d+): (error|warning|info): .*\[([a-z_]+)\]$/gm;

const LONG = `---
name: long
description: d
allowed-tools:
  - Bash
timout_ms: 5
run: no-such-program-here
---

~~~
[in code](gone.md)
~~~
See [it](gone.md).\r
Then: scripts/gone.py
`;

const project = () => {
  vi.stubEnv("HULL_PROVIDERS_CONFIG", '[aliases]\nfast = {id = "m",\n provider = "opnai"}');
  return folder({
    "hull.toml": `public_skills = [
  "long",
  "gone",
]
[policy]
tool_arg_constraints = [{ tool = "Read", arg_patterns = ["*"] }, { tool = "Raed", arg_patterns = ["*"] }]
[capabilities.provider_family]
ollama = "nobody"
`,
    "skills/long/SKILL.md": LONG,
    "skills/data/SKILL.md": skillText("data", "provider: mock"),
    "skills/data/tools.json":
      '[\n\t{"name": "a",\n\t "description": "d", "x-timout-ms": 5,\n\t "parameters": {\n\t\t"n": {"description": "d",\n\t\t\t"type": "int"}}}\n]\n',
    "skills/data/workflows/w.yaml": "entry: a\nnodes:\n  a: {kind: nope}\n",
    "skills/data/hull.toml": '[llm.providers.own]\nrpm = "many"\n[llm.aliases]\na = 1\n',
    "skills/.claude-plugin/plugin.json": '{"name": "x",\n}',
  });
};

const PLACES = [
  "HULL_PROVIDERS_CONFIG:3:2 warning setting_without_effect",
  "hull.toml:3:3 warning setting_without_effect",
  "hull.toml:6:68 warning setting_without_effect",
  "hull.toml:8:1 warning setting_without_effect",
  "skills/.claude-plugin/plugin.json:2:1 warning plugin_file",
  "skills/data/hull.toml:2:1 error package_config",
  "skills/data/hull.toml:4:1 error package_config",
  "skills/data/tools.json:3:23 warning unknown_field",
  "skills/data/tools.json:6:4 error schema_invalid",
  "skills/data/workflows/w.yaml:3:7 error workflow_invalid",
  "skills/long/SKILL.md:13:10 warning reference_missing",
  "skills/long/SKILL.md:14:7 warning reference_missing",
  "skills/long/SKILL.md:6:1 warning unknown_field",
  "skills/long/SKILL.md:7:1 error program_missing",
];

test("hull validate: each finding has line and column, as text and in --json", async () => {
  const cwd = project();
  const { code, err } = await hullHere(["validate", "--runner"], cwd);
  const found = Array.from(err.matchAll(MATCHER), ([, file, line, column, level, name]) => {
    return `${file}:${line}:${column} ${level} ${name}`;
  });
  expect([code, found.sort()]).toEqual([1, PLACES]);
  const { out } = await hullHere(["validate", "--runner", "--json"], cwd);
  const reports: { diagnostics: Diagnostic[] }[] = JSON.parse(out);
  const shown = reports
    .flatMap(({ diagnostics }) => diagnostics)
    .map(({ file, line, column, level, code: name }) => {
      return `${/^(?:hull\.toml|HULL_)/.test(file) ? "" : "skills/"}${file}:${line}:${column} ${level} ${name}`;
    });
  expect(shown.sort()).toEqual(PLACES);
});

test("on GitHub a command annotates the lines of what it finds, by their paths in the checkout", async () => {
  const cwd = project();
  vi.stubEnv("GITHUB_ACTIONS", "true");
  vi.stubEnv("GITHUB_WORKSPACE", join(cwd, "skills"));
  const { err } = await hullHere(["validate", "--runner"], cwd);
  expect(err).toMatch(
    /^::warning file=long\/SKILL\.md,line=13,col=10,title=reference_missing::The text links to gone\.md,.* Add the file/m,
  );
  expect(err.match(/^::(?:error|warning) /gm)).toHaveLength(PLACES.length);
  const odd = folder({ "hull.toml": "", "skills/50%, a/SKILL.md": "x" });
  vi.stubEnv("GITHUB_WORKSPACE", odd);
  expect((await hullHere(["validate"], odd)).err).toContain(
    "::error file=skills/50%25%2C a/SKILL.md,line=1,col=1,",
  );
  const wrong = folder({ "hull.toml": 'name = 1\n[llm.aliases]\n"50%,\\n" = 1\n' });
  vi.stubEnv("GITHUB_WORKSPACE", wrong);
  expect((await hullHere(["list"], wrong)).err).toMatch(
    /^::error file=hull\.toml,line=1,col=1,title=bad_config::name: .*\n::error file=hull\.toml,line=3,col=1,title=bad_config::llm\.aliases\.50%25,%0A: .*\n$/m,
  );
});

test("a file that a command cannot use: the text has a line for each fault, --json a member", async () => {
  const dir = folder({
    "hull.toml": "[runner]\nqueu = 1\n",
    "sub/x": "",
    "flow.yaml": "nodes: [",
  });
  const fault = {
    path: "runner.queu",
    message: "the key runner.queu is unknown.",
    hint: "Did you mean queue?",
  };
  expect(JSON.parse((await hullHere(["list", "--json"], dir)).out)).toEqual({
    code: "unknown_key",
    detail: "hull.toml:2:1: error: the key runner.queu is unknown.",
    hint: "Did you mean queue?",
    errors: [{ file: "hull.toml", line: 2, column: 1, ...fault }],
  });
  const { err } = await hullHere(["list"], join(dir, "sub"));
  expect(err).toBe("../hull.toml:2:1: error: the key runner.queu is unknown.\n  Did you mean queue?\n");
  const deploy = await hullHere(
    ["deploy", "--dry-run", "--config", "own.toml"],
    folder({ "skills/a/SKILL.md": LONG, "own.toml": "name = 'a'\n[build]\n  cwd = 2\n" }),
  );
  expect(deploy).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^own\.toml:3:3: error: build\.cwd: /m),
  });
  expect(deploy.err).toMatch(
    /^own\.toml:1:1: error: main: .*\n(?:own\.toml:\d.*\n)* {2}Begin with a copy of Hull's own/,
  );
  const run = ["workflow", "run", "flow.yaml", "--task", "x", "--url", "http://127.0.0.1:1"];
  expect((await hullHere(run, dir)).err).toMatch(/^flow\.yaml:1:9: error: the file is not valid YAML: /);
});
