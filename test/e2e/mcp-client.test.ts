/** Tools of MCP servers in runs, against servers of the official SDKs and one that misbehaves (docs/mcp.md). */
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { CANARIES, commonHull } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";
import { startMcpServer } from "../support/mcp-server.ts";
import { until } from "../support/runner.ts";

const SECRET = CANARIES.DOCS_TOKEN;
const PROVIDER_KEY = "sk-openai-e2e-key";

/** What the model reads about the call's effect. */
const [NO, PERHAPS] = [/did not execute the call\. /, / may or may not have taken effect\.$/];

/** The answer to a call of the tool `act` at this path. */
const MISBEHAVIOURS: [path: string, told: RegExp, done: RegExp][] = [
  ["huge", /more than 8388608 bytes/, PERHAPS],
  ["huge-events", /longer than 8388608/, PERHAPS],
  ["slow", /took too long/, PERHAPS],
  ["no-json", /not a message of MCP/, PERHAPS],
  ["no-mcp", /not a message of MCP/, PERHAPS],
  ["no-answer", /end without an answer/, PERHAPS],
  ["other-id", /not a message of MCP/, PERHAPS],
  ["no-result", /neither result nor error/, PERHAPS],
  ["cut", /cannot be reached/, PERHAPS],
  ["fault", /error -32602: no luck/, NO],
  ["throws", /error -32603: boom/, PERHAPS],
  ["server-error", /error -32001: Request timed out/, PERHAPS],
  ["status", /status 503/, NO],
  ["gateway", /status 504/, PERHAPS],
  ["never-ends", /end without an answer/, PERHAPS],
  ["to-metadata", /169\.254\.169\.254 is a private address/, NO],
  ["to-private", /10\.0\.0\.7 is a private address/, NO],
  ["to-unlisted", /elsewhere\.example is not among the hosts/, NO],
  ["to-file", /address of file:/, NO],
  ["loop", /redirects more than 3 times/, NO],
  ["see-other", /redirects in a way that Hull does not follow/, NO],
];

/** Answers in forms that a server may also use, and what the model reads. */
const FORMS: [path: string, told: RegExp][] = [
  ["batch", /^done$/],
  ["batch-events", /^done$/],
  ["strange-messages", /^done$/],
  ["result-and-error", /^done$/],
  ["nulls", /^\{"said":"done"\}$/],
  ["null-members", /^done\n\[resource: x:a, x:a\]\n\[resource: x:b\]$/],
  ["empty", /^$/],
  ["fails", /^half done$/],
  ["old", /^done$/],
  ["mute", /^done$/],
  ["crashes", /^done$/],
  ["ends-early", /^after e1\+$/],
  ["breaks-early", /^after e1\+$/],
];

