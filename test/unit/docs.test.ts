/** The documents say what the code does: examples work, tables are complete, links lead somewhere. */
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse as parseToml } from "smol-toml";
import { expect, test } from "vitest";
import type { Command } from "../../scripts/command.ts";
import { hullToml } from "../../scripts/config.ts";
import { generatedClient, generatedDocuments } from "../../scripts/docs.ts";
import { instructions } from "../../src/engine/agent/skill-text.ts";
import { DEFAULT_BASH_MS, MAX_BASH_MS } from "../../src/engine/workspace-tools/definitions.ts";
import * as budget from "../../src/errors/budget.ts";
import * as daemon from "../../src/errors/daemon.ts";
import * as hook from "../../src/errors/hook.ts";
import * as llm from "../../src/errors/llm.ts";
import * as provider from "../../src/errors/provider.ts";
import * as request from "../../src/errors/request.ts";
import * as run from "../../src/errors/run.ts";
import * as session from "../../src/errors/session.ts";
import * as task from "../../src/errors/task.ts";
import * as workflow from "../../src/errors/workflow.ts";
import { Internal, RolloutUnderWay, StorageUnavailable, StorageUnreadable } from "../../src/errors.ts";
import { DEFAULT_TIMEOUT_S } from "../../src/llm/prepare.ts";
import { WHOLE_ANSWER_MS } from "../../src/llm/vendor-limits.ts";
import { toolRounds } from "../../src/run/agent/skill-terms.ts";
import { PROVIDER_KEY_VARIABLES } from "../../src/secrets.ts";
import { SHIPPED } from "../../src/skill/known-providers.ts";
import { card } from "../../src/skill/manifest.ts";
import { COMMAND_TOOL_FIELDS, PARAMETER_FIELDS } from "../../src/skill/manifest-fields.ts";
import { parseManifest } from "../../src/skill/parse.ts";
import { WORKSPACE_TOOLS } from "../../src/skill/tool-names.ts";
import { NAMES_OF_HARN, variableNames } from "../../src/variables.ts";

import { blocks, shellLines } from "../support/documents.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** The text below a heading of level two, up to the next one. */
function section(path: string, heading: string): string {
  const text = read(path).split(`\n## ${heading}\n`)[1];
  return text?.split("\n## ")[0] ?? expect.fail(`${path} has no section ${heading}`);
}

/** The cells of all table rows of a text, heads and rules left out. */
function rows(text: string): string[][] {
  const lines = text.split("\n").filter((line) => line.startsWith("|"));
  const rules = new Set(lines.flatMap((line, i) => (/^\|[-|]+\|$/.test(line) ? [i - 1, i] : [])));
  return lines
    .filter((_, i) => !rules.has(i))
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    );
}

const quoted = (text = ""): string[] => Array.from(text.matchAll(/`([^`]+)`/g), (match) => match[1] ?? "");
const sorted = (list: Iterable<string>): string[] => Array.from(new Set(list)).sort();

/** The README's first fenced block of a language. */
function example(language: string): string {
  const block = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\`\n`).exec(read("README.md"))?.[1];
  return block ?? expect.fail(`README.md has no ${language} block`);
}

test("the README's skill is valid and has the twenty lines it promises", () => {
  const files = new Map([["days.py", new TextEncoder().encode(example("python"))]]);
  const parsed = parseManifest(example("markdown"), { folder: "days-until", file: "SKILL.md", files });
  expect(parsed.diagnostics).toEqual([]);
  expect(parsed.manifest).toMatchObject({ slug: "days-until", mode: "llm" });
  expect((example("markdown") + example("python")).split("\n").length - 1).toBeLessThanOrEqual(20);
});

test("http.md lists every error code with its status, and no other", () => {
  const modules = [budget, daemon, hook, llm, request, run, provider, session, task, workflow];
  const classes = [
    Internal,
    StorageUnavailable,
    RolloutUnderWay,
    StorageUnreadable,
    ...modules.flatMap((module) => Object.values(module)),
  ];
  const documented = rows(section("docs/http.md", "Errors")).map(
    ([status, code]) => `${status} ${quoted(code)}`,
  );
  const known = new Set(classes.map(({ status, code }) => `${status} ${code}`));
  expect(documented.toSorted()).toEqual([...known].sort());
});

test("generated pages and tables are up to date: npm run docs", () => {
  for (const [path, text] of generatedDocuments()) expect(read(path), path).toBe(text);
});

