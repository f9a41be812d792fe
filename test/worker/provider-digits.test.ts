/** Numbers that no double can hold, on their way between clients, models and tools. */
import { evictDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import type { FakeTurn } from "../support/fake-turn.ts";
import { HOST, LONG, providerStandIn } from "./provider-stand-in.ts";
import { Client } from "./served.ts";

const KEYS = { HULL_ENV: "local", ANTHROPIC_API_KEY: "sk-a", OPENAI_API_KEY: "sk-o" };
const client = new Client(KEYS);
const [GPT, CLAUDE] = ["gpt-4o", "claude-sonnet-4-5"];
const provider = providerStandIn();
const messages = [{ role: "user", content: "Hi." }];
const schema = { type: "object", properties: {} };
const OWN_TOOL = { name: "t", description: "T.", parameters: schema };
const MESSAGES_TOOL = { name: "t", description: "T.", input_schema: schema };
const CODE = { type: "code_execution_20250825", name: "code_execution" };
beforeAll(() =>
  client.publish({
    long: {
      "SKILL.md":
        "---\nname: long\ndescription: d\nprovider: anthropic\nmodel: claude-sonnet-4-5\n---\nTalk.\n",
      "tools.json": JSON.stringify([
        { name: "talk", description: "Talks", script: "talk.js", parameters: {} },
      ]),
      "talk.js": 'export default () => "Said.";',
    },
  }),
);

describe("a number in the arguments of a call", () => {
  const tools = [
    { name: "book", description: "Books.", parameters: { id: { type: "integer" } }, executor: "webhook" },
  ];
  const hosted = new Client({ ...KEYS, HULL_CONFIG: JSON.stringify({ host: { url: HOST } }) });

  it.each<[string, string, FakeTurn["tool_calls"]]>([
    ["chat completions", GPT, [{ name: "book", arguments: `{"id": ${LONG}}` }]],
    ["Anthropic", CLAUDE, [{ name: "book", arguments: { id: "LONG" } }]],
  ])("keeps its digits from a model to a tool: %s", async (_, model, tool_calls) => {
    provider.turns = [{ tool_calls: tool_calls ?? [] }];
    const answer = await hosted.post("/runs", { prompt: "Hi.", options: { model, tools } });
    expect([answer.status, await answer.json()]).toMatchObject([200, { successful_tools: ["book"] }]);
    expect(provider.asked).toEqual([expect.stringContaining(`"arguments":{"id":${LONG}}`)]);
  });

  it("keeps them in a stored session", async () => {
    provider.turns = [{ tool_calls: [{ name: "talk", arguments: { n: ["LONG", "HUGE"] } }] }];
    await client.post("/sessions", { id: "huge" });
    const options = { skill: "long" };
    await client.post("/sessions/huge/runs?wait=idle", { prompt: "Hi.", options });
    const { SESSIONS } = client.env;
    await evictDurableObject(SESSIONS.get(SESSIONS.idFromName("default/huge")));
    await client.post("/sessions/huge/runs?wait=idle", { prompt: "Hi.", options });
    const exact = expect.stringContaining(`"input":{"n":[${LONG},1e400]}`);
    expect(provider.texts.slice(1)).toEqual([exact, exact]);
  });

  it.each([
    ["its own tools", "client", "t"],
    ["tools that Hull runs", "skill/long", "talk"],
  ])("keeps them on the way to Anthropic's clients, with %s", async (_, model, name) => {
    provider.turns = [{ tool_calls: [{ name, arguments: { n: ["LONG", "HUGE"] } }] }];
    const asked = { model: model === "client" ? CLAUDE : model, max_tokens: 9, messages };
    const answer = await client.post("/v1/messages", { ...asked, tools: [CODE, MESSAGES_TOOL] });
    expect(await answer.text()).toContain(`{"n":[${LONG},1e400]}`);
  });
});

describe("numbers in a client's history of calls reach the provider with all their digits", () => {
  const input = { id: JSON.rawJSON(LONG) };
  const history = [
    ...messages,
    { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "t", input }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "Done." }] },
  ];
  const written = `{"id":${LONG}}`;
  it.each([
    [CLAUDE, [], written],
    [GPT, [], JSON.stringify(written)],
    [CLAUDE, [CODE], written],
    [GPT, [CODE], JSON.stringify(written)],
  ])("%s %#", async (model, code, expected) => {
    const tools = [...code, MESSAGES_TOOL];
    const body = { model, max_tokens: 9, messages: history, tools };
    expect((await client.post("/v1/messages", body)).status).toBe(200);
    expect(provider.texts).toEqual([expect.stringContaining(expected)]);
  });

  const own = [
    ...messages,
    { role: "assistant", tool_calls: [{ id: "t1", name: "t", arguments: input }] },
    { role: "tool", tool_call_id: "t1", content: [input, 1] },
    { role: "assistant", tool_calls: [{ id: "t2", name: "t", arguments: JSON.stringify(input) }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t2", content: input }] },
  ];
  it.each([
    ["/llm/call", { options: { model: CLAUDE, messages: own } }],
    ["/llm/structured", { prompt: "", schema, options: { model: GPT, messages: own } }],
    ["/runs", { options: { model: CLAUDE, messages: own } }],
    ["/runs?wait=idle", { options: { model: GPT, messages: own, session_id: "own" } }],
  ])("those of Hull's own messages: %s", async (path, body) => {
    await client.post("/sessions", { id: "own" });
    await client.post(path, body);
    expect(provider.texts[0]?.match(/\d{10,}/g)).toEqual([LONG, LONG, LONG, LONG]);
  });

  it("also those of a client's result", async () => {
    await client.post("/sessions", { id: "digits" });
    const mock = [{ tool_calls: [{ name: "t", arguments: {} }] }];
    const run = { prompt: "Hi.", options: { provider: "mock", mock, tools: [OWN_TOOL] } };
    await client.post("/sessions/digits/runs?wait=idle", run);
    const result = { tool_call_id: "mock_call_1", content: input };
    expect((await client.post("/sessions/digits/tool-results", result)).status).toBe(200);
    const said = async () => (await client.fetch("/sessions/digits/messages")).text();
    await expect.poll(said).toContain(`"content":"{\\n  \\"id\\": ${LONG}\\n}"`);
  });
});
