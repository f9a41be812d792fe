/** MCP servers that runs name, and that skills bind, against servers of the official SDK (docs/mcp.md). */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { type FakeProvider, startFakeProvider } from "../support/fake-provider.ts";
import { type HullDev, json, startHullDev } from "../support/hull-dev.ts";
import { startMcpServer, type TestMcpServer } from "../support/mcp-server.ts";
import { until } from "../support/runner.ts";
import { killWorker } from "../support/shared.ts";
import { readEvents } from "../support/sse.ts";

const SECRET = "mcp-runs-canary-55";
const LEFT_SECRET = "mcp-left-canary-66";
const leaving = (url: string): string =>
  `---\nname: leaving\ndescription: d\nmode: llm\nprovider: openai\nmodel: gpt-4o\nmcp_servers:\n  own-server:\n    url: ${url}\n    headers: {authorization: "Bearer \${LEAVING_TOKEN}"}\n---\nUse it.\n`;
const SKILLS = {
  "leaving/SKILL.md": leaving("https://mcp.example.com/mcp"),
  "wiki/SKILL.md":
    "---\nname: wiki\ndescription: Looks things up in the wiki.\nmcp: [keeper, nowhere]\n---\nUse the wiki.\n",
  "assistant/SKILL.md":
    "---\nname: assistant\ndescription: d\nmode: llm\nprovider: openai\nmodel: gpt-4o\nmcp: keeper\n---\nUse it.\n",
  "sales/.claude-plugin/plugin.json": '{"name": "sales"}',
  "sales/.mcp.json": JSON.stringify({ mcpServers: { Keeper: { type: "http" }, others: {}, slack: {} } }),
  "sales/skills/pipeline/SKILL.md":
    "---\nname: pipeline\ndescription: Reads the pipeline.\nmode: llm\nprovider: openai\nmodel: gpt-4o\n---\nSummarize the pipeline.\n",
  "approver/SKILL.md":
    "---\nname: approver\ndescription: d\nmode: llm\nprovider: openai\nmodel: gpt-4o\nallowed-tools: mcp__keeper__echo, mcp__others__echo\n---\nUse it.\n",
  "own/SKILL.md":
    "---\nname: own\ndescription: d\nmode: llm\nprovider: openai\nmodel: gpt-4o\nallowed-tools: mcp__keeper\nmcp_servers:\n  keeper: https://mcp.example.com/mcp\n---\nUse it.\n",
};

let fake: FakeProvider;
let remote: TestMcpServer;
let hull: HullDev;
beforeAll(async () => {
  fake = await startFakeProvider();
  remote = await startMcpServer();
  hull = await startHullDev({
    args: ["--direct"],
    env: {
      OPENAI_API_KEY: "sk-openai-e2e-key",
      OPENAI_BASE_URL: `${fake.url}/v1`,
      KEEPER_TOKEN: SECRET,
      LEAVING_TOKEN: LEFT_SECRET,
    },
    skills: SKILLS,
    project: {
      "hull.toml": [
        '[mcp]\nallow_loopback = true\nallowed_hosts = ["mcp.example.com"]\n',
        `[mcp.servers.keeper]\nurl = "${remote.url}/stateful"\ntools = ["echo", "remember"]\n`,
        'headers = { authorization = "Bearer ${KEEPER_TOKEN}" }\n',
        `[mcp.servers.others]\nurl = "${remote.url}/stateless"\ntenants = ["somebody-else"]\n`,
        `[mcp.servers.down]\nurl = "${remote.url}/nothing"\n`,
        ...["repeats", "repeats-refused"].map(
          (name) =>
            `[mcp.servers.${name}]\nurl = "${remote.url}/${name}"\nheaders = { authorization = "\${KEEPER_TOKEN}" }\n`,
        ),
      ].join(""),
    },
  });
});
afterAll(async () => {
  await hull?.stop();
  await remote?.close();
  await fake?.close();
});
beforeEach(() => {
  fake.requests.length = 0;
  fake.script([]);
  remote.asked.length = 0;
  remote.holds = false;
});

