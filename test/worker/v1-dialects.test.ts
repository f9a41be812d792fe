import { beforeAll, describe, expect, it } from "vitest";
import { type Dialect, dialectOf } from "../../src/http/v1/dialect.ts";
import { Client, mockSkill } from "./served.ts";

const VERSION = { "anthropic-version": "2026-10-21" };
const beta = (list: string): Record<string, string> => ({ "anthropic-beta": list });
const BOTH = beta("files-api-2025-04-14,skills-2025-10-02");
const BEARER = { authorization: "Bearer hull_x" };

const sent = (request: Request) => ({ request, namesProvider: false });

describe("the dialect of a request", () => {
  it.each<[string, Record<string, string>, Dialect]>([
    ["/v1/skills", {}, "openai"],
    ["/v1/skills", BEARER, "openai"],
    ["/v1/skills", { "x-api-key": "hull_x" }, "openai"],
    ["/v1/skills?beta=true", {}, "openai"],
    ["/v1/skills", { ...BEARER, ...VERSION }, "anthropic"],
    ["/v1/skills?beta=true", VERSION, "anthropic"],
    ["/v1/skills", beta("skills-2025-10-02"), "anthropic_legacy"],
    ["/v1/skills", { ...VERSION, ...beta("other-2025-01-01, skills-2025-10-02") }, "anthropic_legacy"],
    ["/v1/skills", beta("files-api-2025-04-14"), "anthropic"],
    ["/v1/files", beta("files-api-2025-04-14"), "anthropic_legacy"],
    ["/v1/files", beta("skills-2025-10-02"), "anthropic"],
    ["/v1/files/file_1", BOTH, "anthropic_legacy"],
    ["/v1/skills/skill_1", BOTH, "anthropic_legacy"],
    ["/v1/skills", beta("something-else"), "openai"],
    ["/v1/skills?custom_llm_provider=litellm_proxy", {}, "anthropic_legacy"],
    ["/v1/skills?custom_llm_provider=litellm_proxy", VERSION, "anthropic"],
    ["/anthropic/v1/skills", {}, "anthropic"],
    ["/anthropic/v1/skills", beta("skills-2025-10-02"), "anthropic_legacy"],
    ["/openai/v1/skills", { ...VERSION, ...BOTH }, "openai"],
    ["/v1/messages", {}, "anthropic"],
    ["/v1/messages/count_tokens", {}, "anthropic"],
    ["/v1/chat/completions", VERSION, "openai"],
    ["/v1/responses", VERSION, "openai"],
    ["/v1/containers/c", VERSION, "openai"],
  ])("%s with %o is %s", (path, headers, dialect) => {
    expect(dialectOf(sent(new Request(`http://localhost${path}`, { headers })))).toBe(dialect);
  });

  it("is LiteLLM's where the body names a provider, and not where a version header names Anthropic", () => {
    const plain = new Request("http://localhost/v1/skills");
    const versioned = new Request("http://localhost/v1/skills", { headers: VERSION });
    const dialects = [plain, versioned].map((request) =>
      dialectOf({ ...sent(request), namesProvider: true }),
    );
    expect(dialects).toEqual(["anthropic_legacy", "anthropic"]);
  });

  it("adds up a header that appears twice", () => {
    const headers = new Headers();
    headers.append("anthropic-beta", "files-api-2025-04-14");
    headers.append("anthropic-beta", "skills-2025-10-02");
    expect(dialectOf(sent(new Request("http://localhost/v1/skills", { headers })))).toBe("anthropic_legacy");
  });
});

