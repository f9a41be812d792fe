/** `/v1/messages` and chat completions where Hull runs tools, without a runner: what the deployment decides, and what fails. */
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { grantsOf } from "../../src/run/variables.ts";
import { assembleSkill } from "../../src/skill/assemble.ts";
import type { SkillRecord } from "../../src/skill/manifest.ts";
import { Client, mockSkill } from "./served.ts";

const MOCKED = { HULL_ENV: "local", HULL_LLM: '{"llm":{"mock_routes":true}}' };
const open = new Client(MOCKED);
const closed = new Client({ ...MOCKED, HULL_CONFIG: '{"workspace_tools":{"enabled":"never"}}' });
const messages = [{ role: "user", content: "Do it." }];
const CODE = { tools: [{ type: "code_execution_20250825", name: "code_execution" }] };
const ask = { model: "mock/mock", max_tokens: 100, messages };
const TOOL = "tools: [{name: now, description: Tells the time, command: [date]}]\n";

beforeAll(async () => {
  await open.publish({ cat: mockSkill("cat"), clock: mockSkill("clock", TOOL) });
});
afterEach(() => vi.restoreAllMocks());
beforeEach(async () => {
  await open.fetch("/llm/mocks", { method: "DELETE" });
});

it("a missing runner gives a result with the code unavailable, and the answer continues", async () => {
  const calls = [{ name: "bash_code_execution", arguments: { command: "true" } }];
  for (const mock of [{ text: "", tool_calls: calls }, { text: "Well." }])
    await open.post("/llm/mocks", mock);
  const answer = await open.post("/v1/messages", { ...ask, ...CODE });
  expect([answer.status, await answer.json()]).toMatchObject([
    200,
    {
      content: [
        { type: "server_tool_use" },
        { content: { type: "bash_code_execution_tool_result_error", error_code: "unavailable" } },
        { type: "text", text: "Well." },
      ],
    },
  ]);
});

describe("faults of the original that these routes must not have", () => {
  it("15: two deployments in one isolate, set up differently, each behave as configured", async () => {
    const statusOf = async (client: Client): Promise<number> =>
      (await client.post("/v1/messages", { ...ask, ...CODE })).status;
    await open.post("/llm/mocks", { text: "Well." });
    expect(await Promise.all([open, closed, open, closed].map(statusOf))).toEqual([200, 400, 200, 400]);
  });
});

it("bodies of model routes have up to 32 MiB", async () => {
  const body = (bytes: number): object => ({
    ...ask,
    messages: [{ role: "user", content: "x".repeat(bytes) }],
  });
  expect((await open.post("/v1/messages/count_tokens", body(5 * 1024 * 1024))).status).toBe(200);
  const refused = await open.post("/v1/messages", body(33 * 1024 * 1024));
  expect([refused.status, await refused.json()]).toMatchObject([
    413,
    { error: { type: "request_too_large" } },
  ]);
});

it("attack: a stored skill is granted nothing under its name alone, which any tenant may give it", async () => {
  const grants = JSON.stringify({ status: ["PLAIN"], "acme/status": ["OWN"] });
  const { settings } = new Client({ ...MOCKED, HULL_GRANTS: grants }).deployment;
  const { skill: uploaded } = await assembleSkill(
    [{ path: "SKILL.md", mode: 0o644, bytes: new Uint8Array(new TextEncoder().encode(mockSkill("status"))) }],
    { folder: "status", file: "SKILL.md", uploadedBy: "acme" },
  );
  if (uploaded === null) throw new TypeError("the skill is not valid");
  const { record } = uploaded;
  const granted = (of: SkillRecord): string[] => [...(grantsOf(settings, of) ?? [])].sort();
  expect(granted(record)).toEqual(["OWN", "PLAIN"]);
  expect(granted({ ...record, stored: true })).toEqual(["OWN"]);
  expect(granted({ ...record, stored: true, uploaded_by: "other" })).toEqual([]);
});

it("without a key, the built-in mock plays a served skill's tools as it does at the skill's own route", async () => {
  const model = "skill/clock";
  const asked: [string, object][] = [
    ["/skills/clock", { input: "The time?" }],
    ["/v1/messages", { ...ask, model }],
    ["/v1/chat/completions", { model, messages }],
    ["/v1/responses", { model, input: "The time?", store: false }],
  ];
  for (const [path, body] of asked) {
    const answer = await open.post(path, body);
    // No runner is there, so the tool fails; that it was called is what counts.
    expect([path, answer.status, await answer.text()]).toEqual([
      path,
      200,
      expect.stringContaining("The tool now failed"),
    ]);
  }
});

const PASSING = { HULL_CONFIG: '{"pass_through":["anthropic"]}' };

