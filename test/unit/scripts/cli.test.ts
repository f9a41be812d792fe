import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { EXIT } from "../../../scripts/command.ts";
import { projectChecks } from "../../../scripts/dev/checks.ts";
import { lockState } from "../../../scripts/dev/state-lock.ts";
import { keepRecent, notStarted, Supervised } from "../../../scripts/dev/supervised.ts";
import { table } from "../../../scripts/table.ts";
import { skillSlug } from "../../../src/skill/slug.ts";
import { type Ended, hullHere } from "../../support/hull-here.ts";
import { processesWith } from "../../support/runner.ts";
import { folder, put, skillText } from "./folder.ts";

const BIN = fileURLToPath(new URL("../../../bin/hull.mjs", import.meta.url));

/** The Node that runs these tests, and the system's own, which may be older, where there is one. */
const OTHER = (process.env.PATH ?? "")
  .split(delimiter)
  .filter((dir) => !dir.includes("node_modules"))
  .map((dir) => join(dir, "node"))
  .find((path) => existsSync(path));
const NODES = [process.execPath, ...(OTHER === undefined ? [] : [OTHER])];

/** A command in a process of its own. */
function start(args: string[], options: { node?: string; bin?: string } = {}) {
  return new Promise<Ended>((resolve) => {
    const { node = process.execPath, bin = BIN } = options;
    execFile(node, [bin, ...args], { encoding: "utf8" }, (error, out, err) => {
      resolve({ code: typeof error?.code === "number" ? error.code : error === null ? 0 : -1, out, err });
    });
  });
}

const hull = (args: string[], { cwd }: { cwd?: string } = {}) => hullHere(args, cwd);

const good = () => folder({ "skills/a/SKILL.md": skillText("A") });
const bad = () => folder({ "skills/a/SKILL.md": skillText("A", "mode: lmm") });
const warned = () => folder({ "skills/a/SKILL.md": skillText("A", "modell: x") });

test.each([
  [["publish", "--rollback", "--empty"], "--rollback and --empty exclude each other."],
  [["publish", "--rollback", "--keep-going"], "--rollback and --keep-going exclude each other."],
  [["validate", "--profile", "strict", "--runner"], "--profile and --runner exclude each other."],
  [["doctor", "--skills", "--port", "1"], "--skills and --port exclude each other."],
  [["replay", "a", "--as-mocks", "--realtime"], "--as-mocks and --realtime exclude each other."],
  [["dev", "--mocks", "a", "--record", "b"], "--mocks and --record exclude each other."],
])("flags that contradict each other are refused: %j", async (args, says) => {
  const { code, err } = await hull(args);
  expect([code, err]).toEqual([EXIT.usage, expect.stringContaining(says)]);
});

const NOBODY = "http://127.0.0.1:9";
test.each([
  [["deploy", "--url", NOBODY, "none"], "--url has no effect without --keep-going."],
  [["call", "x", "--key", "k", "-d", "none"], "--key has no effect without --url."],
  [["keys", "list", "--scopes", "admin", "--url", NOBODY], "--scopes has an effect only with add."],
  [["workflow", "ls", "--task", "x", "--url", NOBODY], "--task has an effect only with run and fork."],
  [["sessions", "ls", "--run", "--url", NOBODY], "--run has an effect only with tail."],
])("a flag without effect is told: %j", async (args, says) => {
  expect((await hull(args)).err).toContain(`${says}\n`);
});

test.each([
  ["--status", "nope", 'There is no --status "nope".', /Accepted: running, .*completed/],
  ["--kind", "nope", 'There is no --kind "nope".', /Accepted: run, daemon, call, workflow/],
])("hull runs %s refuses an unknown word before it asks anybody", async (flag, word, says, accepted) => {
  const { code, err } = await hull(["runs", flag, word, "--url", "http://127.0.0.1:9"]);
  expect([code, err]).toEqual([EXIT.usage, expect.stringContaining(says)]);
  expect(err).toMatch(accepted);
});