/** How often the server that keeps sessions was asked so. */
const askedToKeep = (what: string) => remote.asked.filter((one) => one === `/stateful ${what}`).length;
/** Waits until each session that was opened there has ended: Hull ends it after the answer. */
async function tidy(): Promise<number> {
  const opened = askedToKeep("initialize");
  await until(
    () => askedToKeep("DELETE"),
    (ended) => ended === opened,
  );
  return opened;
}
// An end that comes later would be among the requests of the next test.
afterEach(tidy);

const approvals = z.tuple([z.object({ id: z.string(), arguments_digest: z.string() })]);
const awaitingShape = z.object({
  run_id: z.string(),
  awaiting: z.tuple([z.object({ tool_call_id: z.string() })]),
});
type Call = { name: string; arguments: object };
const model = { provider: "openai", model: "gpt-4o", llm_backoff_ms: 0 };
const scripted = (...calls: Call[]): void => {
  fake.requests.length = 0;
  fake.script([...calls.map((call) => ({ tool_calls: [call] })), { text: "Done." }]);
};
const offered = (request = 0): string[] =>
  (fake.requests[request]?.body.tools ?? []).map((tool) => String(Object(Object(tool).function).name));
const told = (): string[] => fake.requests.slice(1).map(({ body }) => JSON.stringify(body.messages.at(-1)));
const inline = () => ({ name: "my-docs", url: `${remote.url}/stateless`, tools: ["echo", "mixed"] });

/** Runs a model that makes these calls, one a round. */
async function run(options: object, ...calls: Call[]) {
  scripted(...calls);
  return json(await hull.post("/runs", { prompt: "go", options: { ...model, ...options } }));
}

