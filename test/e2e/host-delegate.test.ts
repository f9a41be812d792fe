/** The host delegate: a real server that is asked by `hull dev`. */
import { createHmac } from "node:crypto";
import type { RequestListener } from "node:http";
import { Readable } from "node:stream";
import { beforeEach, expect, test } from "vitest";
import { ADMIN, CANARIES, commonHull } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";

const SECRET = CANARIES.HULL_HOST_SECRET;
const KEY = { authorization: `Bearer ${ADMIN}` };
interface Asked {
  method: string;
  params: Record<string, unknown>;
  signed: boolean;
}

let asked: Asked[] = [];
let answer: (question: Asked) => { status?: number; body: unknown };
const host: RequestListener = async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString();
  const { "x-hull-timestamp": timestamp, "x-hull-signature": signature } = request.headers;
  const expected = createHmac("sha256", SECRET).update(`${timestamp}.${body}`).digest("hex");
  const question: Asked = { ...JSON.parse(body), signed: signature === `sha256=${expected}` };
  asked.push(question);
  const { status = 200, body: given } = answer(question);
  response.writeHead(status, { "content-type": "application/json", location: "http://127.0.0.1:9/" });
  response.end(JSON.stringify(given));
};
const { hull, fake } = await commonHull(
  { "a/SKILL.md": "---\nname: a\ndescription: Test.\nmode: llm\nprovider: mock\n---\nHi.\n" },
  "keyed",
);
beforeEach(() => {
  asked = [];
  answer = () => ({ body: null });
  fake.others(host);
});

const tool = (more: object = {}) => ({
  name: "book",
  description: "Books.",
  parameters: { day: { type: "string" } },
  executor: "webhook",
  ...more,
});
const calling = (name = "book", args: object = { day: "Monday" }) => [
  { tool_calls: [{ name, arguments: args }] },
  { text: "end" },
];
const run = async (options: object) => {
  const response = await hull.post("/runs", { prompt: "go", options }, KEY);
  return json<Record<string, unknown>>(response);
};
const shown = (result: Record<string, unknown>): string => JSON.stringify(result.transcript);

test("the host executes a webhook tool, and gets the call signed", async () => {
  answer = () => ({ body: { content: { booked: true } } });
  const result = await run({ tools: [tool()], mock: calling() });
  expect(result).toMatchObject({ successful_tools: ["book"] });
  expect(asked).toMatchObject([
    { method: "tool/call", signed: true, params: { name: "book", arguments: { day: "Monday" } } },
  ]);
  expect(shown(result)).toContain("booked");
  expect(JSON.stringify(result)).not.toContain(SECRET);
});

test.each([
  [{ body: { content: "full", is_error: true } }, "full"],
  [{ status: 500, body: {} }, "it answered 500"],
  [{ status: 302, body: {} }, "it answered 302"],
])("if the host fails, the tool call fails: %j", async (given, told) => {
  answer = () => given;
  const result = await run({ tools: [tool()], mock: calling() });
  expect([result.status, result.successful_tools]).toEqual(["done", []]);
  expect(shown(result)).toContain(told);
});

test("attack: a host's answer brings no secret of the deployment to the model", async () => {
  const key = "sk-openai-e2e-key";
  answer = ({ method }) => ({
    body:
      method === "tool/call"
        ? { content: `${key} ${SECRET}` }
        : { decision: "approve", reason: `${key} ${SECRET}` },
  });
  fake.requests.length = 0;
  fake.script(calling());
  const approval_policy = { require_approval: ["book"] };
  const result = await run({ provider: "openai", model: "gpt-4o", tools: [tool()], approval_policy });
  expect(result).toMatchObject({ successful_tools: ["book"] });
  const told = JSON.stringify(fake.requests.map(({ body }) => body));
  expect(told).toContain("[redacted] [redacted]");
  expect([told, JSON.stringify(result)].join()).not.toMatch(new RegExp(`${key}|${SECRET}`));
});

function* endless(): Generator<string> {
  for (;;) yield "x".repeat(1_000_000);
}
test.each<[string, () => Iterable<string>, string]>([
  ["never ends", endless, "more than 5000000 bytes"],
  ["nests without end", () => ["[".repeat(100_000), "]".repeat(100_000)], "nests too deep"],
])("attack: an answer that %s costs the call, not the run", async (_, pieces, told) => {
  fake.others((request, response) => {
    request.resume();
    Readable.from(pieces()).pipe(response);
  });
  const result = await run({ tools: [tool()], mock: calling() });
  expect(result.status).toBe("done");
  expect(shown(result)).toContain(told);
});

