/** MCP servers that the runner starts, through a real server: of the official SDKs, and one that misbehaves (docs/mcp.md). */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { CANARIES, commonHull, keyOf } from "../support/common-hull.ts";
import { json, REPO } from "../support/hull-dev.ts";
import { gone, processesWith, until } from "../support/runner.ts";
import { kill, killWorker } from "../support/shared.ts";
import { makeZip } from "../support/zip.ts";

const SECRET = CANARIES.DOCS_TOKEN;
/** Stands in the command line of each server of this file. */
const MARK = "mark-of-mcp-processes";
const PERHAPS = / may or may not have taken effect\.$/;

/** What a call of the tool `act` of a server in this mode is answered with. */
const MISBEHAVIOURS: [mode: string, told: RegExp, effect: RegExp][] = [
  [
    "dies",
    /`python3 servers\/plain\.py dies mark-\S+` ended with the exit code 3\. Its stderr ends with "about to fail with .*"\./,
    PERHAPS,
  ],
  ["dies-wordily", /Its stderr ends with "[^"]*\.{590}"\./, PERHAPS],
  ["killed", /was ended by SIGKILL\./, PERHAPS],
  [
    "silent",
    /took too long\. The process `.* silent .*` still runs\. Its stderr ends with "thinking"\./,
    PERHAPS,
  ],
  ["floods", /was ended: it wrote more than 16777216 bytes/, PERHAPS],
  ["notifies", /longer than 8388608|more than 16777216 bytes/, PERHAPS],
];
/** Why a server in this mode provides no tools. */
const UNUSABLE: [mode: string, why: RegExp][] = [
  ["exits", /ended with the exit code 4\. Its stderr ends with "no configuration found"\./],
  ["deaf", /took too long\. The process `.* deaf .*` still runs\.$/],
];
/** Modes in which a server is as good as any. */
const FORMS: [mode: string, told: RegExp][] = [
  ["floods-stderr", /"call": 1/],
  ["asks", /'result': \{\}/],
  ["other-id", /"call": 1/],
  ["chatty", /"call": 1/],
  ["strict", /"call": 1/],
];

const plain = await readFile(join(REPO, "test/fixtures/mcp-servers/plain.py"), "utf8");
const frontmatter = (name: string, servers: string): string =>
  `---\nname: ${name}\ndescription: Test.\nmode: llm\nprovider: openai\nmcp_servers:\n${servers}---\nUse tools.\n`;
const skill = (name: string, more = "", args = `[${name}, ${MARK}]`): Record<string, string> => ({
  [`${name}/servers/plain.py`]: plain,
  [`${name}/SKILL.md`]: frontmatter(
    name,
    `  x:\n    command: python3 servers/plain.py\n    args: ${args}\n${more}`,
  ),
});
const sdk = (path: string): string => JSON.stringify(join(REPO, "node_modules/@modelcontextprotocol", path));
const OFFICIAL = `import { McpServer } from ${sdk("sdk/dist/esm/server/mcp.js")};
import { StdioServerTransport } from ${sdk("sdk/dist/esm/server/stdio.js")};
const server = new McpServer({ name: "official", version: "1" });
let calls = 0;
server.registerTool("remember", { description: "Counts." }, async () => ({
  content: [{ type: "text", text: "call " + ++calls }],
}));
server.registerTool("fail-it", { description: "Fails." }, async () => ({
  isError: true,
  content: [{ type: "text", text: "it failed on purpose" }],
}));
server.registerTool("mixed", { description: "Mixes." }, async () => ({
  content: [
    { type: "text", text: "first\\nline" },
    { type: "image", data: "AQID", mimeType: "image/png" },
  ],
}));
await server.connect(new StdioServerTransport());
`;
const MODERN = `import { McpServer } from ${sdk("server/dist/index.mjs")};
import { serveStdio } from ${sdk("server/dist/stdio.mjs")};
serveStdio(() => {
  const server = new McpServer({ name: "modern", version: "1" });
  server.registerTool("place", { description: "Says where." }, async () => ({ content: [{ type: "text", text: "here" }] }));
  return server;
});
`;

const { hull, fake } = await commonHull({
  ...skill("told", `    env: {TOKEN: "Bearer \${DOCS_TOKEN}", PLAIN: "a b"}\n    tools: [act]\n`),
  "official/server.mjs": OFFICIAL,
  "official/SKILL.md": frontmatter("official", `  of-sdk: {command: [node, ./server.mjs, ${MARK}]}\n`),
  "modern/server.mjs": MODERN,
  "modern/SKILL.md": frontmatter("modern", `  modern: {command: node server.mjs ${MARK}}\n`),
  "absent/SKILL.md": frontmatter("absent", "  x: {command: no-such-program-here --stdio}\n"),
  ...skill("unset", `    env: {TOKEN: "\${NOT_SET_ANYWHERE}"}\n`),
  ...skill("key", `    env: {TOKEN: "\${ALIAS_OF_KEY}"}\n`),
  ...Object.assign(
    {},
    ...[...MISBEHAVIOURS, ...UNUSABLE, ...FORMS].map(([mode]) => {
      const token = `    env: {TOKEN: "\${DOCS_TOKEN}"}\n`;
      return skill(mode, mode === "silent" || mode === "deaf" ? `${token}    timeout_ms: 3000\n` : token);
    }),
  ),
  ...skill("slow"),
});
const model = { provider: "openai", model: "gpt-4o", llm_backoff_ms: 0 };
type Call = { name: string; arguments: object };
const act = (args: object = {}): Call => ({ name: "x__act", arguments: args });