describe("mcp_servers", () => {
  test("servers of hull.toml by name, with its headers; others by address", async () => {
    const result = await run(
      { mcp_servers: ["keeper", inline()] },
      { name: "keeper__remember", arguments: {} },
      { name: "my_docs__echo", arguments: { text: "hi" } },
    );
    expect(result).toMatchObject({ status: "done", tools_used: ["keeper__remember", "my_docs__echo"] });
    expect(result.warnings).toBeUndefined();
    expect(offered()).toEqual(["keeper__echo", "keeper__remember", "my_docs__echo", "my_docs__mixed"]);
    expect(told()).toEqual([expect.stringContaining("call 1"), expect.stringContaining("echo: hi")]);
    expect(remote.headers.get("/stateful")?.authorization).toBe(`Bearer ${SECRET}`);
    expect(remote.headers.get("/stateless")).toBeDefined();
    expect(remote.headers.get("/stateless")).not.toHaveProperty("authorization");
    await run({ mcp_servers: [{ name: "keeper", tools: ["echo", "fail-it"] }] });
    expect(offered()).toEqual(["keeper__echo"]);
    expect(hull.output()).not.toContain(SECRET);
  });

  test.each<[string, () => unknown, string, RegExp]>([
    [
      "a name that no server has",
      () => "tracker",
      "options.mcp_servers.0",
      /keeper, down, repeats, repeats-refused\./,
    ],
    ["another tenant's", () => "others", "options.mcp_servers.0", /keeper, down, repeats, repeats-refused\./],
    [
      "a host that is not allowed",
      () => ({ name: "x", url: "https://elsewhere.example/mcp" }),
      "options.mcp_servers.0",
      /not among the hosts/,
    ],
    [
      "a private address",
      () => ({ name: "x", url: "https://169.254.169.254/mcp" }),
      "options.mcp_servers.0",
      /private address/,
    ],
    [
      "plain http",
      () => ({ name: "x", url: "http://mcp.example.com/" }),
      "options.mcp_servers.0",
      /https only/,
    ],
    ["no URL", () => ({ name: "x", url: "file:///etc/passwd" }), "options.mcp_servers.0", /invalid url/],
    [
      "a placeholder",
      () => ({ name: "x", url: "https://mcp.example.com/${KEEPER_TOKEN}" }),
      "options.mcp_servers.0",
      /placeholder/,
    ],
    [
      "headers",
      () => ({ ...inline(), headers: { authorization: "Bearer ${KEEPER_TOKEN}" } }),
      "options.mcp_servers.0",
      /headers/,
    ],
    [
      "a server of hull.toml elsewhere",
      () => ({ ...inline(), name: "keeper" }),
      "options.mcp_servers.0",
      /leave the url out/,
    ],
    ["a name of another form", () => ({ ...inline(), name: "My Docs" }), "options.mcp_servers.0", /a-z, 0-9/],
  ])("%s is refused before any request", async (_, server, path, message) => {
    const response = await hull.post("/runs", {
      prompt: "go",
      options: { ...model, mcp_servers: [server()] },
    });
    const problem = await json(response);
    expect([response.status, problem.code]).toEqual([422, "input_invalid"]);
    expect(problem.errors).toEqual([
      { path: expect.stringContaining(path), message: expect.stringMatching(message) },
    ]);
    expect([remote.asked, fake.requests]).toEqual([[], []]);
  });

  test("a run lacks the tools of a server that is down, and warns of it", async () => {
    const result = await run({ mcp_servers: ["down", inline()] });
    expect(result).toMatchObject({ status: "done", text: "Done." });
    expect(result.warnings).toEqual([
      {
        code: "mcp_server_unavailable",
        option: "mcp_servers",
        message: expect.stringMatching(/down provides no tools\. .*404/),
      },
    ]);
    expect(offered()).toEqual(["my_docs__echo", "my_docs__mixed"]);
  });

  test("attack: a server that repeats its header in a list, or in an error, reveals it to nobody", async () => {
    scripted();
    const { id } = await json(await hull.post("/sessions", {}));
    const options = { ...model, mcp_servers: ["repeats", "repeats-refused"] };
    const answer = await (await hull.post(`/sessions/${id}/runs`, { prompt: "go", options })).text();
    expect(answer).toContain("-32001: not for [redacted]");
    expect(offered()).toEqual(["repeats__act"]);
    expect(JSON.stringify(fake.requests[0]?.body.tools)).toContain("Acts with [redacted].");
    const stored = await (await hull.call(`/sessions/${id}/runs/${JSON.parse(answer).run_id}`)).text();
    for (const text of [
      answer,
      stored,
      JSON.stringify(fake.requests.map(({ body }) => body)),
      hull.output(),
    ]) {
      expect(text).not.toContain(SECRET);
    }
  });

  test("attack: the server of a skill that is gone by now reveals its header to nobody either", async () => {
    const card = async () => (await hull.call("/skills/leaving/card")).text();
    const before = await card();
    await hull.write("leaving/SKILL.md", leaving(`${remote.url}/repeats`));
    await until(card, (now) => now !== before);
    await hull.post("/sessions", { id: "left" });
    scripted({ name: "ask", arguments: {} }, { name: "own_server__act", arguments: {} });
    const tools = [{ name: "ask", description: "Asks." }];
    const begun = await hull.post("/sessions/left/runs?wait=idle", {
      prompt: "go",
      options: { skill: "leaving", tools },
    });
    const { run_id, awaiting } = awaitingShape.parse(await begun.json());
    await hull.remove("leaving");
    await until(card, (now) => now.includes("skill_not_found"));
    // The next process learns only the variables of what is served now.
    await killWorker(hull);
    await hull.post("/sessions/left/tool-results", {
      tool_call_id: awaiting[0].tool_call_id,
      content: "yes",
    });
    const ended = await (await hull.call(`/sessions/left/runs/${run_id}?wait=terminal`)).text();
    await until(
      async () => json(await hull.call(`/sessions/left/runs/${run_id}`)),
      ({ status }) => status === "done",
    );
    expect(told().at(-1)).toContain("Acts with Bearer [redacted].");
    const transcript = await (await hull.call("/sessions/left/transcript?view=raw")).text();
    for (const text of [ended, transcript, told().join(), hull.output()])
      expect(text).not.toContain(LEFT_SECRET);
  });

  test("policies, permissions and approvals hold", async () => {
    const call = { name: "my_docs__echo", arguments: { text: "hi" } };
    const base = { mcp_servers: [inline()] };
    for (const further of [
      { policy: { side_effect_level: "process_exec" } },
      { policy: { tools: ["my_docs__mixed"] } },
      { permissions: { deny: ["my_docs__*"] } },
      { approval_policy: { require_approval: ["my_docs__echo"] } },
    ]) {
      fake.requests.length = 0;
      remote.asked.length = 0;
      expect(await run({ ...base, ...further }, call)).toMatchObject({ rejected_tools: ["my_docs__echo"] });
      expect(remote.asked).not.toContain("/stateless tools/call");
    }
    await hull.post("/sessions", { id: "approving" });
    scripted(call);
    const options = { ...model, ...base, approval_policy: { require_approval: ["my_docs__echo"] } };
    const waiting = await json(
      await hull.post("/sessions/approving/runs?wait=idle", { prompt: "go", options }),
    );
    expect(waiting.status).toBe("awaiting_approval");
    const { data } = await json(await hull.call("/sessions/approving/approvals"));
    const [{ id, arguments_digest }] = approvals.parse(data);
    await hull.post(`/sessions/approving/approvals/${id}`, { decision: "approve", arguments_digest });
    const done = await until(
      async () => json(await hull.call(`/sessions/approving/runs/${waiting.run_id}`)),
      ({ status }) => status === "done",
    );
    expect(done).toMatchObject({ result: { successful_tools: ["my_docs__echo"] } });
  });

  test("a run in a session ends the sessions that it opened, when it rests and when it ends", async () => {
    await hull.post("/sessions", { id: "tidy" });
    const call = { name: "keeper__remember", arguments: {} };
    const runs = "/sessions/tidy/runs";
    const again = (options: object) =>
      hull.post(`${runs}?wait=idle`, { prompt: "go", options: { ...model, ...options } });
    scripted(call);
    expect(await json(await again({ mcp_servers: ["keeper"] }))).toMatchObject({ status: "done" });
    scripted(call, { name: "keeper__echo", arguments: { text: "x" } });
    const approval_policy = { require_approval: ["keeper__echo"] };
    const waiting = await json(await again({ mcp_servers: ["keeper"], approval_policy }));
    expect(waiting.status).toBe("awaiting_approval");
    expect(await tidy()).toBeGreaterThanOrEqual(2);
    const { data } = await json(await hull.call("/sessions/tidy/approvals"));
    const [{ id, arguments_digest }] = approvals.parse(data);
    const before = askedToKeep("tools/call");
    await hull.post(`/sessions/tidy/approvals/${id}`, { decision: "approve", arguments_digest });
    await until(
      async () => json(await hull.call(`${runs}/${waiting.run_id}`)),
      ({ status }) => status === "done",
    );
    expect(askedToKeep("tools/call")).toBe(before + 1);
    expect(await tidy()).toBeGreaterThanOrEqual(3);
  });

  test("daemons have them too", async () => {
    scripted({ name: "keeper__echo", arguments: { text: "daemon" } });
    const spawned = await json(
      await hull.post("/daemons", { task: "go", ...model, mcp_servers: ["keeper"], max_iterations: 5 }),
    );
    await until(
      async () => fake.requests.length,
      (count) => count === 2,
    );
    expect(told()).toEqual([expect.stringContaining("echo: daemon")]);
    await hull.call(`/daemons/${spawned.id}`, undefined, { method: "DELETE" });
  });
});