describe("errors below /v1", () => {
  const client = new Client();
  const keyed = new Client({ HULL_ADMIN_KEY: "hull-admin-canary-0123456789" });
  beforeAll(() => client.publish({ cat: mockSkill("cat") }));

  it.each([
    ["401", keyed, 401, "authentication_error", "unauthenticated"],
    ["404", client, 404, "not_found_error", "not_found"],
  ])("a %s has each dialect's shape and the request's id", async (_, target, status, type, code) => {
    const message = expect.stringMatching(/\w/);
    for (const path of ["/v1/nothing", "/v1/skills//versions"]) {
      const openai = await target.fetch(path);
      expect(openai.status).toBe(status);
      expect(await openai.json()).toEqual({ error: { message, type, param: null, code } });
    }
    for (const [path, headers] of [
      ["/v1/nothing", VERSION],
      ["/anthropic/v1/nothing", VERSION],
      ["/anthropic/v1/skills//versions", {}],
    ] as const) {
      const anthropic = await target.fetch(path, { headers });
      expect(anthropic.status).toBe(status);
      expect(anthropic.headers.get("content-type")).toBe("application/json");
      const id = anthropic.headers.get("request-id");
      expect(anthropic.headers.get("x-request-id")).toBe(id);
      expect(await anthropic.json()).toEqual({ type: "error", error: { type, message }, request_id: id });
    }
  });

  it("stop the SDKs from repeating what a repetition does not fix", async () => {
    const closed = new Client({ HULL_ENV: "deployed" });
    for (const [headers, type] of [
      [{}, "server_error"],
      [VERSION, "overloaded_error"],
    ] as const) {
      const response = await closed.fetch("/v1/skills", { headers });
      expect([response.status, response.headers.get("x-should-retry")]).toEqual([503, "false"]);
      expect(await response.json()).toMatchObject({ error: { type } });
    }
    const unknown = await client.fetch("/v1/nothing");
    expect(unknown.headers.get("x-should-retry")).toBeNull();
  });

  it("let the SDKs repeat a call whose provider is overloaded", async () => {
    const mocked = new Client({ HULL_ENV: "local", HULL_LLM: '{"llm":{"mock_routes":true}}' });
    const overloaded = { error: { category: "overloaded" } };
    // As many as Hull itself makes attempts.
    await mocked.post("/llm/mocks", [overloaded, overloaded, overloaded]);
    const messages = [{ role: "user", content: "Hi." }];
    const response = await mocked.post("/v1/messages", { model: "mock", max_tokens: 10, messages });
    expect([response.status, response.headers.get("x-should-retry")]).toEqual([503, null]);
  });

  it.each([
    ["/chat/completions", "/v1/chat/completions"],
    ["/responses/resp_1", "/v1/responses/resp_1"],
    ["/v1/v1/messages", "/v1/messages"],
    ["/v1/chat", null],
    ["/models-of-cars", null],
  ])("%s, as a wrong base URL makes it, has the answer where it is served: %s", async (path, meant) => {
    const text = await (await client.post(path, {})).text();
    expect(text).toContain(`Nothing is served at ${path}.`);
    expect(/Did you mean (\S+)\?/.exec(text)?.[1] ?? null).toBe(meant);
  });

  it("native routes keep problem documents", async () => {
    const response = await client.fetch("/skills/nothing", { headers: VERSION });
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(response.headers.get("request-id")).toBeNull();
  });
});

it.each([
  ["/v1/messages", { max_tokens: 10 }],
  ["/v1/chat/completions", {}],
])("%s answers within the request, whatever Prefer says", async (path, more) => {
  const client = new Client({ HULL_ENV: "local" });
  const body = JSON.stringify({ model: "mock", messages: [{ role: "user", content: "Hi." }], ...more });
  const headers = { prefer: "respond-async", "content-type": "application/json" };
  const response = await client.fetch(path, { method: "POST", headers, body });
  expect([response.status, response.headers.get("preference-applied")]).toEqual([200, null]);
  expect(await response.text()).toContain("Hi.");
});