/** Runs a skill with a model that makes these calls, one a round; returns what it was told of each. */
async function run(name: string, ...calls: Call[]): Promise<string[]> {
  fake.requests.length = 0;
  fake.script([...calls.map((call) => ({ tool_calls: [call] })), { text: "Done." }]);
  const result = await json(await hull.post("/runs", { prompt: "go", options: { ...model, skill: name } }));
  expect(result).toMatchObject({ status: "done", text: "Done." });
  warned = Array.isArray(result.warnings) ? result.warnings.map(({ message }) => message) : [];
  return fake.requests.slice(1).map(({ body }) => String(Object(body.messages.at(-1)).content));
}
let warned: string[] = [];
/** The tools of servers, which the model was offered. */
const offered = (): string[] =>
  (fake.requests[0]?.body.tools ?? [])
    .map((tool) => String(Object(Object(tool).function).name))
    .filter((name) => name.includes("__"));

// A run's servers end with it, whatever became of it.
afterEach(() => gone(MARK));

describe("a server", () => {
  test("of the official SDK: its tools, results, errors, and a state for each run", async () => {
    const [first, second, failed, mixed] = await run(
      "official",
      { name: "of_sdk__remember", arguments: {} },
      { name: "of_sdk__remember", arguments: {} },
      { name: "of_sdk__fail_it", arguments: {} },
      { name: "of_sdk__mixed", arguments: {} },
    );
    expect(offered()).toEqual(["of_sdk__remember", "of_sdk__fail_it", "of_sdk__mixed"]);
    expect([first, second, failed]).toEqual(["call 1", "call 2", "it failed on purpose"]);
    expect(mixed).toBe("first\nline\n[image: image/png, 3 bytes]");
    expect(await run("official", { name: "of_sdk__remember", arguments: {} })).toEqual(["call 1"]);
  });

  test.each<[string, (skill: string) => Promise<Response>]>([
    [
      "a served skill",
      (name) => hull.call(`/skills/${name}`, "go", { headers: { "content-type": "text/plain" } }),
    ],
    [
      "a session",
      async (name) => {
        const { id } = await json(await hull.post("/sessions", {}));
        return hull.post(`/sessions/${id}/runs`, { prompt: "go", options: { ...model, skill: name } });
      },
    ],
  ])("of %s keeps its state for all calls", async (_, start) => {
    const call = { tool_calls: [{ name: "of_sdk__remember", arguments: {} }] };
    fake.script([call, call, { text: "Done." }]);
    expect((await start("official")).status).toBe(200);
    expect(fake.requests.slice(1).map(({ body }) => Object(body.messages.at(-1)).content)).toEqual([
      "call 1",
      "call 2",
    ]);
  });

  test("of the SDK of 2026-07-28", async () => {
    expect(await run("modern", { name: "modern__place", arguments: {} })).toEqual(["here"]);
  });

  test("starts in the skill's folder, with its own variables and none of the Worker's", async () => {
    const [answer = ""] = await run("told", act({ variable: "PLAIN" }));
    const told = JSON.parse(answer);
    expect(told).toMatchObject({ call: 1, variable: "a b", files: ["SKILL.md", "servers"] });
    const allowed =
      /^(HULL|HUSK|LC)_|^(PATH|HOME|USER|LOGNAME|SHELL|PWD|TMPDIR|TMP|TEMP|TERM|LANG|LANGUAGE|TZ)$/;
    expect(told.names.filter((name: string) => !allowed.test(name))).toEqual(["PLAIN", "TOKEN"]);
  });

  test("attack: neither model nor log gets the variable that a server repeats", async () => {
    const [answer] = await run("told", act({ variable: "TOKEN" }));
    expect(answer).toContain("Bearer ");
    const [died] = await run("dies", act());
    const [cut] = await run("dies-wordily", act());
    for (const text of [answer, died, cut, hull.output()]) expect(text).not.toContain(SECRET.slice(-8));
  });

  test("attack: a request names no command", async () => {
    const server = { name: "x", command: ["touch", "/tmp/of-a-request"] };
    const options = { ...model, mcp_servers: [server] };
    const response = await hull.post("/runs", { prompt: "go", options });
    expect([response.status, await response.text()]).toEqual([422, expect.stringContaining("mcp_servers")]);
  });

  test("runs that go on at the same time have a process each", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const held = async () => {
      await promise;
      return { text: "Done." };
    };
    const calling = { tool_calls: [act()] };
    fake.script([calling, held, calling, { text: "Done." }]);
    const start = () => hull.post("/runs", { prompt: "go", options: { ...model, skill: "told" } });
    const first = start();
    await until(
      () => fake.requests.length,
      (count) => count === 2,
    );
    await start();
    const pids = [1, 3].map((at) => {
      const { content } = Object(fake.requests[at]?.body.messages.at(-1));
      return String(JSON.parse(content).pid);
    });
    expect(new Set(pids).size).toBe(2);
    await until(
      () => processesWith(MARK),
      (lines) => lines.length === 1 && lines[0]?.startsWith(`${pids[0]} `) === true,
    );
    resolve();
    await first;
  });

  test.each<[string, (leave: () => void) => unknown]>([
    ["its client leaves", (leave) => leave()],
    ["the Worker is killed", () => killWorker(hull)],
    ["the runner is killed", () => kill(hull, "runner")],
  ])("ends, in the middle of a call, when %s", async (_, end) => {
    const client = new AbortController();
    fake.script([{ tool_calls: [act()] }, { text: "Done." }]);
    const body = JSON.stringify({ prompt: "go", options: { ...model, skill: "slow" } });
    const init = { headers: { "content-type": "application/json" }, signal: client.signal };
    const answer = hull.call("/runs", body, init).catch(() => null);
    await until(
      () => [fake.requests.length, processesWith(MARK).length],
      ([asked, started]) => asked === 1 && started === 1,
    );
    await end(() => client.abort());
    await gone(MARK);
    client.abort();
    await answer;
    await until(
      async () => (await hull.call("/readyz").catch(() => null))?.status,
      (status) => status === 200,
    );
  });

  test("that gave no answer in time reads that the call is cancelled, and serves the next one", async () => {
    const [, second] = await run("silent", act(), act());
    expect(second).toMatch(/stderr ends with "thinking\ncancelled\nthinking"/);
  });

  test.each(MISBEHAVIOURS)("that %s costs the call, not the run", async (mode, message, effect) => {
    const [answer] = await run(mode, act());
    expect(answer).toMatch(message);
    expect(answer).toMatch(effect);
    expect(answer).not.toContain("xxxxxxxxxx");
  });

  test("that died is started anew for the next call, and the log says so", async () => {
    const [first, second] = await run("dies", act(), act());
    expect(first).toMatch(/exit code 3/);
    expect(second).toMatch(/exit code 3/);
    await until(hull.output, (output) =>
      output.includes("Hull starts it anew, without what it held in memory."),
    );
  });

  test.each(UNUSABLE)("that is %s provides no tools, and a warning says why", async (mode, why) => {
    await run(mode);
    expect([offered(), warned]).toEqual([[], [expect.stringMatching(why)]]);
  });

  test.each(FORMS)("that is %s serves", async (mode, message) => {
    const [answer] = await run(mode, act());
    expect(answer).toMatch(message);
  });

  test("whose program, variable or key it cannot have provides no tools", async () => {
    for (const [name, why] of [
      ["absent", /no "no-such-program-here", or not its interpreter\. Install the program/],
      ["unset", /needs a variable of the Worker that is not set/],
      ["key", /needs a variable of the Worker that is not set or that it may not have/],
    ] as const) {
      await run(name);
      expect([name, offered(), warned]).toEqual([name, [], [expect.stringMatching(why)]]);
    }
  });
});