describe("mcp of a skill", () => {
  /** The events about skills of a run in a session, with what they are about. */
  async function events(options: object, prompt: string, ...calls: Call[]): Promise<string[]> {
    scripted(...calls);
    const response = await hull.call("/runs", JSON.stringify({ prompt, options: { ...model, ...options } }), {
      headers: { "content-type": "application/json", accept: "text/event-stream" },
    });
    const all = await readEvents(response);
    return all
      .filter(({ event }) => event.startsWith("skill_") && event !== "skill_matched")
      .map(({ event, data }) =>
        [event, data.name, data.server, ...(Array.isArray(data.tools) ? data.tools : [])]
          .filter(Boolean)
          .join(" "),
      );
  }

  test("its activation binds its servers, and reports a server that does not exist", async () => {
    const call = { name: "keeper__remember", arguments: {} };
    expect(await events({ skills: ["wiki"] }, "use the wiki skill", call)).toEqual([
      "skill_activated wiki",
      "skill_mcp_bound wiki keeper keeper__echo keeper__remember",
      "skill_mcp_bind_failed wiki nowhere",
    ]);
    expect(offered().slice(0, 2)).toEqual(["keeper__echo", "keeper__remember"]);
    expect(told()).toEqual([expect.stringContaining("call 1")]);
    expect(await events({ skills: ["wiki"] }, "hm")).toEqual([]);
    expect(offered()).toEqual(["load_skill"]);
  });

  test.each([
    ["allowed-tools names its tools", "approver", ["keeper__echo", "keeper__remember"]],
    ["the skill's plugin expects it", "pipeline", ["keeper__echo", "keeper__remember"]],
    ["not if the skill has a server of that name", "own", []],
  ])("a server of hull.toml comes with a skill: %s", async (_, skill, tools) => {
    const remotes = (): string[] => offered().filter((name) => name.includes("__"));
    scripted();
    const served = await hull.call(`/skills/${skill}`, "go", { headers: { "content-type": "text/plain" } });
    expect([served.status, remotes()]).toEqual([200, tools]);
    const bound = tools.length === 0 ? [] : [`skill_mcp_bound ${skill} keeper ${tools.join(" ")}`];
    expect(await events({ skills: [skill] }, `use the ${skill} skill`)).toEqual([
      `skill_activated ${skill}`,
      ...bound,
    ]);
    expect(remotes()).toEqual(tools);
    expect(await run({ skill })).toMatchObject({ status: "done" });
    expect(remotes()).toEqual(tools);
  });

  test("an inline skill binds a server that the run names", async () => {
    const skills = [{ name: "reading", description: "Reads", mcp: ["my-docs"] }];
    const call = { name: "my_docs__echo", arguments: { text: "x" } };
    const bound = await events({ skills, mcp_servers: [inline()] }, "use the reading skill", call);
    expect(bound).toContain("skill_mcp_bound reading my-docs my_docs__echo my_docs__mixed");
    expect(told()).toEqual([expect.stringContaining("echo: x")]);
  });

  test.each<[string, () => Promise<unknown>]>([
    [
      "a run of the skill",
      () => run({ skill: "wiki", ...model }, { name: "keeper__echo", arguments: { text: "y" } }),
    ],
    [
      "the served skill",
      async () => {
        scripted({ name: "keeper__echo", arguments: { text: "y" } });
        return hull.call("/skills/assistant", "go", { headers: { "content-type": "text/plain" } });
      },
    ],
  ])("%s has them from the start", async (_, go) => {
    await go();
    expect(offered()).toEqual(["keeper__echo", "keeper__remember"]);
    expect(told()).toEqual([expect.stringContaining("echo: y")]);
  });
});

