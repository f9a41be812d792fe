/** Structured output and hooks of agent runs over HTTP. */
import { expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";
import { dataOf, readEvents } from "../support/sse.ts";

const { hull, fake } = await commonHull({
  "hooked/SKILL.md": "---\nname: hooked\ndescription: Hooks\nmode: llm\nprovider: openai\n---\nWork.\n",
  "hooked/hooks.ts": `
export const seven = () => 7;
export const only = ({ messages, recorded_messages }) => [{ role: "user", content: "saw " + messages.length + "/" + recorded_messages.length }];
export const put = ({ args }) => ({ args: { ...args, text: args.text + "!" } });
export const after = ({ result }) => "seen: " + result.content;
export const say = ({ text }) => text;
`,
});

const SCHEMA = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
const OPENAI = { provider: "openai", model: "gpt-4o", llm_backoff_ms: 0 };
const run = (options: object, headers: Record<string, string> = {}): Promise<Response> =>
  hull.post("/runs", { prompt: "go", options: { ...OPENAI, ...options } }, headers);
const said = (n: number): string => JSON.stringify(fake.requests[n]?.body.messages);

test("Hull asks again after an answer that does not match, without the bad one; the cost of all attempts counts", async () => {
  const usage = { input: 100, output: 10 };
  fake.script([
    { text: "no json", usage },
    { text: '```json\n{"n":3}\n```', usage },
  ]);
  const result = await json(await run({ json_schema: SCHEMA, schema_retries: 1 }));
  expect(result).toMatchObject({ status: "done", data: { n: 3 }, iterations: 1, input_tokens: 200 });
  expect(said(1)).toContain("did not match the JSON schema");
  expect(said(1)).not.toContain("no json");
});

test.each([
  ["error", 422, "schema_validation"],
  ["warn", 200, undefined],
])("output_validation %s: %i", async (output_validation, status, code) => {
  fake.script([{ text: '{"n":"x"}' }]);
  const response = await run({ json_schema: SCHEMA, output_validation });
  const body = await json(response);
  expect([response.status, body.code]).toEqual([status, code]);
  expect(fake.requests).toHaveLength(1);
  if (status === 200) expect(body.data).toEqual({ n: "x" });
});

test("a persistent run is checked when it claims to be done; watchers learn of the new attempt", async () => {
  fake.script([{ text: "thinking" }, { text: "x ##DONE##" }, { text: '{"n":1} ##DONE##' }]);
  const response = await run(
    { json_schema: SCHEMA, schema_retries: 1, persistent: true },
    { accept: "text/event-stream" },
  );
  const events = await readEvents(response);
  expect(dataOf(events, "done")[0]).toMatchObject({ status: "done", iterations: 2, data: { n: 1 } });
  expect(dataOf(events, "round")).toContainEqual({ round: 2, restarted: true });
});

test("with Anthropic the answer is the argument of a tool: checked, and kept as text", async () => {
  const claude = { provider: "anthropic", model: "claude-opus-4-6", llm_backoff_ms: 0, json_schema: SCHEMA };
  const answer = (n: unknown) => ({ tool_calls: [{ name: "json_response", arguments: { n } }] });
  await hull.post("/sessions", { id: "of-json" });
  const inSession = async (options: object) =>
    json(await hull.post("/sessions/of-json/runs", { prompt: "go", options: { ...claude, ...options } }));
  fake.script([answer("x"), answer(3), answer(4), { text: "as you see" }]);
  const result = await inSession({ schema_retries: 1 });
  expect(result).toMatchObject({
    status: "done",
    iterations: 1,
    data: { n: 3 },
    text: '{"n":3}',
    tools_used: [],
    rejected_tools: [],
  });
  expect(fake.requests[0]?.body.tool_choice).toEqual({ type: "tool", name: "json_response" });
  expect(said(1)).toContain("did not match the JSON schema");
  const persistent = await inSession({ persistent: true });
  expect(persistent).toMatchObject({ status: "done", iterations: 1, data: { n: 4 } });
  await inSession({ json_schema: null });
  const said_before = fake.requests[3]?.body.messages.map(({ role, content }) => [role, content]);
  const text = (words: string) => [{ type: "text", text: words }];
  expect(said_before).toEqual([
    ["user", text("go")],
    ["assistant", text('{"n":3}')],
    ["user", text("go")],
    ["assistant", text('{"n":4}\n##DONE##')],
    ["user", text("go")],
  ]);
  fake.script([answer(5)]);
  const events = await readEvents(
    await hull.post("/runs", { prompt: "go", options: claude }, { accept: "text/event-stream" }),
  );
  expect([dataOf(events, "delta"), dataOf(events, "tool_call")]).toEqual([
    [{ text: '{"n":5}', round: 1 }],
    [],
  ]);
});

test("a tool of the run's own keeps the name of the tool that takes JSON", async () => {
  const tools = [
    { name: "json_response", description: "Mine.", parameters: { text: { type: "string" } }, handler: "say" },
  ];
  const tool_calls = [{ name: "json_response", arguments: { text: "mine" } }];
  fake.script([{ tool_calls }, { text: '{"n":6}' }]);
  const result = await json(await run({ skill: "hooked", tools, json_schema: SCHEMA }));
  expect(result).toMatchObject({ data: { n: 6 }, successful_tools: ["json_response"] });
});

test.each([
  { provider: "openai", model: "gpt-4o" },
  { provider: "anthropic", model: "claude-opus-4-6" },
])("a model that calls tools in its text is asked in words for its JSON: $provider", async (target) => {
  const tools = [{ name: "say", description: "Says.", parameters: {}, handler: "say" }];
  fake.script([{ text: '<tool_call>{"name":"say","arguments":{}}</tool_call>' }, { text: '{"n":6}' }]);
  const options = { ...target, skill: "hooked", tools, tool_format: "text", json_schema: SCHEMA };
  expect(await json(await run(options))).toMatchObject({ data: { n: 6 }, successful_tools: ["say"] });
  const [body] = fake.requests.map((request) => request.body);
  expect([body?.response_format, body?.tools, body?.tool_choice]).toEqual([undefined, undefined, undefined]);
  expect(JSON.stringify(body)).toContain(JSON.stringify(JSON.stringify(SCHEMA)).slice(1, -1));
});

test("a persistent run ends with JSON that matches its schema, without a sentinel", async () => {
  const looks = { looks: { say: "no answer" } };
  fake.script([{ text: JSON.stringify(looks) }, { text: '{"n":7}' }, { text: "too many" }]);
  const response = await run(
    { json_schema: SCHEMA, persistent: true, skill: "hooked" },
    { accept: "text/event-stream" },
  );
  const events = await readEvents(response);
  const done = { status: "done", iterations: 2, data: { n: 7 } };
  expect(dataOf(events, "done")).toMatchObject([done]);
  expect(dataOf(events, "done")[0]?.visible_text).toBe(`${JSON.stringify(looks)}\n\n{"n":7}`);
  fake.script([{ text: '{"n":9}' }]);
  const whole = await run(
    { json_schema: SCHEMA, persistent: true, skill: "hooked", stream: false },
    { accept: "text/event-stream" },
  );
  expect(dataOf(await readEvents(whole), "delta")).toEqual([{ text: '{"n":9}', round: 1 }]);
  // JSON in the form of a tool call is a call, not the answer.
  const tools = [{ name: "say", description: "Says.", parameters: {}, handler: "say" }];
  const call = { name: "say", arguments: {} };
  fake.script([{ text: JSON.stringify(call) }, { text: '{"n":8}' }]);
  const options = { json_schema: { type: "object" }, persistent: true, skill: "hooked", tools };
  expect(await json(await run({ ...options, tool_format: "text" }))).toMatchObject({
    data: { n: 8 },
    tools_used: ["say"],
  });
});

test.each([
  [{}, '{"n":3}'],
  [{ persistent: true }, '{"n":3}\n##DONE##'],
])("Claude's call of Hull's JSON tool is the answer: %j", async (options, text) => {
  const tools = [{ name: "look", description: "Looks.", parameters: {}, handler: "say" }];
  fake.script([
    { tool_calls: [{ name: "look", arguments: { text: "x" } }] },
    { text: "So:", tool_calls: [{ name: "json_response", arguments: { n: 3 } }] },
  ]);
  const claude = { provider: "anthropic", model: "claude-opus-4-6", skill: "hooked", tools };
  const result = await json(await run({ ...claude, json_schema: SCHEMA, ...options }));
  expect(result).toMatchObject({ status: "done", data: { n: 3 }, text, iterations: 2 });
});

test("a context hook sees and answers messages as requests hold them", async () => {
  fake.script([{ text: "ok" }]);
  await json(await run({ skill: "hooked", context_callback: "only" }));
  expect(said(0)).toContain("saw 1/1");
  expect(said(0)).not.toContain('"go"');
  const refused = await run({ skill: "hooked", context_callback: "seven" });
  const problem = await json(refused);
  expect([refused.status, problem.code]).toEqual([500, "hook_invalid"]);
  expect(problem.detail).toContain("null, a list of messages, or an object with messages and system");
});

test("hooks around a tool see its arguments and its result", async () => {
  const tool_hooks = [
    { pattern: "s*", pre: "put", post: "after" },
    { pattern: "other", deny: "closed" },
  ];
  const tools = ["say", "other"].map((name) => ({
    name,
    description: name,
    parameters: { text: { type: "string" } },
    handler: "say",
  }));
  const calls = tools.map(({ name }) => ({ name, arguments: { text: name } }));
  fake.script([{ tool_calls: calls }, { text: "end" }]);
  const result = await json(await run({ skill: "hooked", tools, tool_hooks }));
  expect(result).toMatchObject({ successful_tools: ["say"], rejected_tools: ["other"] });
  expect(said(1)).toContain("seen: say!");
  expect(said(1)).toContain("closed");
});

test.each([
  [
    "a call in the text of a native-format model",
    { tool_format: "native" },
    '<tool_call>{"name":"say","arguments":{"text":"hi"}}</tool_call>',
  ],
  ["JSON that stands alone", { tool_format: "text" }, '{"name":"say","arguments":{"text":"hi"}}'],
  ["a call that cannot be read", { tool_format: "text" }, '<tool_call>{"name":"say", </tool_call>'],
])("Hull does not correct %s as an answer", async (_, format, text) => {
  fake.script([{ text }, { text: '{"n":1}' }]);
  const tools = [
    { name: "say", description: "Says.", parameters: { text: { type: "string" } }, handler: "say" },
  ];
  const options = { skills: "hooked", tools, json_schema: SCHEMA, schema_retries: 1, ...format };
  const result = await json(await run(options));
  expect(result).toMatchObject({ status: "done", data: { n: 1 }, iterations: 2 });
  expect(said(1)).not.toContain("did not match");
});