it.each<[string, string, Record<string, string>]>([
  ["/v1/messages", "claude-sonnet-4-5", {}],
  ["/v1/messages", "claude-sonnet-4-5", PASSING],
  ["/v1/messages", "gpt-4o", {}],
  ["/v1/chat/completions", "gpt-4o", {}],
])("%s with %s names an unknown skill before the key that is missing: %j", async (path, model, variables) => {
  const keyless = new Client({ HULL_ENV: "local", ...variables });
  const asked = (skill: object) => keyless.post(path, { ...ask, model, container: { skills: [skill] } });
  const unknown = await asked({ type: "custom", skill_id: "skill_01none" });
  expect([unknown.status, await unknown.text()]).toEqual([400, expect.stringContaining("skill_01none")]);
  // Only a model's provider can know its own skills.
  expect((await asked({ type: "anthropic", skill_id: "pdf" })).status).toBe(503);
});

it("the input of a stored response is listed in either order; its events after what is no number are refused", async () => {
  const input = ["one", "two", "three"].map((content) => ({ role: "user", content }));
  const client = new Client({ HULL_ENV: "local" });
  const made = await client.post("/v1/responses", { model: "mock", input });
  const { id } = await made.json<{ id: string }>();
  const listed = async (query: string): Promise<string[]> => {
    const page = await client.fetch(`/v1/responses/${id}/input_items${query}`);
    const { data } = await page.json<{ data: { content: { text: string }[] }[] }>();
    return data.map(({ content }) => content[0]?.text ?? "");
  };
  expect(await listed("?order=asc")).toEqual(["one", "two", "three"]);
  expect(await listed("?order=desc&limit=2")).toEqual(["three", "two"]);
  expect(await listed("")).toEqual(await listed("?order=desc"));
  for (const after of ["x", "1.5", "-2"]) {
    const refused = await client.fetch(`/v1/responses/${id}?stream=true&starting_after=${after}`);
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { param: "starting_after" } },
    ]);
  }
});

it("a queued mock does not stand for a provider that knows the skill", async () => {
  await open.post("/llm/mocks", { text: "Well." });
  const asked = (skill: object) => open.post("/v1/messages", { ...ask, container: { skills: [skill] } });
  const unknown = await asked({ type: "custom", skill_id: "skill_01none" });
  expect([unknown.status, await unknown.text()]).toEqual([400, expect.stringContaining("skill_01none")]);
  expect((await asked({ type: "anthropic", skill_id: "pdf" })).status).toBe(200);
});

describe("a request looks up its model once", () => {
  const passing = new Client({ ...MOCKED, ...PASSING });
  const said = { model: "mock/mock", messages };
  const asks = { model: "mock/mock", input: "Hi.", store: false };
  const whole = { skills: [{ type: "custom", skill_id: "cat" }], injection: "full" };
  const native = { type: "anthropic", skill_id: "pdf" };
  const shell = [{ type: "shell", environment: { type: "container_auto" } }];
  it.each<[string, string, object, Client?]>([
    ["a message", "/v1/messages", ask],
    ["one that its provider could get verbatim", "/v1/messages", ask, passing],
    ["one with code", "/v1/messages", { ...ask, ...CODE }],
    ["one with skills of Anthropic", "/v1/messages", { ...ask, container: { skills: [native] } }],
    [
      "one with both kinds",
      "/v1/messages",
      { ...ask, container: { ...whole, skills: [native, ...whole.skills] } },
    ],
    ["a chat completion", "/v1/chat/completions", said],
    ["one with a skill", "/v1/chat/completions", { ...said, container: whole }],
    ["one with skills of Anthropic", "/v1/chat/completions", { ...said, container: { skills: [native] } }],
    ["a response", "/v1/responses", asks],
    ["one that streams", "/v1/responses", { ...asks, stream: true }],
    ["one with a shell", "/v1/responses", { ...asks, tools: shell }],
  ])("%s: %s", async (_, path, body, client = open) => {
    const { deployment, env } = client;
    const registry = await deployment.tenantRules.registryOf("default", () => {});
    await client.post("/llm/mocks", { text: "Well." });
    await client.post("/llm/call", { prompt: "Hi.", options: { model: "mock/mock" } });
    await client.post("/llm/mocks", { text: "Well." });
    const { choices } = deployment.knownModels.get(registry) ?? expect.fail("no model is known");
    const chosen = vi.spyOn(choices, "get");
    const mocks = vi.spyOn(env.MOCKS, "get");
    const answer = await client.post(path, body);
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("Well.")]);
    // Asking whether the scope has mocks is one use of its object, and the answers are the other.
    expect([chosen.mock.calls.length, mocks.mock.calls.length]).toEqual([1, 2]);
  });
});