test("hull doctor ends the runner also if it does not answer, and names programs that skills lack", async () => {
  const listens = `console.log('{"event":"listening","port":1}');\nprocess.stdin.resume();\n`;
  const runner = join(folder({ "runner.cjs": listens }), "runner.cjs");
  vi.stubEnv("HULL_RUNNER_BUNDLE", runner);
  try {
    const lacking = folder({ "skills/a/SKILL.md": skillText("A", "run: [no-such-program, hi]") });
    const { out } = await hull(["doctor"], { cwd: lacking });
    expect(out).toContain("✘ runner");
    expect(out).toMatch(
      /! skills +1 skill; this machine lacks no-such-program\.\n +fix: hull validate --runner/,
    );
    expect(processesWith(runner)).toEqual([]);
  } finally {
    vi.unstubAllEnvs();
  }
});

describe.each(NODES)("on %s", (node) => {
  test("exit codes and where messages go", async () => {
    const valid = await start(["validate", good()], { node });
    expect(valid).toMatchObject({ code: 0, err: "" });
    const invalid = await start(["validate", bad()], { node });
    expect(invalid.code).toBe(1);
    expect(invalid.err).toContain("SKILL.md:4:7: error: mode: ");
    const absent = await start(["build", "/no/such/folder"], { node });
    expect(absent).toMatchObject({ code: 3, out: "" });
    expect(absent.err).toContain("/no/such/folder");
  });
});

