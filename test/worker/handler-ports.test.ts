/**
 * What real handlers get: configured values and their secrets, artifacts, approvals by risk. Sessions with secrets are in
 * test/e2e/tool-config.test.ts, since objects have an environment of their own.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { readEvents, type SseEvent } from "../support/sse.ts";
import { Client, mockSkill } from "./served.ts";
import { tenant } from "./tenant.ts";

const CANARY = "canary-77aa01ff-secret";
const client = new Client({
  HULL_ENV: "local",
  HULL_SECRET_KEY: "key-0123456789-0123456789-01234567",
  HULL_LLM: '{"llm":{"mock_routes":true}}',
});
type Body = Record<string, unknown>;

const declared = (name: string, more: object = {}) => ({
  name,
  description: name,
  script: `scripts/${name}.js`,
  parameters: {},
  ...more,
});
const CONFIG = [
  { name: "token", type: "secret" },
  { name: "model", type: "text", default: "small", scope: "per_call" },
  { name: "site", type: "string" },
];
/** Sends its secret through every channel that a handler has. */
const LEAKY = `export default async ({ fail }, ctx) => {
  const { token = "", ...others } = ctx.config;
  await ctx.emit("emitted " + token.slice(0, 9)); await ctx.emit(token.slice(9) + ".");
  console.log("logged " + token);
  await ctx.artifact({ type: "code", title: "of " + token, content: token, metadata: { [token]: btoa(token) } });
  if (fail) throw new Error("failed with " + token);
  return { others, echoed: token, reversed: [...token].reverse().join(""), length: token.length };
}`;
const DRAW = `export default async (_, ctx) => {
  const { id } = await ctx.artifact({ type: "markdown", title: "Plan", content: "CONTENT one" });
  await ctx.artifact.update(id, { content: "CONTENT two", metadata: { done: true } });
  return { __artifact__: true, type: "hologram", title: "Shape", content: { CONTENT: 3 } };
}`;
const FOLDERS = {
  keyed: {
    "SKILL.md": mockSkill("keyed"),
    "tools.json": JSON.stringify([
      declared("leak", {
        "x-config": CONFIG,
        parameters: { fail: { type: "boolean", description: "Fails", optional: true } },
      }),
    ]),
    "scripts/leak.js": LEAKY,
  },
  artist: {
    "SKILL.md": mockSkill("artist"),
    "tools.json": JSON.stringify([
      declared("draw", { "x-output-schema": { type: "object", properties: {}, required: ["n"] } }),
    ]),
    "scripts/draw.js": DRAW,
  },
  series: {
    "SKILL.md": mockSkill("series"),
    "tools.json": JSON.stringify([declared("draw_all")]),
    "scripts/draw_all.js": `export default async (_, ctx) => {
      for (const id of ["z", "b", "m", "a"]) await ctx.artifact({ id, type: "code", title: id, content: id });
      await ctx.artifact.update("m", { content: "more" });
    }`,
  },
  risky: {
    "SKILL.md": mockSkill("risky"),
    "tools.json": JSON.stringify([declared("wipe", { "x-risk": "dangerous" })]),
    "scripts/wipe.js": "export default () => 'wiped'",
  },
};

beforeAll(async () => {
  await client.publish(FOLDERS);
  const set = (bot: string, values: object) =>
    client.fetch(`/skills/keyed/config${bot}`, {
      method: "PUT",
      body: JSON.stringify({ tools: { leak: values } }),
    });
  expect((await set("", { token: CANARY, site: "everywhere" })).status).toBe(200);
  expect((await set("?bot=shop", { site: "the shop" })).status).toBe(200);
});
afterAll(() => vi.restoreAllMocks());

const json = { "content-type": "application/json" };
const post = (path: string, body: unknown, headers: Record<string, string> = {}, by = client) =>
  by.fetch(path, { method: "POST", headers: { ...json, ...headers }, body: JSON.stringify(body) });
