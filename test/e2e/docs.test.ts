/** The shell examples of README.md and of pages in docs, run as they stand against a real server. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { experimental_getWranglerCommands } from "wrangler";
import { ADMIN, commonHull } from "../support/common-hull.ts";
import { blocks, printedPattern, shellLines } from "../support/documents.ts";
import { exampleShell, withOwnClient } from "../support/example-shell.ts";
import { REPO } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";

const read = (path: string): string => readFileSync(join(REPO, path), "utf8");
const run = promisify(execFile);
type CommandTree = ReturnType<typeof experimental_getWranglerCommands>["registry"];

const { hull: open } = await commonHull(join(REPO, "skills"));
// Its catalog is replaced by what the pages publish. Once the skill is removed, it is that of the folder again.
const { hull: keyed } = await commonHull(
  { "own/SKILL.md": "---\nname: own\ndescription: Of the folder.\nrun: [cat]\n---\nTest.\n" },
  "keyed",
);

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "hull-docs-"));
});
afterAll(async () => {
  await rm(home, { recursive: true });
  // Other files call the skill that docs/configuration.md configures.
  const config = await open.call(
    "/skills/page-address/config",
    '{"tools":{"make_address":{"separator":null}}}',
    {
      method: "PUT",
    },
  );
  expect(config.status).toBe(200);
});

const shell = (script: string, env: Record<string, string> = {}, cwd = REPO): Promise<string> =>
  exampleShell(script, { cwd, home, env });

/** The calls of a document without keys, each with the comment below it. */
const commented = (document: string) =>
  blocks(document)
    .filter(({ language, text }) => language === "bash" && /^curl /m.test(text) && !/API_KEY/.test(text))
    .flatMap(({ text }) => Array.from(text.matchAll(/^(curl .*)\n# (.*)$/gm)))
    .map(([, command = "", comment = ""]) => ({ command, comment }));

const here = (command: string): string =>
  command.replaceAll("localhost:3000", open.url.replace("http://", ""));

test("README.md: what curl prints", async () => {
  const document = read("README.md");
  const files = blocks(document).filter(({ language }) => language === "markdown" || language === "python");
  const [skill, program] = files.map(({ text }) => text);
  await open.write("days-until/days.py", program ?? "");
  await open.write("days-until/SKILL.md", skill ?? "");
  await until(
    async () => (await open.call("/skills/days-until/card")).status,
    (status) => status === 200,
  );
  const calls = commented(document);
  expect(calls).toHaveLength(6);
  for (const { command, comment } of calls) {
    const printed = await shell(here(command));
    if (!comment.startsWith("event:")) expect(printed, command).toMatch(printedPattern(comment));
    else for (const name of comment.match(/\w+(?=,|$)/g) ?? []) expect(printed).toContain(`event: ${name}`);
  }
});

test("README.md: the tools of its tools.json and its skill.ts roll dice", async () => {
  const files = blocks(read("README.md"));
  const of = (language: string) => files.filter((file) => file.language === language).at(-1)?.text ?? "";
  await open.write("dice/scripts/roll.py", of("python"));
  await open.write("dice/tools.json", of("json"));
  await open.write("dice/SKILL.md", "---\nname: dice\ndescription: Rolls dice.\nmode: llm\n---\nRoll.\n");
  await open.write("typed-dice/skill.ts", of("ts"));
  for (const skill of ["dice", "typed-dice"]) {
    const options = { skill, mock: [{ tool_calls: [{ name: "roll", arguments: { dice: 2 } }] }, {}] };
    const answer = await until(
      async () => {
        const response = await fetch(`${open.url}/runs`, {
          method: "POST",
          body: JSON.stringify({ prompt: "Roll.", options }),
        });
        return { status: response.status, text: await response.text() };
      },
      ({ status }) => status !== 404,
    );
    expect(answer.text).toMatch(/\{\\"rolls\\":\[[1-6],[1-6]\]\}/);
  }
});

test.each<[document: string, among: RegExp, printed: RegExp[]]>([
  [
    "README.md",
    /\/sessions|\/daemons/,
    [/prompt of 3 words: Who are you\?/, /1 of 1024 events/, /status +stopped/],
  ],
  ["docs/runs.md", /\/runs/, [/words: Greet Ada/, /"successful_tools":\["count_words"\]/]],
  ["docs/options.md", /\/llm\/call/, [/words: Name a colour/]],
  ["docs/events.md", /\/llm\/stream/, [/event: done/]],
  [
    "docs/http.md",
    /\/llm\/call/,
    [/words: Who are you/, /event: delta/, /"data":\{"age":36\}/, /words: Greet Ada/],
  ],
  ["docs/sessions.md", /\/runs/, [/words: Who are you/]],
  ["docs/session-files.md", /\/files/, [/"path":"notes\/todo\.txt","size":10/]],
  [
    "docs/daemons.md",
    /\/daemons/,
    [/"daemon_state":"idle"/, /"payload":\{"mail":17\}|"queued_event_count":1/],
  ],
  ["docs/tasks.md", /\/tasks|\/sub-agents/, [/"status":"completed"/, /"mode":"workflow"/, /"ok":true/]],
  ["docs/workflows.md", /\/execute/, [/"status":"completed"/, /"node_id":"check"/]],
  ["docs/configuration.md", /\/config/, [/"maxLength":"per_bot"/, /"address":"how_long_is_"/]],
])("%s: its shell examples do what the page says", async (path, among, printed) => {
  const examples = blocks(read(path)).filter(({ language, text }) => language === "bash" && among.test(text));
  expect(examples.length).toBeGreaterThan(0);
  const text = await shell(here(examples.map((block) => block.text).join("")), {}, home);
  expect(text).not.toContain("urn:hull:problem");
  for (const expected of printed) expect(text).toMatch(expected);
});

test("docs/client.md: its programs print what the comments below them say", async () => {
  const programs = blocks(read("docs/client.md")).filter(({ language }) => language === "ts");
  expect(programs).toHaveLength(3);
  for (const [index, { text }] of programs.entries()) {
    const file = join(home, `client-${index}.mts`);
    await writeFile(file, withOwnClient(text));
    const { stdout } = await run(process.execPath, [file], { env: { HULL_URL: open.url } });
    for (const [, comment = ""] of text.matchAll(/^\/\/ (.*)$/gm))
      expect(stdout).toMatch(printedPattern(comment));
  }
});

test("docs/budgets.md: what curl prints, in order", async () => {
  const calls = commented(read("docs/budgets.md"));
  expect(calls).toHaveLength(6);
  for (const { command, comment } of calls) {
    expect(await shell(here(command)), command).toMatch(printedPattern(comment));
  }
});

test.each<[path: string, but: string, expected: string[]]>([
  [
    "docs/deploy.md",
    "",
    [
      "Would deploy hull",
      "Hello, Ada!",
      "The tool echo answered",
      "Published",
      "Revoked",
      "hull_requests_total",
    ],
  ],
  // The row of deploy.md has run the commands that both pages have.
  ["docs/tutorial-deploy.md", "docs/deploy.md", ["0 errors", "hull_", '"max_cost_usd":20', '{"data":']],
])("%s: every hull and curl command, in order", async (path, but, expected) => {
  const others = new Set(but === "" ? [] : shellLines(read(but)));
  const lines = shellLines(read(path)).filter(
    (line) => /^(?:npx hull|curl|[A-Z_]+="\$\()/.test(line) && !others.has(line),
  );
  expect(lines.length).toBeGreaterThan(4);
  // deploy.test.ts calls the real wrangler for a dry run; here any program does.
  const wrangler = join(home, "wrangler.mjs");
  await writeFile(wrangler, "");
  const env = { HULL_URL: keyed.url, HULL_ADMIN_KEY: ADMIN, HULL_WRANGLER: wrangler };
  const printed: string[] = [];
  let assigned = "";
  let id = "";
  for (const line of lines) {
    // Each command has a shell of its own, so that shell also runs the line that sets a variable for it.
    if (/^[A-Z_]+=/.test(line)) {
      assigned = line;
      continue;
    }
    // deploy.test.ts tests what a deployment needs an account for; here a deployment only publishes its skills.
    const brings = /^npx hull deploy$|--no-containers/.test(line)
      ? "npx hull publish . --url $HULL_URL"
      : line;
    const text = await shell(`${assigned}\n${brings.replace("KEY_ID", id)}`, env);
    assigned = "";
    id = /^(key_\S+|k_\S+)/m.exec(text)?.[1] ?? id;
    expect(text, line).not.toContain("urn:hull:problem");
    printed.push(text);
  }
  const all = printed.join("\n");
  for (const part of expected) expect(all).toContain(part);
});

test("docs/deploy.md: wrangler has the commands and options", async () => {
  const lines = new Set(read("docs/deploy.md").match(/npx wrangler [^\n`|]+/g));
  // What its --help prints, without a process for each command.
  const { registry, globalFlags } = experimental_getWranglerCommands();
  const asked = new Set<string>();
  for (const line of lines) {
    const words = line.trim().split(" ").slice(2);
    const command = words.filter((word) => /^[a-z]+$/.test(word) && word !== "json");
    const flags = words.filter((word) => word.startsWith("--")).map((word) => word.split("=")[0] ?? word);
    const { definition } = command.reduce<CommandTree>(
      (tree, word) => tree.subtree.get(word) ?? expect.fail(`${line}: there is no ${word}`),
      registry,
    );
    const known = definition?.type === "command" ? Object.keys({ ...definition.args, ...globalFlags }) : [];
    expect(definition?.type, line).toBe("command");
    for (const flag of flags) expect(known, line).toContain(flag.replace("--", ""));
    asked.add(command.join(" "));
  }
  expect(asked.size).toBeGreaterThan(6);
});