test("the package's client is up to date with its sources: npm run docs", () => {
  const made = generatedClient();
  for (const [path, text] of made) expect(read(path), path).toBe(text);
  const files = readdirSync(join(ROOT, "typed/client")).map((name) => `typed/client/${name}`);
  expect(sorted(files)).toEqual(sorted([...made.keys()].filter((path) => path.startsWith("typed/"))));
});

test("manifest.md lists every field of a tool, provider and key, and no other", () => {
  const fields = (heading: string) =>
    sorted(rows(section("docs/manifest.md", heading)).flatMap(([name]) => quoted(name)));
  const tool = Object.keys(COMMAND_TOOL_FIELDS).map((key) => `tools[].${key}`);
  const parameter = Object.keys(PARAMETER_FIELDS).map((key) => `tools[].parameters[].${key}`);
  expect(fields("Tools")).toEqual(sorted([...tool, ...parameter]));
  expect(fields("Providers")).toEqual(sorted(SHIPPED.names));
  const keys = rows(section("docs/manifest.md", "Providers")).flatMap(([, key]) => quoted(key));
  expect(sorted(keys)).toEqual(sorted(PROVIDER_KEY_VARIABLES));
});

test("real-skills.md lists every workspace tool, and no other", () => {
  const table = rows(section("docs/real-skills.md", "What happens in between"));
  const names = table.map(([tool]) => quoted(tool)[0] ?? "").filter((name) => /^[A-Z]\w*$/.test(name));
  expect(names).toEqual([...WORKSPACE_TOOLS]);
});