describe("a session whose Worker dies in a call of a bound server", () => {
  test.each<[string, string, RegExp]>([
    ["repeats a call that only reads", "echo", /echo: once/],
    ["does not repeat any other call", "remember", /may or may not have taken effect/],
  ])("%s", async (_, name, answer) => {
    const id = `dying-${name}`;
    await hull.post("/sessions", { id });
    remote.holds = true;
    scripted({ name: `my_docs__${name}`, arguments: { text: "once" } });
    const server = { ...inline(), tools: [name] };
    const skills = [{ name: "reading", description: "Reads", mcp: ["my-docs"] }];
    const options = { ...model, skills, mcp_servers: [server] };
    const { run_id } = await json(
      await hull.post(`/sessions/${id}/runs?wait=none`, { prompt: "reading", options }),
    );
    const calls = () => remote.asked.filter((one) => one === "/stateless tools/call").length;
    await until(
      async () => calls(),
      (count) => count === 1,
    );
    await killWorker(hull, () => {
      remote.holds = false;
      remote.asked.length = 0;
    });
    const done = await until(
      async () => json(await hull.call(`/sessions/${id}/runs/${run_id}`)),
      ({ status }) => status !== "running",
    );
    expect(done).toMatchObject({
      status: "done",
      result: { text: "Done.", tools_used: [`my_docs__${name}`] },
    });
    expect(told()).toEqual([expect.stringMatching(answer)]);
    expect(offered(1)).toEqual(offered(0));
    // The session's records have what was bound: no server is asked for its list again.
    expect([calls(), remote.asked.filter((one) => one.endsWith("tools/list"))]).toEqual([
      name === "echo" ? 1 : 0,
      [],
    ]);
  });
});