test("if its reader leaves, the command ends without a message", async () => {
  const child = spawn(process.execPath, [BIN, "--help"], { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.destroy();
  let err = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  const [code] = await once(child, "close");
  expect([code, err]).toEqual([0, ""]);
});

test("standard input that is not UTF-8 is refused, not changed", async () => {
  const url = ["--url", "http://127.0.0.1:2"];
  for (const args of [
    ["run", "-"],
    ["sessions", "send", "s", "-"],
    ["daemons", "send", "d", "-"],
  ]) {
    const ended = spawnSync(process.execPath, [BIN, ...args, ...url], { input: Buffer.from([0xff, 0x41]) });
    expect([ended.status, ended.stderr.toString()]).toEqual([2, expect.stringContaining("not UTF-8")]);
  }
});

test.each([
  [["call", "x", "--url", "localhost:3000"], "--url is not an http(s) address"],
  [["call", "x", "--url", "ftp://x"], "--url is not an http(s) address"],
  [
    ["call", "x", "--url", "http://h:1/skills/x"],
    "--url names more than a server, whose address is http://h:1.",
  ],
  [["call", "", "--url", "http://h:1"], "Which skill?"],
  [["run", " ", "--url", "http://h:1"], "The prompt is empty."],
  [["sessions", "ls", "--url", "http://h:1/?a=b"], "--url names more than a server"],
  [["call", "x", "--url", "http://127.0.0.1:2", "--key", "secret\nkey"], "The API key contains a character"],
  [
    ["sessions", "ls", "--url", "http://127.0.0.1:2", "--key", "two words"],
    "The API key contains a character",
  ],
  [["sessions", "ls", "--url", "http://127.0.0.1:2", "--key", "sécret"], "The API key contains a character"],
])("an address or a key that cannot be one is wrong usage: %j", async (args, says) => {
  const ended = await hull(args);
  expect(ended).toMatchObject({ code: 2, err: expect.stringContaining(says) });
  expect(ended.err).not.toMatch(/s.cret|fault in Hull/);
});

test.each([
  [["sessions", "shw", "s"], 'There is no action "shw"; did you mean show?'],
  [["daemons", "nonsense"], 'There is no action "nonsense".\n'],
  [["workflow", "exlpain", "w"], 'There is no action "exlpain"; did you mean explain?'],
  [["approvals", "aprove", "s", "a"], 'There is no action "aprove"; did you mean approve?'],
  [["keys", "ad"], 'There is no action "ad"; did you mean add?'],
  [["tasks"], "Name an action; all but ls need the id of a task"],
  [["tasks", "show"], "Name an action; all but ls need the id of a task"],
])("an unknown action is reported with the nearest one: %j", async (args, says) => {
  expect(await hull(args)).toMatchObject({ code: 2, err: expect.stringContaining(says) });
});

test("hull doctor accepts no word as a port, and checks the one that hull dev would use", async () => {
  const refused = { exit: 2, code: "bad_port", message: expect.stringContaining('HULL_PORT: "abc"') };
  const message = expect.stringContaining('--port: "abc"');
  await expect(projectChecks(good(), "abc")).rejects.toMatchObject({ ...refused, message });
  vi.stubEnv("HULL_PORT", "abc");
  try {
    await expect(projectChecks(good(), undefined)).rejects.toMatchObject(refused);
  } finally {
    vi.unstubAllEnvs();
  }
  const named = folder({ "skills/.keep": "", ".env": "HULL_PORT=abc\n" });
  await expect(projectChecks(named, undefined)).rejects.toMatchObject(refused);
});

test("a refusal of the system is reported in words: what, where, and what to do", async () => {
  const taken = join(folder({ taken: "a file" }), "taken");
  const err = `hull: Cannot make the folder ${taken}: there is something else of this name.\n  Choose another name, or move that away.\n`;
  expect(await hull(["init", taken])).toEqual({ code: 1, out: "", err });
});

// There the system finds no folder to make one in, though it exists.
test.skipIf(process.platform !== "linux")("no command tries forever to make a folder in /proc", async () => {
  const message = "Cannot make the folder /proc/hull: the system allows none in /proc.";
  expect(await hull(["init", "/proc/hull/deep"])).toMatchObject({
    code: 1,
    err: expect.stringContaining(message),
  });
  await expect(lockState("/proc/hull")).rejects.toMatchObject({ exit: 1, message });
});

test("hull upload without a folder asks for that, before any address", async () => {
  expect(await hull(["upload"])).toMatchObject({
    code: 2,
    err: expect.stringContaining("Upload which folder?"),
  });
});

describe("an old Node", () => {
  /** A checkout whose bin finds every Node too old, and whose hull.ts is a stand-in. */
  const checkout = (script: string) => {
    const text = readFileSync(BIN, "utf8");
    const dir = folder({
      "bin/hull.mjs": text.replace("const NEEDED = 24", "const NEEDED = 9999"),
      "scripts/hull.ts": script,
    });
    const bundled = () => {
      put(dir, "node_modules/node/package.json", "{}");
      mkdirSync(join(dir, "node_modules/node/bin"));
      symlinkSync(process.execPath, join(dir, "node_modules/node/bin/node"));
    };
    return { bin: join(dir, "bin/hull.mjs"), bundled };
  };

  test("prints instructions if the bundled one is missing", async () => {
    const { bin } = checkout("");
    const { code, err } = await start(["list"], { bin });
    expect(code).toBe(1);
    expect(err).toContain("npm ci");
  });

  test("passes arguments, signals and the exit code through", async () => {
    const { bin, bundled } = checkout(
      'process.on("SIGTERM", () => process.exit(7));\nsetInterval(() => {}, 1000);\nconsole.log(process.argv.slice(2).join("|"));\n',
    );
    bundled();
    const child = spawn(process.execPath, [bin, "a b", "--c"], { stdio: ["ignore", "pipe", "inherit"] });
    const [first] = await once(child.stdout, "data");
    expect(String(first)).toBe("a b|--c\n");
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([7, null]);
  });

  test("reports the end by a signal as 128 + n", async () => {
    const { bin, bundled } = checkout('process.kill(process.pid, "SIGKILL");\n');
    bundled();
    expect((await start([], { bin })).code).toBe(137);
  });
});

test("usage errors are exit 2 and suggest the nearest word", async () => {
  const cases: [string[], RegExp][] = [
    [["biuld"], /Did you mean: hull build/],
    [["serv"], /hull serve/],
    [["build", "--keep-goin"], /--keep-goin\.[\s\S]*Did you mean --keep-going/],
    [["build", "--out"], /--out needs a value/],
    [["build", "--json=1"], /takes no value/],
    [["list", "a", "b"], /Unexpected argument "b"/],
    [["workflow", "run", "test", "x", "--task", "t"], /Unexpected argument "x"/],
    [["new"], /needs a name/],
    [["new", "x", "-l", "cobol"], /bash, python, ts, llm, proxy/],
    [["validate", "-q"], /Unknown flag -q/],
  ];
  for (const [args, pattern] of cases) {
    const { code, out, err } = await hull(args);
    expect([args, code, out]).toEqual([args, 2, ""]);
    expect(err).toMatch(pattern);
  }
});

test("hull validate compiles Python handlers, and counts a skill with an error as invalid", async () => {
  const tool = { name: "look", description: "Looks.", script: "scripts/look.py", parameters: {} };
  const project = folder({
    "skills/a/SKILL.md": skillText("a", "mode: llm"),
    "skills/a/tools.json": JSON.stringify([tool]),
    "skills/a/scripts/look.py": "def handler(args):\n    return {\n",
  });
  const { code, out, err } = await hull(["validate", project]);
  expect({ code, out }).toEqual({ code: 1, out: "0 valid skills, 1 error, 0 warnings.\n" });
  expect(err).toMatch(/scripts\/look\.py:2:12: error: Python cannot compile the handler/);
  put(project, "skills/a/scripts/look.py", "def handler(args):\n    return {}\n");
  expect(await hull(["validate", project])).toMatchObject({ code: 0, err: "" });
});

test("hull dev says that --realtime needs --replay", async () => {
  const said = "--realtime has no effect without --replay.\n";
  const { code, err } = await hull(["dev", "/no/such/folder", "--realtime"]);
  expect([code, err]).toEqual([3, expect.stringContaining(said)]);
  const replayed = await hull(["dev", "/no/such/folder", "--realtime", "--replay", "calls.jsonl"]);
  expect(replayed.err).not.toContain(said);
});

test("help of a command; --json prints the failure as an object", async () => {
  expect(await hull(["build", "--help"])).toMatchObject({
    code: 0,
    err: "",
    out: expect.stringContaining("--keep-going"),
  });
  const { code, out, err } = await hull(["list", "/no/such/folder", "--json"]);
  expect({ code, err }).toEqual({ code: 3, err: "" });
  expect(JSON.parse(out)).toMatchObject({
    code: "folder_missing",
    detail: expect.stringContaining("/no/such/folder"),
  });
});

describe("folders (S4)", () => {
  test("no skills anywhere, or the skills folder of a project missing: exit 3 with the absolute path", async () => {
    const commands = folder({ ".claude/commands/review.md": "Review." });
    expect((await hull(["list"], { cwd: commands })).err).toContain("write commands = true into hull.toml");
    const empty = folder({ "notes/readme.txt": "x" });
    const project = folder({ "hull.toml": "" });
    for (const cwd of [empty, project]) {
      const { code, err } = await hull(["build"], { cwd });
      expect(code).toBe(3);
      expect(err).toContain(join(cwd, "skills"));
    }
  });

  test("skills/, a plain folder of skills, one skill, its SKILL.md, and hull.toml upwards", async () => {
    const project = good();
    for (const path of [
      project,
      join(project, "skills"),
      join(project, "skills/a"),
      join(project, "skills/a/SKILL.md"),
    ]) {
      const { code, out } = await hull(["validate", path, "--json"]);
      expect(code).toBe(0);
      expect(JSON.parse(out)).toMatchObject([
        { properties: { name: "A", description: "d" }, profiles: ["lenient", "husk"], diagnostics: [] },
      ]);
    }
    const custom = folder({ "hull.toml": 'skills = ["mine"]', "mine/m/SKILL.md": skillText("M") });
    expect(JSON.parse((await hull(["list", "--json"], { cwd: custom })).out).skills[0].slug).toBe("m");
    expect((await hull(["build"], { cwd: join(custom, "mine") })).code).toBe(0);
    expect(existsSync(join(custom, ".hull/build/catalog.current.json"))).toBe(true);
  });

  test("hull.toml: unknown keys, wrong values and syntax errors exit with 2 and name the place", async () => {
    const cases: [string, RegExp][] = [
      ["prot = 1", /^hull\.toml:1:1: error: the key prot is unknown\.\n {2}Did you mean port\?\n$/],
      [
        "[runner]\nqueu = 1",
        /^hull\.toml:2:1: error: the key runner\.queu is unknown\.\n {2}Did you mean queue\?/,
      ],
      [
        '[runner]\nurl = "http://me:secret@runner:80"',
        /^hull\.toml:2:1: error: runner\.url: .*without a user name/,
      ],
      ['[runner]\nurl = "http://runner/a"', /runner\.url: .*user name, path or query/],
      ['port = "x"', /^hull\.toml:1:1: error: port: /],
      ["skills = 5", /skills: must be a folder, or a list of folders/],
      ['allowed_hosts = ["http://a.example"]', /allowed_hosts\.0: .*"skills\.example\.com"/],
      ['allowed_hosts = ["a.example:8080"]', /allowed_hosts\.0: .*without scheme and port/],
      ['rate_limit = "fast"', /"120\/60s"/],
      ['cors_origins = ["app.example"]', /"https:\/\/app.example"/],
      ['allowed_origins = ["https://app.example/"]', /"https:\/\/app.example"/],
      ['[mcp.servers.Docs]\nurl = "https://a.example/"', /mcp\.servers.*1 to 32 of a-z/],
      ['[mcp.servers.docs]\nurl = "ftp://a.example/"', /mcp\.servers\.docs\.url: .*https URL/],
      [
        '[mcp.servers.docs]\nurl = "https://a.example/"\nheaders = { x-a = "${" }',
        /headers\.x-a: .*placeholder/,
      ],
      [
        '[mcp.servers.docs]\nurl = "https://a.example/"\nheaders = { x-a = "${OPENAI_API_KEY}" }',
        /mcp\.servers\.docs: .*provider's key/,
      ],
      [
        '[workspace_tools]\nnetwork = ["https://a.example"]',
        /network\.0: must be a host such as "api\.example/,
      ],
      ["a = = 1", /^hull\.toml:1:5: error: Invalid TOML document: /],
      [
        'prot = 1\nskils = "x"\nport = "x"\nrate_limit = "fast"\n',
        /^hull\.toml:1:1: error: the key prot is unknown\. Did you mean port\?\nhull\.toml:2:1: error: the key skils is unknown\. Did you mean skills\?\nhull\.toml:3:1: error: port: .*\nhull\.toml:4:1: error: rate_limit: .*\n$/,
      ],
    ];
    for (const [toml, pattern] of cases) {
      const { code, err } = await hull(["list"], { cwd: folder({ "hull.toml": toml }) });
      expect([toml, code]).toEqual([toml, 2]);
      expect(err).toMatch(pattern);
    }
  });
});

test("build writes a catalog or, with errors, only diagnostics (S5)", async () => {
  const project = folder({
    "skills/a/SKILL.md": skillText("A"),
    "skills/b/SKILL.md": skillText("B", "run: ./gone.sh"),
  });
  expect((await hull(["build", project])).code).toBe(1);
  const out = join(project, ".hull/build");
  expect(readdirSync(out)).toEqual(["diagnostics.json"]);
  const { code, out: text } = await hull(["build", project, "--keep-going", "--json"]);
  expect(code).toBe(1);
  const printed = JSON.parse(text);
  expect(printed.skills.map((c: { slug: string }) => c.slug)).toEqual(["a"]);
  expect(JSON.parse(readFileSync(join(out, "catalog.current.json"), "utf8")).id).toBe(printed.catalog);
});

test("validate: --strict makes warnings errors, --runner looks for programs", async () => {
  const project = warned();
  expect((await hull(["validate", project])).code).toBe(0);
  expect((await hull(["validate", project, "--strict"])).code).toBe(1);
  const server = "mode: llm\nmcp_servers: {x: {command: no-such-server-here}}";
  const missing = folder({
    "skills/a/SKILL.md": skillText("A", "run: [no-such-program-here]"),
    "skills/b/SKILL.md": skillText("B", server),
  });
  expect((await hull(["validate", missing])).code).toBe(0);
  const { code, err } = await hull(["validate", missing, "--runner"]);
  expect(code).toBe(1);
  expect(err).toMatch(/skills\/a\/SKILL\.md:4:1: error: run: .*no-such-program-here.*\[program_missing\]/);
  expect(err).toMatch(/b\/SKILL\.md:\d+:\d+: error: mcp_servers\.x\.command: .*no-such-server-here/);
});

test("new: every kind and nasty names pass validate --strict; nothing is overwritten", async () => {
  const cwd = folder();
  const names = [
    "Weather",
    `it's "quoted": yes`,
    "- #x: [y] {z} & *",
    "天気",
    "天気 2",
    "雨",
    "true",
    "1.5",
    "Zoë\u2028é\t!",
    "Ünïcode",
  ];
  for (const [i, language] of ["bash", "python", "ts", "llm", "proxy", "tools", "typed"].entries()) {
    expect((await hull(["new", `Kind ${i}`, "-l", language], { cwd })).code).toBe(0);
  }
  for (const name of names) expect((await hull(["new", "-d", "skills", "--", name], { cwd })).code).toBe(0);
  const { code, out, err } = await hull(["validate", "--strict", "--runner", "--json"], { cwd });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  const made: { path: string; properties: { name: string } }[] = JSON.parse(out);
  const found = made.map(({ properties }) => properties.name);
  const plain: Record<string, string> = { "Zoë\u2028é\t!": "Zoe e !", Ünïcode: "Unicode" };
  for (const name of names) expect(found).toContain(plain[name] ?? name.replace(/\s+/g, " "));
  expect(existsSync(join(cwd, "skills/unicode/SKILL.md"))).toBe(true);
  for (const { path, properties } of made)
    expect(skillSlug(properties.name, basename(path))).toBe(basename(path));
  const inside = await hull(["new", "part", "-d", "skills/weather"], { cwd });
  expect([inside.code, inside.err]).toEqual([1, expect.stringMatching(/is a skill itself/)]);
  const again = await hull(["new", "weather"], { cwd });
  expect(again.code).toBe(1);
  expect(again.err).toContain(join(cwd, "skills/weather"));
});

test("init makes a project that builds, and keeps existing files", async () => {
  const cwd = folder({ "my app/.gitignore": "mine\n/node_modules\n" });
  const first = await hull(["init", "my app"], { cwd });
  expect(first).toMatchObject({ code: 0, err: "" });
  expect(first.out).toMatch(/npx hull dev '.*\/my app'\n/);
  const dir = join(cwd, "my app");
  expect(readFileSync(join(dir, ".gitignore"), "utf8")).toBe("mine\n/node_modules\n");
  expect(first.out).toContain(
    "\n.gitignore does not list .hull/, .wrangler/, .env, .env.*, .dev.vars, __pycache__/: add ",
  );
  expect(readFileSync(join(dir, "hull.toml"), "utf8")).toContain('name = "my-app"\n');
  expect(JSON.parse(readFileSync(join(dir, "package.json"), "utf8"))).toMatchObject({
    name: "my-app",
    scripts: { start: "exec hull dev" },
    devDependencies: { hullrun: expect.stringMatching(/^\^\d/), "@types/node": "^24" },
  });
  expect((await hull(["validate", "--strict"], { cwd: dir })).code).toBe(0);
  chmodSync(join(dir, "skills/hello/main.sh"), 0o700);
  expect(first.out).toContain(" curl -X POST localhost:3000/skills/hello ");
  writeFileSync(join(dir, "hull.toml"), "port = 4321\n");
  const { out } = await hull(["init"], { cwd: dir });
  expect(out).toContain("kept   skills/hello/main.sh");
  expect(out).toContain(" curl -X POST localhost:4321/skills/hello ");
  writeFileSync(join(dir, ".env"), "HULL_PORT=4323\n");
  expect((await hull(["init"], { cwd: dir })).out).toContain(" localhost:4323/skills/hello ");
  vi.stubEnv("HULL_PORT", "4322");
  try {
    expect((await hull(["init"], { cwd: dir })).out).toContain(" localhost:4322/skills/hello ");
    vi.stubEnv("HULL_PORT", "abc");
    const refused = { code: 2, err: expect.stringContaining('HULL_PORT: "abc" is not a port') };
    expect(await hull(["init", "another"], { cwd })).toMatchObject(refused);
    expect(existsSync(join(cwd, "another"))).toBe(false);
  } finally {
    vi.unstubAllEnvs();
  }
});

test("hull clean leaves the state unless asked to remove it, and never takes it from a server", async () => {
  const files = { "hull.toml": "", ".hull/build/a": "", ".hull/cache/b": "", ".hull/state/c": "" };
  const dir = folder(files);
  const first = await hull(["clean", dir]);
  expect(first).toMatchObject({ code: 0, out: expect.stringContaining("Removed build, cache from") });
  expect(readdirSync(join(dir, ".hull"))).toEqual(["state"]);
  put(dir, ".hull/state/server.lock", JSON.stringify({ pid: process.pid, began: null }));
  expect(await hull(["clean", "--all"], { cwd: dir })).toMatchObject({
    code: 4,
    err: expect.stringContaining(`process ${process.pid}`),
  });
  expect(existsSync(join(dir, ".hull/state/c"))).toBe(true);
  put(dir, ".hull/state/server.lock", JSON.stringify({ pid: process.pid, began: "1" }));
  expect((await hull(["clean", "--all"], { cwd: dir })).code).toBe(0);
  expect(readdirSync(join(dir, ".hull"))).toEqual([]);
  expect((await hull(["clean", dir])).out).toContain("Removed nothing");
});

test.each([
  [["call", "x"], 3, "There are no skills: no folder DIR/skills, and no SKILL.md in or below "],
  [["validate", "typo"], 3, "There is no file or folder DIR/typo."],
  [["replay", "a b"], 3, "hull dev --record 'DIR/a b'"],
  [["sessions", "ls"], 2, "Start it with: npx hull dev."],
])("in an empty folder, %j says what is missing and what to do", async (args, code, says) => {
  const cwd = folder();
  const err = expect.stringContaining(says.replace("DIR", cwd));
  expect(await hull(args, { cwd })).toMatchObject({ code, err });
});

test("hull clean treats a missing folder as a mistake, not as the project around it", async () => {
  const dir = folder({ "hull.toml": "", ".hull/state/c": "" });
  const ended = await hull(["clean", join(dir, "typo"), "--all", "--yes"]);
  expect(ended).toMatchObject({ code: 3, err: expect.stringContaining(`no folder ${join(dir, "typo")}`) });
  expect(existsSync(join(dir, ".hull/state/c"))).toBe(true);
});

test("a file that is not UTF-8 is refused, not read as something else", async () => {
  const cwd = folder({ "flow.yaml": Buffer.from([0x61, 0x3a, 0xff]) });
  const args = ["workflow", "run", "flow.yaml", "--task", "go", "--url", "http://127.0.0.1:2"];
  expect(await hull(args, { cwd })).toMatchObject({ code: 2, err: "hull: flow.yaml is not UTF-8.\n" });
  for (const [bytes, said] of [
    [
      Buffer.from('port = 1\nname = "gr\xfcn"', "latin1"),
      "hull.toml:2:1: error: the file is not valid UTF-8.",
    ],
    [Buffer.from("\ufeffport = 1", "utf16le"), "hull.toml:1:1: error: the file is UTF-16, not UTF-8."],
  ] as const)
    expect(await hull(["list"], { cwd: folder({ "hull.toml": bytes }) })).toMatchObject({
      code: 2,
      err: expect.stringContaining(said),
    });
});

test("a row of a table is one line, whatever its cells contain", () => {
  expect(
    table([
      ["NAME", "B"],
      ["a\n  b", "c"],
    ]),
  ).toBe("NAME  B\na b   c\n");
});

test("--version says which Hull this is", async () => {
  const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
  expect(await hull(["--version"])).toEqual({ code: 0, out: `hull ${version}\n`, err: "" });
});

/** Answers what a command asks in a terminal: Python has pseudo-terminals, Node has none. */
function inTerminal(answer: string, args: string[]): { code: number | null; shown: string } {
  const program = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)";
  const { status, stdout } = spawnSync("python3", ["-c", program, process.execPath, BIN, ...args], {
    input: answer,
    timeout: 20_000,
    encoding: "utf8",
  });
  return { code: status, shown: stdout };
}

test("hull clean --all asks in a terminal, unless --yes answers", () => {
  const dir = folder({ "hull.toml": "", ".hull/build/a": "", ".hull/state/c": "" });
  for (const answer of ["n\n", "\n", "\u0004"]) {
    expect(inTerminal(answer, ["clean", dir, "--all"])).toEqual({
      code: 1,
      shown: expect.stringMatching(/\[y\/N\][\s\S]*Nothing was removed/),
    });
  }
  expect(existsSync(join(dir, ".hull/state/c"))).toBe(true);
  expect(inTerminal("y\n", ["clean", dir, "--all"]).code).toBe(0);
  expect(readdirSync(join(dir, ".hull"))).toEqual([]);
  put(dir, ".hull/state/c", "");
  const { code, shown } = inTerminal("", ["clean", dir, "--all", "--yes"]);
  expect([code, shown]).toEqual([0, expect.not.stringContaining("[y/N]")]);
});

test("a failed start shows the last output of the process", () => {
  const recent: string[] = [];
  for (let line = 1; line <= 50; line++) keepRecent(recent, `line ${line}`);
  const { exit, message, hint } = notStarted("runner", "did not start within 20 s", recent);
  expect([exit, hint]).toEqual([4, "Run `hull doctor`."]);
  expect(message).toMatch(/^The runner did not start within 20 s\.\nline 11\n[\s\S]*line 50$/);
});

test("a part that refuses its settings is not started again, and the report has its reason", async () => {
  const lines: string[] = [];
  const part = new Supervised({
    name: "runner",
    failure: "did not start",
    args: () => ["-e", "console.error('A must be on'); process.exit(2)"],
    env: process.env,
    cwd: tmpdir(),
    listening: /never/,
    onLine: (line) => lines.push(line),
  });
  await expect(part.start()).rejects.toMatchObject({
    exit: EXIT.unreachable,
    message: "The runner does not start with these settings.\nA must be on",
  });
  expect(lines).toEqual(["A must be on"]);
});

test("hull new says how to serve the skill, and what is still missing", async () => {
  const cwd = folder({ "hull.toml": "" });
  expect((await hull(["new", "a"], { cwd })).out).toMatch(/Serve it with: npx hull dev\n$/);
  expect((await hull(["new", "b", "-d", "my skills"], { cwd })).out).toMatch(
    /Serve it with: npx hull dev --skills 'my skills'\n$/,
  );
  expect((await hull(["new", "c", "-l", "llm"], { cwd })).out).toMatch(/ANTHROPIC_API_KEY=…\n$/);
  put(cwd, ".env", "ANTHROPIC_API_KEY=sk-of-this-test\n");
  expect((await hull(["new", "d", "-l", "typed"], { cwd })).out).toMatch(/Serve it with: npx hull dev\n$/);
});

test("hull deploy asks in a terminal for the name of the Worker, once, and keeps it in hull.toml", () => {
  const cwd = folder({
    "hull.toml": "port = 4000\n",
    "my app/skills/a/SKILL.md": skillText("a", "mode: lmm"),
  });
  const dir = join(cwd, "my app");
  chmodSync(join(cwd, "hull.toml"), 0o640);
  linkSync(join(cwd, "hull.toml"), join(cwd, "before.toml"));
  symlinkSync("../hull.toml", join(dir, "hull.toml"));
  const first = inTerminal("\n", ["deploy", dir, "--dry-run"]).shown;
  expect(first).toContain("Name of the Worker, its database and bucket [my-app]:");
  const file = join(cwd, "hull.toml");
  expect(readFileSync(file, "utf8")).toBe('name = "my-app"\nport = 4000\n');
  // It replaced the old file, into which nothing was written.
  expect(readFileSync(join(cwd, "before.toml"), "utf8")).toBe("port = 4000\n");
  expect([statSync(file).mode & 0o777, readlinkSync(join(dir, "hull.toml"))]).toEqual([
    0o640,
    "../hull.toml",
  ]);
  // The skill is broken, so that neither command gets to wrangler.
  const second = inTerminal("\n", ["deploy", dir, "--dry-run"]).shown;
  expect(second).not.toContain("Name of the Worker");
  expect(second).toContain("Nothing was deployed");
});