const calling = (name: string, args: Body = {}): Body => ({
  mock: [{ tool_calls: [{ name, arguments: args }] }, { text: "end" }],
});
const events = async (
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<SseEvent[]> => readEvents(await post(path, body, { accept: "text/event-stream", ...headers }));
const dataOf = (told: SseEvent[], name: string): Body[] =>
  told.filter(({ event }) => event === name).map(({ data }) => data);

it("a session lists the artifacts of one call in the order of their creation, and so do its fork and a fork of that", async () => {
  const titles = async (session: string): Promise<unknown[]> => {
    const answer = await client.fetch(`/sessions/${session}/artifacts`);
    return (await answer.json<{ data: Body[] }>()).data.map(({ title, versions, place }) => [
      title,
      versions,
      place,
    ]);
  };
  await post("/sessions", { id: "drawn" });
  const options = { provider: "mock", skills: ["series"], ...calling("draw_all") };
  await post("/sessions/drawn/runs", { prompt: "go", options });
  const wanted = ["z", "b", "m", "a"].map((id) => [id, id === "m" ? 2 : 1, undefined]);
  expect(await titles("drawn")).toEqual(wanted);
  await post("/sessions/drawn/fork", { dst: "redrawn" });
  expect(await titles("redrawn")).toEqual(wanted);
  await post("/sessions/redrawn/runs", { prompt: "go", options });
  await post("/sessions/redrawn/fork", { dst: "thrice" });
  const twice = wanted.map(([id, versions]) => [id, 2 * Number(versions), undefined]);
  expect([await titles("redrawn"), await titles("thrice")]).toEqual([twice, twice]);
});

describe("a secret", () => {
  it.each([false, true])(
    "stays with the handler, whatever the handler sends (and fails: %s)",
    async (fail) => {
      const logged: string[] = [];
      const log = vi.spyOn(console, "log").mockImplementation((line) => void logged.push(String(line)));
      const options = { skills: ["keyed"], ...calling("leak", { fail }) };
      const told = await events("/runs", { prompt: "go", options });
      const whole = await (await post("/runs", { prompt: "go", options })).text();
      log.mockRestore();
      const all = JSON.stringify([told, whole, logged]);
      expect(all).not.toContain(CANARY);
      expect(all).not.toContain(btoa(CANARY).replace(/=+$/, ""));
      const output = dataOf(told, "tool_output")
        .map(({ text }) => text)
        .join("");
      expect(output).toBe("emitted [redacted].logged [redacted]\n");
      expect(dataOf(told, "artifact")).toMatchObject([
        { title: "of [redacted]", content: "[redacted]", metadata: { "[redacted]": "[redacted]" } },
      ]);
      if (fail) expect(whole).toContain("failed with [redacted]");
      else expect(whole).toContain([...CANARY].reverse().join(""));
      expect(logged.some((line) => line.includes('"tool_call"'))).toBe(true);
    },
  );

  it("is in no request to the model", async () => {
    const { mock } = calling("leak");
    for (const one of Array.isArray(mock) ? mock : []) await post("/llm/mocks", one);
    const answer = await client.fetch("/skills/keyed", { method: "POST", body: "go" });
    expect(await answer.text()).toBe("end");
    const calls = await (await client.fetch("/llm/mocks/calls")).text();
    await client.fetch("/llm/mocks", { method: "DELETE" });
    expect(calls).toContain("[redacted]");
    expect(calls).not.toContain(CANARY);
  });
});

describe("configured values reach the handler", () => {
  const seen = async (response: Response): Promise<unknown> =>
    JSON.parse(
      /\{\\*"others\\*":(\{[^}]*\})/.exec(await response.text())?.[1]?.replaceAll("\\", "") ?? "null",
    );
  const run = (options: Body) =>
    post("/runs", { prompt: "go", options: { skills: ["keyed"], ...calling("leak"), ...options } });

  it.each<[string, Body, Body]>([
    ["the global ones", {}, { model: "small", site: "everywhere" }],
    ["a bot's", { bot: "shop" }, { model: "small", site: "the shop" }],
    [
      "the run's own",
      { bot: "shop", tool_configs: { leak: { model: "large" } } },
      { model: "large", site: "the shop" },
    ],
  ])("%s", async (_, options, expected) => {
    expect(await seen(await run(options))).toEqual(expected);
  });

  const model = "skill/keyed";
  const messages = [{ role: "user", content: "go" }];
  const served: [string, Body][] = [
    ["/skills/keyed", { input: "go" }],
    ["/v1/messages", { model, messages, max_tokens: 99 }],
    ["/v1/chat/completions", { model, messages }],
    ["/v1/responses", { model, input: "go", store: false }],
  ];
  it.each(served)("of a served skill at %s, by the header x-hull-bot", async (path, body) => {
    const ask = (bot: string) => post(path, body, { "x-hull-bot": bot });
    expect(await seen(await post(path, body))).toEqual({ model: "small", site: "everywhere" });
    expect(await seen(await ask("shop"))).toEqual({ model: "small", site: "the shop" });
    expect((await ask("a b")).status).toBe(400);
  });
});

describe("artifacts of a handler", () => {
  it("are not structured content for a client of MCP", async () => {
    const version = "2026-07-28";
    const name = "artist__draw";
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {}, _meta } };
    const headers = { "mcp-protocol-version": version, "mcp-method": "tools/call", "mcp-name": name };
    const both = { accept: "application/json, text/event-stream" };
    const { result } = await (await post("/mcp", call, { ...headers, ...both })).json<{ result: Body }>();
    expect(result.content).toContainEqual({
      type: "text",
      text: expect.stringContaining('"Shape" was made'),
    });
    expect(result).not.toHaveProperty("isError");
    expect(result).not.toHaveProperty("structuredContent");
  });

  const check = (told: SseEvent[]): void => {
    const names = told.map(({ event }) => event).filter((name) => ["artifact", "tool_result"].includes(name));
    expect(names).toEqual(["artifact", "artifact", "artifact", "tool_result"]);
    const [first, second, third] = dataOf(told, "artifact");
    expect(first).toMatchObject({ type: "markdown", title: "Plan", content: "CONTENT one", version: 1 });
    expect(second).toMatchObject({
      id: first?.id,
      content: "CONTENT two",
      metadata: { done: true },
      version: 2,
    });
    expect(third).toMatchObject({ type: "custom", title: "Shape", content: { CONTENT: 3 }, version: 1 });
    const [call] = dataOf(told, "tool_call");
    expect(dataOf(told, "artifact").map(({ call_id }) => call_id)).toEqual(Array(3).fill(call?.call_id));
  };

  it("in a session are reported in order and kept; the model reads lines", async () => {
    await post("/sessions", { id: "drawn" });
    check(
      await events("/sessions/drawn/runs", {
        prompt: "go",
        options: { skills: ["artist"], ...calling("draw") },
      }),
    );
    const { data } = await (await client.fetch("/sessions/drawn/artifacts")).json<{ data: Body[] }>();
    expect(data.map(({ title, versions }) => [title, versions])).toEqual(
      expect.arrayContaining([
        ["Plan", 2],
        ["Shape", 1],
      ]),
    );
    const messages = await (await client.fetch("/sessions/drawn/messages")).text();
    expect(messages).toContain('Artifact \\"Shape\\" was made');
    expect(messages).not.toContain("CONTENT");
    const transcript = await (await client.fetch("/sessions/drawn/transcript?view=raw")).text();
    expect(transcript).not.toContain("CONTENT");
  });

  it("of a served skill are in its events", async () => {
    const headers = { accept: "text/event-stream" };
    check(await readEvents(await client.fetch("/skills/artist", { method: "POST", body: "go", headers })));
  });
});