test("tutorial-coming-from.md lists the names of HUSK and Harn that the code knows, and no other", () => {
  const table = rows(section("docs/tutorial-coming-from.md", "Names of HUSK and Harn"));
  const known = (prefix: string) =>
    table.flatMap(([name]) => quoted(name)).filter((name) => name.startsWith(prefix) && !name.endsWith("*"));
  const set = read("container/environment.ts").matchAll(/\bboth\("(\w+)"/g);
  expect(known("HUSK_")).toEqual(Array.from(set, ([, name]) => `HUSK_${name}`));
  for (const [theirs, ours] of table)
    expect(quoted(ours)).toEqual(quoted(theirs).map((name) => name.replace(/HUSK|HARN/, "HULL")));
  const [, variables = ""] = /^\^HULL_\((.*)\)\$$/.exec(NAMES_OF_HARN.source) ?? [];
  expect(known("HARN_")).toEqual(
    variables.split("|").map((name) => `HARN_${name.replace(".+", "<PROVIDER>")}`),
  );
  const placeholders = known("$");
  expect(placeholders.length).toBeGreaterThan(0);
  const skill = { name: "s", dir: "/s", prompt: placeholders.join("|") };
  const reader = { session_id: "one", arguments: "" };
  expect(instructions(skill, reader).split("|")).toEqual(
    placeholders.map((name) => (name.includes("SESSION_ID") ? "one" : "/s")),
  );
});

test("manifest.md lists every diagnostic code, and no other", () => {
  const sources = globSync(
    [
      "src/skill/{,tools-json/,frontmatter/}*.ts",
      "scripts/build/*.ts",
      "scripts/validate/*.ts",
      "scripts/needs/*.ts",
    ],
    { cwd: ROOT },
  );
  const text = sources.map(read).join("\n");
  const calls =
    /(?:(?:findings|strict|lenient)(?:\.part\([^()]*\))?\.(?:error|warning|info)\(|"(?:error|warning|info)",|code:)\s*"(?!error|warning|info)([a-z_]+)"/g;
  const literal = Array.from(text.matchAll(calls), (match) => match[1] ?? "");
  const made = ["tool", "parameter"].flatMap((what) => [`${what}_name`, `duplicate_${what}`]);
  const required = ["name", "description", "task"].flatMap((key) => [`${key}_missing`, `${key}_empty`]);
  const documented = rows(section("docs/manifest.md", "Diagnostics")).flatMap(([code]) => quoted(code));
  const codes = [...literal, ...made, ...required];
  expect(sorted(documented)).toEqual(sorted(codes));
});

test("cli.md lists every command with its options, and no other", async () => {
  const names = readdirSync(join(ROOT, "scripts/commands")).map((file) => file.replace(/\.ts$/, ""));
  const text = read("docs/cli.md");
  const documented = Array.from(text.matchAll(/^\| `hull ([a-z]+)/gm), (match) => match[1] ?? "");
  expect(sorted(documented)).toEqual(sorted(names));
  const missing: string[] = [];
  for (const name of names) {
    const { command }: { command: Command } = await import(`../../scripts/commands/${name}.ts`);
    const flags = Array.from(command.usage.matchAll(/--[a-z]+(?:-[a-z]+)*/g), ([flag]) => flag);
    missing.push(...flags.filter((flag) => !text.includes(flag)).map((flag) => `${name} ${flag}`));
  }
  expect(missing).toEqual([]);
});

test("cli.md lists every key of hull.toml and every variable of Hull, and no other", () => {
  const keys = Object.keys(hullToml.shape);
  const table = rows(section("docs/cli.md", "`hull.toml`")).flatMap(([key]) => quoted(key));
  expect(sorted(table.map((key) => /\w+/.exec(key)?.[0] ?? ""))).toEqual(sorted(keys));

  const sources = globSync("{src,scripts}/**/*.ts", { cwd: ROOT }).map(read).join("\n");
  const asked = sources.matchAll(/\b(?:read|get)\("(HULL_\w+)"\)|process\.env\.(HULL_\w+)/g);
  const known = [...variableNames(), ...Array.from(asked, ([, one, other]) => one ?? other ?? "")];
  const documented = quoted(section("docs/cli.md", "Variables")).filter((name) => name.startsWith("HULL_"));
  // Only tests set these.
  const ours = sorted(known).filter((name) => !name.endsWith("_BUNDLE"));
  expect(ours.filter((name) => !documented.includes(name))).toEqual([]);
  expect(documented.filter((name) => !sources.includes(name.replace("<PROVIDER>", "")))).toEqual([]);
});

test("limits within sentences are those of the code", () => {
  const [, factors = ""] =
    /^MOST_BYTES = ([\d *]+)$/m.exec(read("container/programs/python_session.py")) ?? [];
  const python = factors.split("*").reduce((bytes, factor) => bytes * Number(factor), 1);
  const [rounds, withFiles] = [toolRounds(undefined, false), toolRounds(undefined, true)];
  const first = `${DEFAULT_TIMEOUT_S} s`;
  const whole = `${WHOLE_ANSWER_MS / 1000} s`;
  const bash = `${DEFAULT_BASH_MS / 1000} s, or the node's \`timeout_ms\`, at most ${MAX_BASH_MS / 1000} s`;
  const unsaid = [
    ["messages-api", `waits ${first} for the first byte of a stream, and ${whole} for a whole answer`],
    ["messages-api", `Chat completions end with an error after ${whole}.`],
    ["messages-api", `within the request, for up to ${rounds} rounds`],
    ["messages-api", `up to ${python / 1024 / 1024} MiB together, in \`.hull/python-session\``],
    ["models", `the limit is ${first} for an answer that is not streamed`],
    ["options", `\`HULL_LLM_TIMEOUT\` (seconds), else \`${DEFAULT_TIMEOUT_S * 1000}\``],
    ["manifest", `\`${rounds}\`; \`${withFiles}\` with workspace tools`],
    ["workflows", `It may take ${bash}.`],
  ].filter(([page, words = ""]) => !read(`docs/${page}.md`).replace(/\s+/g, " ").includes(words));
  expect(unsaid).toEqual([]);
});

test("http.md names every member of a card", () => {
  const [, members = ""] = /A card is\s+`\{([^}]*)\}`/.exec(read("docs/http.md")) ?? [];
  const named = members.split(",").map((member) => member.trim().replace("?", ""));
  expect(named).toEqual(Object.keys(card().shape));
});

const DOCUMENTS = ["README.md", ...globSync("docs/*.md", { cwd: ROOT })];

test("examples of JSON, TOML and SKILL.md are valid", () => {
  const seen = new Set<string>();
  for (const path of DOCUMENTS) {
    for (const { language, text } of blocks(read(path))) {
      const skill = /^(?:markdown|yaml)$/.test(language) && text.startsWith("---\n");
      if (language === "json") JSON.parse(text);
      else if (language === "toml") parseToml(text);
      else if (skill) expect(parseManifest(text, { folder: "example", file: path }).diagnostics).toEqual([]);
      else continue;
      seen.add(skill ? "skill" : language);
    }
  }
  expect([...seen]).toEqual(expect.arrayContaining(["skill", "toml"]));
});

test("hull commands in documents exist, and take the flags that they are given", async () => {
  const missing: string[] = [];
  let count = 0;
  for (const path of DOCUMENTS) {
    for (const line of shellLines(read(path))) {
      const [, name = "", rest = ""] = /^(?:npx )?hull ([a-z]+)(.*)$/.exec(line) ?? [];
      if (name === "") continue;
      count++;
      const { command }: { command: Command } = await import(`../../scripts/commands/${name}.ts`);
      const words = rest.replace(/"[^"]*"|'[^']*'/g, "x").split(" ");
      const flags = words.filter((word) => word.startsWith("-") && word !== "-");
      missing.push(
        ...flags.filter((flag) => !hasFlag(command.usage, flag)).map((flag) => `${line}: ${flag}`),
      );
    }
  }
  expect(count).toBeGreaterThan(10);
  expect(missing).toEqual([]);
});

test("S1, S2: what documents install or run exists; npm test is what CI runs, on every Node that is supported", () => {
  const { name, bin, dependencies, devDependencies, engines, scripts } = JSON.parse(read("package.json"));
  const known = [
    name,
    ...Object.keys(bin),
    ...Object.keys({ ...dependencies, ...devDependencies }),
    "npx",
    "npm",
  ];
  const named = DOCUMENTS.flatMap((path) =>
    shellLines(read(path)).flatMap((line) =>
      Array.from(
        line.matchAll(/\bnpx (?:-y )?([@\w/-]+)|\bnpm (?:install|i|add) ([@\w/-]+)/g),
        ([, run = "", install = ""]) => run || install,
      ),
    ),
  );
  expect(sorted(named).length).toBeGreaterThan(1);
  expect(named.filter((word) => !known.includes(word))).toEqual([]);
  const started = DOCUMENTS.flatMap((path) =>
    Array.from(read(path).matchAll(/\bnpm run ([a-z]+)/g), ([, word = ""]) => word),
  );
  expect(started.filter((word) => scripts[word] === undefined)).toEqual([]);
  expect(read("README.md")).toContain("The tests: `npm test`.");
  expect(read(".ci/run")).toMatch(/^npm ci$[\s\S]*^npm test /m);
  expect(read("README.md")).toContain(`Node ${engines.node.replace(">=", "")} or later`);
});

const hasFlag = (usage: string, flag: string): boolean =>
  new RegExp(`(?<![\\w-])${flag}(?![\\w-])`).test(usage);

test("documents name files that exist, and architecture.md names at most fifteen for one request", () => {
  const named = (part: string) =>
    Array.from(
      part.matchAll(/`((?:(?:src|container|scripts|test)\/)?[\w./-]+\.(?:ts|mjs|py|css|js))`/g),
      ([, path = ""]) => path,
    );
  const missing = ["AGENTS.md", ...DOCUMENTS].flatMap((document) =>
    named(read(document))
      .filter((path) => /^(?:src|container|scripts|test)\/\w+\/?/.test(path) && !existsSync(join(ROOT, path)))
      .map((path) => `${document}: ${path}`),
  );
  // Files that readers of the pages make themselves.
  const own = /: (?:scripts\/(?:roll|refund)\.\w+|test\/\w+\.test\.mts)$/;
  expect(missing.filter((path) => !own.test(path))).toEqual([]);
  const text = read("docs/architecture.md");
  for (const heading of [
    "A call of a script skill",
    "A call of an llm skill",
    "A run in a session",
    "A wake of a daemon",
    "A publish",
  ]) {
    const [, part = ""] = text.split(`\n### ${heading}\n`);
    const files = new Set(named(part.split(/\n##/)[0] ?? ""));
    expect(files.size, heading).toBeGreaterThan(10);
    expect(files.size, heading).toBeLessThanOrEqual(15);
  }
});

test("links in documents lead to files and headings that exist", () => {
  const documents = globSync(["*.md", "docs/**/*.md", "skills/**/*.md"], { cwd: ROOT });
  const broken: string[] = [];
  for (const path of documents) {
    const prose = read(path).replace(/```[\s\S]*?```/g, "");
    for (const [, target = ""] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [file = "", anchor] = target.split("#");
      const place = file === "" ? path : join(dirname(path), file);
      const found =
        existsSync(join(ROOT, place)) && (anchor === undefined || anchors(place).includes(anchor));
      if (!found) broken.push(`${path}: ${target}`);
    }
  }
  expect(documents).toContain("README.md");
  expect(broken).toEqual([]);
});

/** The anchors of a document's headings, as GitHub makes them. */
function anchors(path: string): string[] {
  const headings = Array.from(read(path).matchAll(/^#+ (.+)$/gm), (match) => match[1] ?? "");
  return headings.map((text) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