test("Hull retries after transport faults if tool_retries says so", async () => {
  let tries = 0;
  answer = () => (++tries === 1 ? { status: 503, body: {} } : { body: "now" });
  const result = await run({ tools: [tool()], mock: calling(), tool_retries: 1, tool_backoff_ms: 1 });
  expect([result.successful_tools, asked.length]).toEqual([["book"], 2]);
});

test.each([
  [{ decision: "approve" }, ["book"]],
  [{ decision: "deny", reason: "not today" }, []],
  [true, ["book"]],
  [{ decision: "perhaps" }, []],
])("the host decides about an approval: %j", async (decision, successful_tools) => {
  answer = ({ method }) => ({ body: method === "session/request_permission" ? decision : "done" });
  const approval_policy = { require_approval: ["book"] };
  const result = await run({ tools: [tool()], mock: calling(), approval_policy });
  expect(result).toMatchObject({ successful_tools });
  expect(asked[0]).toMatchObject({
    method: "session/request_permission",
    params: { tool: "book", args: { day: "Monday" }, arguments_digest: expect.any(String) },
  });
});

const HARMLESS = { kind: "read", side_effect_level: "none", arg_schema: { path_params: [] } };
test.each<[string, string, object, boolean]>([
  [
    "uses the network, whatever annotations the caller gives it",
    "book",
    { policy: { side_effect_level: "process_exec" } },
    false,
  ],
  ["passes where the network is permitted", "book", { policy: { side_effect_level: "network" } }, true],
  [
    "only reads where the deployment says so",
    "look_up",
    { policy: { side_effect_level: "read_only" } },
    true,
  ],
  [
    "exceeds the ceiling none even if it only reads",
    "look_up",
    { policy: { side_effect_level: "none" } },
    false,
  ],
  ["is dangerous", "book", { approval_policy: { require_risk: "dangerous" } }, false],
  ["is safe where it only reads", "look_up", { approval_policy: { require_risk: "dangerous" } }, true],
  ["keeps to workspace roots", "book", { policy: { workspace_roots: ["out/"] } }, false],
  [
    "may not write outside of the allowed paths",
    "book",
    { approval_policy: { write_path_allowlist: ["out/**"] } },
    false,
  ],
])("a webhook tool %s: %s below %j", async (_, name, limits, runs) => {
  answer = () => ({ body: "done" });
  const mock = calling(name, { day: "Monday", path: "/etc/x" });
  const result = await run({ tools: [tool({ name, annotations: HARMLESS })], mock, ...limits });
  expect(result).toMatchObject({ successful_tools: runs ? [name] : [], rejected_tools: runs ? [] : [name] });
  expect(asked.filter(({ method }) => method === "tool/call")).toHaveLength(runs ? 1 : 0);
});

test("the host may search the tools", async () => {
  answer = () => ({ body: { tool_names: ["book"] } });
  const tools = [tool({ defer_loading: true }), tool({ name: "eager" })];
  const mock = calling("hull_tool_search", { query: "reserve" });
  const result = await run({ tools, mock, tool_search: { mode: "client", strategy: "semantic" } });
  expect(asked).toMatchObject([
    { method: "tool_search/query", params: { strategy: "semantic", query: "reserve", candidates: ["book"] } },
  ]);
  expect(result.status).toBe("done");
});

test.each([
  [
    { matches: [{ name: "two", score: 0.9, reason: "near" }, { name: "none" }] },
    "host",
    "BODY TWO",
    "BODY ONE",
  ],
  [{ nothing: 1 }, "metadata", "BODY ONE", "BODY TWO"],
])("the host may match skills: %j", async (matches, strategy, active, idle) => {
  answer = () => ({ body: matches });
  const skills = ["one", "two"].map((name) => ({
    name,
    description: `Skill ${name}`,
    prompt: `BODY ${name.toUpperCase()}`,
  }));
  const mock = [{ text: "end" }];
  const options = { skills, mock, skill_match: { strategy: "host" } };
  const response = await hull.post("/runs", { prompt: "use one", options }, KEY);
  const result = await json<{ mock_calls: { system: string }[]; transcript: { events: object[] } }>(response);
  expect(asked[0]).toMatchObject({
    method: "skill/match",
    params: { strategy: "host", prompt: "use one", candidates: [{ name: "one" }, { name: "two" }] },
  });
  expect(result.mock_calls[0]?.system).toContain(active);
  expect(result.mock_calls[0]?.system).not.toContain(idle);
  expect(result.transcript.events).toContainEqual(
    expect.objectContaining({ kind: "skill_matched", metadata: expect.objectContaining({ strategy }) }),
  );
});