describe("a request that no provider would take is 400 in the dialect's own form, before a model is asked", () => {
  const aliases = '{"m":{"id":"m","provider":"mock"}}';
  const client = new Client({
    HULL_ENV: "local",
    HULL_LLM: `{"llm":{"mock_routes":true,"aliases":${aliases}}}`,
  });
  const model = "m";
  const hi = { role: "user", content: "Hi." };
  const f = { name: "f", input_schema: { type: "object" } };
  const chatCall = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
  const chatTool = { type: "function", function: { name: "f" } };
  const used = { type: "tool_use", id: "c1", name: "f", input: {} };
  const returned = { type: "tool_result", tool_use_id: "c1", content: "1" };
  const ran = { type: "bash_code_execution_result", stdout: "1", stderr: "", return_code: 0, content: [] };
  const executed = { type: "bash_code_execution_tool_result", tool_use_id: "c1", content: ran };
  const called = { type: "function_call", call_id: "c1", name: "f", arguments: "{}" };
  const output = { type: "function_call_output", call_id: "c1", output: "1" };
  const shellCall = { type: "shell_call", call_id: "c1", action: { commands: ["ls"] } };
  const shellOutput = { type: "shell_call_output", call_id: "c1", output: [] };
  const shell = { type: "shell", environment: { type: "local" } };
  const inContainer = { type: "container_reference", container_id: "container_01" };
  const chat = "/v1/chat/completions";
  const [tool, assistant] = [{ role: "tool", tool_call_id: "c1", content: "1" }, { role: "assistant" }];
  const ask = (path: string, body: object): Promise<Response> =>
    client.post(path, { model, ...(path.includes("messages") ? { max_tokens: 10 } : {}), ...body });
  const answered = (): Promise<Response> => client.post("/llm/mocks", { text: "Well." });

  it.each<[string, string, object, string]>([
    [chat, "messages.1.tool_call_id", { messages: [hi, tool] }, "c1"],
    [chat, "messages.0.tool_call_id", { messages: [tool, { ...assistant, tool_calls: [chatCall] }] }, "c1"],
    [
      chat,
      "tools.2.function.name",
      { messages: [hi], tools: [chatTool, { type: "code_execution" }, chatTool] },
      "f",
    ],
    [
      "/v1/messages",
      "messages.0.content.0.tool_use_id",
      { messages: [{ ...hi, content: [returned] }] },
      "c1",
    ],
    [
      "/v1/messages",
      "messages.1.content.0.tool_use_id",
      { messages: [hi, { ...assistant, content: [executed] }] },
      "c1",
    ],
    ["/v1/messages", "tools.1.name", { messages: [hi], tools: [f, f] }, "f"],
    [
      "/v1/messages",
      "tools.1.name",
      {
        messages: [hi],
        tools: [
          { type: "bash_20250124", name: "bash" },
          { ...f, name: "bash" },
        ],
      },
      "bash",
    ],
    [
      chat,
      "messages.1.tool_calls.0.id",
      { messages: [hi, { ...assistant, tool_calls: [chatCall] }, hi] },
      "c1",
    ],
    [
      "/v1/messages",
      "messages.1.content.0.id",
      { messages: [hi, { ...assistant, content: [used] }, hi] },
      "c1",
    ],
    ["/v1/responses", "input.1.call_id", { input: [hi, called, hi] }, "c1"],
    ["/v1/responses", "input.0.call_id", { input: [shellCall, hi], tools: [shell] }, "c1"],
    ["/v1/messages/count_tokens", "tools.1.name", { messages: [hi], tools: [f, f] }, "f"],
    ["/v1/responses", "input.0.call_id", { input: [output, called] }, "c1"],
    ["/v1/responses", "input.1.call_id", { input: [hi, shellOutput] }, "c1"],
    [
      "/v1/responses",
      "tools.1.name",
      { input: "Hi.", tools: [shell, { type: "function", name: "shell" }] },
      "shell",
    ],
    ["/v1/responses/input_tokens", "input.0.call_id", { input: [output] }, "c1"],
  ])("%s: %s", async (path, param, body, named) => {
    const answer = await ask(path, body);
    const message = expect.stringMatching(new RegExp(`^${param}: .*"${named}"`));
    const error = path.startsWith("/v1/messages")
      ? { type: "error", error: { type: "invalid_request_error", message } }
      : { error: { type: "invalid_request_error", message, param, code: "invalid_request" } };
    expect([answer.status, await answer.json()]).toMatchObject([400, error]);
  });

  it.each<[string, object]>([
    [chat, { messages: [hi, { ...assistant, tool_calls: [chatCall] }, tool] }],
    [
      "/v1/messages",
      {
        messages: [
          hi,
          { ...assistant, content: [used] },
          { ...hi, content: [returned] },
          { ...hi, content: "And?" },
        ],
        tools: [f, { ...f, name: "g" }],
      },
    ],
    ["/v1/responses", { input: [called, hi, output], store: false }],
    // The server carried these calls out, or was about to when the answer paused.
    ["/v1/messages", { messages: [hi, { ...assistant, content: [{ ...used, type: "server_tool_use" }] }] }],
    [
      "/v1/messages",
      {
        messages: [
          hi,
          { ...assistant, content: [{ ...used, type: "server_tool_use", name: "bash_code_execution" }] },
        ],
      },
    ],
    ["/v1/responses", { input: [{ ...shellCall, environment: inContainer }, hi], store: false }],
    ["/v1/messages/count_tokens", { messages: [hi, { ...assistant, content: [used] }] }],
    ["/v1/responses/input_tokens", { input: [hi, called] }],
  ])("%s takes a result after its call", async (path, body) => {
    await answered();
    expect((await ask(path, body)).status).toBe(200);
  });

  it("an output of a stored conversation counts its calls, and its items can be referred to", async () => {
    const post = async (path: string, body: object) => {
      const answer = await client.post(path, body);
      return [answer.status, await answer.json<Record<string, unknown>>()] as const;
    };
    const [, { id: conversation }] = await post("/v1/conversations", { items: [{ ...called, id: "fc_1" }] });
    const asked = { model, conversation, store: false };
    const [open, { error: of }] = await post("/v1/responses", { ...asked, input: "Hi." });
    expect([open, of]).toMatchObject([400, { param: "conversation" }]);
    const reference = { type: "item_reference", id: "fc_1" };
    await answered();
    expect((await post("/v1/responses", { ...asked, input: [reference, output] }))[0]).toBe(200);
    const [status, { error }] = await post("/v1/responses", {
      ...asked,
      input: [{ type: "item_reference", id: "fc_2" }],
    });
    expect([status, error]).toMatchObject([400, { param: "input.0.id" }]);
    const [, { id: alone }] = await post("/v1/conversations", { items: [output] });
    const [refused, { error: why }] = await post("/v1/responses", {
      model,
      conversation: alone,
      input: "Hi.",
    });
    expect([refused, why]).toMatchObject([400, { param: "conversation" }]);
  });
});