const skill = (name: string, servers: string): Record<string, string> => ({
  [`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: Test.\nmode: llm\nprovider: openai\nmcp_servers:\n${servers}---\nUse tools.\n`,
});
const remote = await startMcpServer();
afterAll(() => remote.close());
const at = (path: string) => `${remote.url}/${path}`;
const { hull, fake } = await commonHull({
  ...skill("plain", `  my-docs: ${at("stateless")}\n`),
  ...skill(
    "kept",
    `  kept:\n    url: ${at("stateful")}\n    headers: {authorization: "Bearer \${DOCS_TOKEN}"}\n    tools: [echo, remember]\n`,
  ),
  ...skill("modern", `  modern: ${at("modern")}\n`),
  ...skill("moved", `  moved: ${at("moved")}\n`),
  ...skill("unset", `  unset: {url: "${at("stateless")}", headers: {x-key: "\${NOT_SET_ANYWHERE}"}}\n`),
  ...skill(
    "refused",
    "  a: https://unlisted.example/mcp\n  b: http://mcp.example.com/mcp\n  c: http://169.254.169.254/mcp\n  d: https://[fd00::1]/mcp\n  e: https://10.1.2.3/mcp\n  f: http://192.168.0.1/\n",
  ),
  ...Object.assign(
    {},
    ...[...MISBEHAVIOURS, ...FORMS].map(([path]) =>
      // Only these servers' limits are reached. They also hold for the list of tools, which takes a busy machine longer.
      skill(
        path,
        `  x: {url: "${at(path)}"${["slow", "mute"].includes(path) ? ", timeout_ms: 3000" : ""}}\n`,
      ),
    ),
  ),
});
beforeEach(() => {
  remote.asked.length = 0;
});

/** A way to run a skill with a model that makes these calls, one a round. */
type Way = (skill: string, ...calls: { name: string; arguments: object }[]) => Promise<string[]>;

function scripted(calls: { name: string; arguments: object }[]): void {
  fake.requests.length = 0;
  fake.script([...calls.map((call) => ({ tool_calls: [call] })), { text: "Done." }]);
}

/** Codes of the warnings of the last run. */
let warned: string[];

/** The result of each call, as the model reads it. */
const told = (): string[] =>
  fake.requests.slice(1).map(({ body }) => {
    const { content } = Object(body.messages.at(-1));
    return typeof content === "string" ? content : JSON.stringify(content);
  });

const asAgent: Way = async (name, ...calls) => {
  scripted(calls);
  const options = { provider: "openai", model: "gpt-4o", llm_backoff_ms: 0, skill: name };
  const response = await hull.post("/runs", { prompt: "go", options });
  const result = await json<{ warnings?: { code: string }[] }>(response);
  expect(result).toMatchObject({ status: "done", text: "Done." });
  warned = result.warnings?.map(({ code }) => code) ?? [];
  return told();
};

const asServed: Way = async (name, ...calls) => {
  scripted(calls);
  const response = await hull.call(`/skills/${name}`, "go", { headers: { "content-type": "text/plain" } });
  expect([response.status, await response.text()]).toEqual([200, "Done."]);
  warned = response.headers.get("x-hull-warnings")?.split(",") ?? [];
  return told();
};

const offered = (): string[] =>
  (fake.requests[0]?.body.tools ?? []).map((tool) => String(Object(Object(tool).function).name));

describe.each<[string, Way]>([
  ["an agent run", asAgent],
  ["a served skill", asServed],
])("%s", (_, run) => {
  test("has the tools of a server, named after it, and calls them", async () => {
    const [echo, failing, mixed] = await run(
      "plain",
      { name: "my_docs__echo", arguments: { text: "hi" } },
      { name: "my_docs__fail_it", arguments: {} },
      { name: "my_docs__mixed", arguments: {} },
    );
    expect(offered()).toEqual(["my_docs__echo", "my_docs__fail_it", "my_docs__remember", "my_docs__mixed"]);
    expect(echo).toContain("echo: hi");
    expect(failing).toContain("it failed on purpose");
    expect(mixed).toMatch(
      /first.*\[image: image\/png, 3 bytes\].*\[resource: a, https:\/\/example\.com\/a\].*second/s,
    );
  });

  test("attack: a server's answer brings no key of the deployment to the model", async () => {
    const [echo] = await run("plain", { name: "my_docs__echo", arguments: { text: `<${PROVIDER_KEY}>` } });
    expect(echo).toMatch(/echo: <.*>/);
    expect(echo).not.toContain(PROVIDER_KEY);
  });

  test("keeps a session for its calls, sends the skill's headers, and includes the wanted tools", async () => {
    const call = { name: "kept__remember", arguments: {} };
    expect(await run("kept", call, call)).toEqual([
      expect.stringContaining("call 1"),
      expect.stringContaining("call 2"),
    ]);
    expect(offered()).toEqual(["kept__echo", "kept__remember"]);
    expect(remote.headers.get("/stateful")?.authorization).toBe(`Bearer ${SECRET}`);
    expect(await run("kept", call)).toEqual([expect.stringContaining("call 1")]);
    expect(hull.output()).not.toContain(SECRET);
  });

  test("speaks 2026-07-28 where the server does, headers of arguments included", async () => {
    const [answer] = await run("modern", { name: "modern__place", arguments: { region: "Zürich" } });
    expect(answer).toContain("in Zürich");
    expect(remote.asked).not.toContain("/modern initialize");
    expect(remote.headers.get("/modern")?.["mcp-param-region"]).toBe("=?base64?WsO8cmljaA==?=");
  });

  test("asks a server for its list once in a while, not in every run", async () => {
    await run("plain", { name: "my_docs__echo", arguments: { text: "1" } });
    remote.asked.length = 0;
    await run("plain", { name: "my_docs__echo", arguments: { text: "2" } });
    // Hull ends the sessions at the other server after the answers of the tests before.
    expect(remote.asked.filter((one) => one !== "/stateful DELETE")).toEqual(["/stateless tools/call"]);
  });

  test("follows a redirect to a permitted address", async () => {
    const [answer] = await run("moved", { name: "moved__act", arguments: {} });
    // There is no tool of that name where the call was sent on to.
    expect(answer).toMatch(/act/);
    expect(remote.asked).toContain("/stateless tools/call");
  });

  test.each(MISBEHAVIOURS)(
    "a server that is %s fails the call, not the run",
    async (path, message, effect) => {
      const [answer] = await run(path, { name: "x__act", arguments: {} });
      expect(answer).toMatch(message);
      expect(answer).toMatch(effect);
      expect(answer).not.toContain("xxxxxxxxxx");
    },
  );

  test.each(FORMS)("understands a server's answer of the form %s", async (path, message) => {
    const [answer] = await run(path, { name: "x__act", arguments: {} });
    expect(answer).toMatch(message);
  });

  test("uses a server's other tools if some are malformed, and logs which", async () => {
    await run("fault");
    expect([offered(), warned]).toEqual([["x__act"], []]);
    await until(
      () => hull.output(),
      (output) => output.includes("3 of its tools are malformed, so Hull leaves them out: no-schema, ?, ?."),
    );
  });

  test("continues without servers that it may not call", async () => {
    for (const name of ["refused", "unset"]) {
      await run(name);
      expect([offered(), new Set(warned)]).toEqual([[], new Set(["mcp_server_unavailable"])]);
    }
    const lines = await until(
      () => hull.output(),
      (output) => output.includes("NOT_SET_ANYWHERE"),
    );
    for (const reason of [
      "unlisted.example is not among the hosts",
      "mcp.example.com has an http address",
      "169.254.169.254 is a private address",
      "[fd00::1] is a private address",
      "10.1.2.3 is a private address",
      "192.168.0.1 is a private address",
    ]) {
      expect(lines).toContain(reason);
    }
  });
});

test.each([
  ["breaks off in it, which may have taken effect", "cut", 1],
  ["refuses it", "status", 2],
  ["began it and failed", "fails", 1],
])("tool_retries and a call of a server that %s", async (_, skill, calls) => {
  scripted([{ name: "x__act", arguments: {} }]);
  const options = { provider: "openai", model: "gpt-4o", skill, tool_retries: 1, tool_backoff_ms: 0 };
  await hull.post("/runs", { prompt: "go", options });
  expect(remote.asked.filter((asked) => asked === `/${skill} tools/call`)).toHaveLength(calls);
});

test.each([
  ["404", "call 1\n"],
  ["404-named", "call 1\n"],
  ["400", "call 1\n"],
  ["400-unnamed", "call 1\n"],
  ['{"id": "server-error", "error": {"code": -32600, "message": "Missing session ID"}}', "call 1\n"],
  ['{"id": null, "error": {"code": -32700, "message": "Parse error"}}', ".*Parse error"],
])(
  "a server that forgot its sessions, and says so, gets a new one; one that refuses a call keeps its own: %s",
  async (how, second) => {
    scripted([
      { name: "kept__remember", arguments: {} },
      { name: "kept__remember", arguments: {} },
    ]);
    remote.forgets = how;
    const options = { provider: "openai", model: "gpt-4o", skill: "kept" };
    await hull.post("/runs", { prompt: "go", options });
    remote.forgets = "";
    expect(told()).toEqual(["call 1", expect.stringMatching(`^${second}`)]);
  },
);