describe("a dangerous tool", () => {
  const careful = new Client({
    HULL_ENV: "local",
    HULL_CONFIG: JSON.stringify({ approvals: { require_risk: "dangerous" } }),
  });
  const wiping = { prompt: "go", options: { skills: ["risky"], ...calling("wipe") } };

  it("waits in a session for the decision, with its risk", async () => {
    await post("/sessions", { id: "risk" }, {}, careful);
    const begun = await post("/sessions/risk/runs?wait=idle", wiping, {}, careful);
    const { run_id } = await begun.json<{ run_id: string }>();
    const { data } = await (await client.fetch("/sessions/risk/approvals")).json<{ data: Body[] }>();
    expect(data).toMatchObject([{ tool: "wipe", risk: "dangerous" }]);
    const [{ id, arguments_digest } = {}] = data;
    const decided = await post(`/sessions/risk/approvals/${id}`, { decision: "approve", arguments_digest });
    expect(decided.status).toBe(200);
    for (;;) {
      const run = await (await client.fetch(`/sessions/risk/runs/${run_id}`)).json<Body>();
      if (run.status === "done") break;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(await (await client.fetch("/sessions/risk/messages")).text()).toContain("wiped");
  });

  it("is refused where no person can approve: an anonymous run", async () => {
    const { rejected_tools, transcript } = await (await post("/runs", wiping, {}, careful)).json<Body>();
    expect(rejected_tools).toEqual(["wipe"]);
    expect(JSON.stringify(transcript)).toContain(
      "A call of risk dangerous needs an approval. An anonymous run has no approver.",
    );
  });

  it("is refused to a client of MCP with its code; a call that is made counts", async () => {
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "risky__wipe" } };
    const ask = async (by: Client) => (await post("/mcp", call, {}, by)).json<{ result: Body }>();
    expect((await ask(careful)).result).toMatchObject({
      isError: true,
      _meta: { problem: { code: "permission_denied" } },
    });
    const bold = new Client({ HULL_ENV: "local" });
    expect((await ask(bold)).result).toMatchObject({ content: [{ text: "wiped" }] });
    const counted = await (await bold.fetch("/metrics")).text();
    expect(counted).toContain('hull_tool_calls_total{outcome="ok"} 1\n');
  });

  it("of an uploaded skill needs one, unless the deployment says otherwise", async () => {
    const red = await tenant("red", "invoke", "publish");
    expect((await red.put("hazard", { ...FOLDERS.risky, "SKILL.md": mockSkill("hazard") })).status).toBe(201);
    const options = { skills: ["hazard"], ...calling("wipe") };
    const body = JSON.stringify({ prompt: "go", options });
    const refused = await red.fetch("/runs", { method: "POST", headers: json, body });
    expect(await refused.json()).toMatchObject({ rejected_tools: ["wipe"] });
    const approved = JSON.stringify({
      prompt: "go",
      options: { ...options, approval_policy: { auto_approve: ["wipe"] } },
    });
    const made = await red.fetch("/runs", { method: "POST", headers: json, body: approved });
    expect(await made.json()).toMatchObject({ successful_tools: ["wipe"] });
    await red.remove("hazard");
  });
});