test("an uploaded skill's server has the variables that were granted to it, and no others", async () => {
  const { hull: keyed } = await commonHull({}, "keyed");
  const headers = { authorization: `Bearer ${await keyOf(keyed, "acme")}` };
  for (const [slug, granted] of [
    ["bounce", true],
    ["springs", false],
  ] as const) {
    const files = Object.entries(skill(slug, `    env: {TOKEN: "at \${TOKEN}"}\n`));
    const body = await makeZip(files.map(([name, content]) => ({ name, content })));
    const put = await keyed.call(`/_hull/skills/${slug}`, undefined, { method: "PUT", headers, body });
    expect([put.status, (await put.text()).includes("variable_not_granted")]).toEqual([201, !granted]);
    fake.requests.length = 0;
    fake.script([{ tool_calls: [act({ variable: "TOKEN" })] }, { text: "Done." }]);
    await keyed.post("/runs", { prompt: "go", options: { ...model, skill: slug } }, headers);
    expect(offered()).toEqual(granted ? ["x__act"] : []);
    const { content } = Object(fake.requests[1]?.body.messages.at(-1));
    if (granted) expect(JSON.parse(content).variable).toMatch(/^at /);
    expect(content).not.toContain("granted-7");
    await keyed.call(`/_hull/skills/${slug}`, undefined, { method: "DELETE", headers });
  }
});