describe("attack: without a key, where the deployment is public", () => {
  const open = new Client({ HULL_PUBLIC: "1" });
  const messages = [{ role: "user", content: "Hi." }];
  const graph = { nodes: { v: { kind: "verify", verify: { command: "echo ran" } } } };
  it.each([
    ["/runs", { prompt: "x", options: { provider: "mock", workspace_tools: true } }],
    ["/runs", { prompt: "x", options: { provider: "mock", workspace_tools: ["Bash"] } }],
    ["/workflows/execute", { task: "t", graph, options: { provider: "mock" } }],
    ["/workflows/execute", { task: "t", graph, options: { test: { mocks: { v: [{}] } } } }],
  ])("%s runs no command that %j asks for", async (path, body) => {
    expect(await (await open.post(path, body)).text()).toContain("for callers with a key");
  });
  const whole = { skills: [{ type: "custom", skill_id: "cat" }], injection: "full" };
  const responses = { input: "Hi.", max_tokens: undefined, messages: undefined };
  const inContainer = { type: "container_reference", container_id: `container_01${"0".repeat(32)}` };
  it.each([
    ["/v1/messages", { tools: [{ type: "code_execution_20250825", name: "code_execution" }] }],
    ["/v1/messages", { container: whole }],
    ["/v1/chat/completions", { tools: [{ type: "code_execution" }] }],
    ["/v1/chat/completions", { container: whole }],
    ["/v1/responses", { ...responses, tools: [{ type: "shell", environment: { type: "container_auto" } }] }],
    ["/v1/responses", { ...responses, tools: [{ type: "shell", environment: inContainer }] }],
  ])("%s runs no code that %j asks for", async (path, more) => {
    const answer = await open.post(path, { model: "mock/mock", max_tokens: 10, messages, ...more });
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("with a key")]);
  });
});
