/** Commands of a container, with a runner that says what happens: what they reach, what became of them. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeRunner, RUNNER_URL, refusal } from "./fake-runner.ts";
import { Client, LOCAL } from "./served.ts";

const BASE = {
  ...LOCAL,
  HULL_RUNNER_URL: RUNNER_URL,
  HULL_RUNNER_SECRET: "s".repeat(32),
  HULL_LLM: JSON.stringify({ llm: { mock_routes: true } }),
};
const clientWith = (network: unknown): Client =>
  new Client({ ...BASE, HULL_CONFIG: JSON.stringify({ workspace_tools: { network } }) });
const allowlist = (...allowed_domains: string[]) => ({ type: "allowlist", allowed_domains });

let runner: FakeRunner;
beforeEach(() => {
  runner = new FakeRunner();
  vi.stubGlobal("fetch", runner.fetch);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

/** A response whose model runs one command. */
async function respond(client: Client, network_policy: unknown): Promise<Response> {
  await client.fetch("/llm/mocks", { method: "DELETE" });
  await client.post("/llm/mocks", [
    { tool_calls: [{ name: "shell", arguments: { commands: ["true"] } }] },
    { text: "Done." },
  ]);
  const environment = { type: "container_auto", ...(network_policy === undefined ? {} : { network_policy }) };
  const tools = [{ type: "shell", environment }];
  return client.post("/v1/responses", { model: "mock/any", input: "Go.", store: false, tools });
}

describe("network_policy", () => {
  it.each([
    [true, undefined, null],
    [true, { type: "disabled" }, null],
    [true, allowlist("a.example.com"), { hosts: ["a.example.com"] }],
    [["*.example.com"], allowlist("a.example.com"), { hosts: ["a.example.com"] }],
    [["*.example.com"], allowlist("*.a.example.com"), { hosts: ["*.a.example.com"] }],
    [["*.Example.com"], allowlist("a.example.COM"), { hosts: ["a.example.com"] }],
  ])("of a deployment with %j and a request with %j is %j", async (network, policy, expected) => {
    const response = await respond(clientWith(network), policy);
    expect(await response.json()).toMatchObject({ status: "completed" });
    const [execution] = runner.executions.values();
    expect(execution?.spec.handler?.network).toEqual(expected);
  });

  it.each([
    [false, allowlist("example.com")],
    [["a.example.com"], allowlist("b.example.com")],
    [["a.example.com"], allowlist("*.example.com")],
    [["*.example.com"], allowlist("example.com")],
    [["*.example.com"], allowlist("notexample.com")],
  ])("of a deployment with %j refuses a request with %j", async (network, policy) => {
    const response = await respond(clientWith(network), policy);
    expect(response.status).toBe(400);
    const { error } = await response.json<{ error: { param: string } }>();
    expect(error.param).toBe("tools.0.environment.network_policy.allowed_domains");
    expect(runner.begun).toEqual([]);
  });
});

/** A message for which a mock runs one command. */
async function commanded(client: ReturnType<typeof clientWith>, more: object = {}): Promise<Response> {
  await client.fetch("/llm/mocks", { method: "DELETE" });
  await client.post("/llm/mocks", [
    { tool_calls: [{ name: "bash_code_execution", arguments: { command: "true" } }] },
    { text: "Done." },
  ]);
  const tools = [{ type: "code_execution_20250825", name: "code_execution" }];
  const messages = [{ role: "user", content: "Go." }];
  return client.post("/v1/messages", { model: "mock/any", max_tokens: 100, tools, messages, ...more });
}

/** Lets a message run a command in a container. Returns the specification that the runner got. */
async function commandIn(client: ReturnType<typeof clientWith>, container: string) {
  expect((await commanded(client, { container })).status).toBe(200);
  const [execution] = runner.executions.values();
  return execution;
}

it.each([
  [{ memory_limit: "1g" }, null, 1024 ** 3],
  [
    { memory_limit: "4g", network_policy: allowlist("a.example.com") },
    { hosts: ["a.example.com"] },
    4 * 1024 ** 3,
  ],
])("a container's settings, %j, hold in messages too", async (terms, network, memory_bytes) => {
  const client = clientWith(true);
  const made = await client.post("/v1/containers", { name: "box", ...terms });
  const { id: container } = await made.json<{ id: string }>();
  const execution = await commandIn(client, container);
  expect(execution?.spec.handler).toMatchObject({ network, packages: true, skills_path: true });
  expect(execution?.spec.limits.memory_bytes).toBe(memory_bytes);
});

it.each([
  [{ name: "x".repeat(20_000) }, "name"],
  [
    {
      name: "x",
      network_policy: allowlist(...Array.from({ length: 1000 }, (_, n) => `host-${n}.example.com`)),
    },
    "network_policy.allowed_domains",
  ],
])("attack: a container's settings are no longer than a list can hold", async (body, param) => {
  const response = await clientWith(true).post("/v1/containers", body);
  expect([response.status, await response.json()]).toMatchObject([400, { error: { param } }]);
});

it("attack: a session that its creator made look like a container reaches only the deployment's hosts", async () => {
  const client = clientWith(["*.example.com"]);
  const container = `container_01${"f".repeat(32)}`;
  const network = ["evil.test", "a.example.com"];
  expect(
    (await client.post("/sessions", { id: container, metadata: { container: true, network } })).status,
  ).toBe(201);
  const execution = await commandIn(client, container);
  expect(execution?.spec.handler?.network).toEqual({ hosts: ["a.example.com"] });
});

it.each([
  ["the beginning", 14_840, 20_000],
  ["the end", 40_000, 14_840],
  ["what is read of the beginning", 29_990, 100],
])("attack: a secret that is cut at %s of a long output is lost whole", async (_, before, after) => {
  const secret = "sk-canary-0123456789";
  runner.behave = (execution) => {
    const text = `${"x\n".repeat(before / 2)}${secret}${"\ny".repeat(after / 2)}`;
    execution.stdout.push(text.slice(0, before + 7), text.slice(before + 7));
    execution.ended = true;
  };
  const client = new Client({ ...BASE, OPENAI_API_KEY: secret });
  const answer = await (await commanded(client)).text();
  expect(answer).toContain("x\\nx\\nx");
  for (let at = 0; at + 6 <= secret.length; at++) expect(answer).not.toContain(secret.slice(at, at + 6));
});

it.each<[string, () => void]>([
  [
    "output_file_too_large",
    () => {
      runner.behave = (execution) => {
        execution.refused = [{ kind: "refused", path: "output/big.bin", reason: "too_large" }];
        execution.ended = true;
      };
    },
  ],
  [
    "too_many_requests",
    () => {
      runner.instead = () => refusal(503, "runner_busy");
    },
  ],
])("a result says %s", async (error_code, prepare) => {
  prepare();
  const answer = await commanded(clientWith(true));
  expect(await answer.json()).toMatchObject({
    content: [
      {},
      { content: { type: "bash_code_execution_tool_result_error", error_code } },
      { text: "Done." },
    ],
  });
});

it.each([
  ["out\n", 3, "out", "out\nexit code 3"],
  ["", 0, "", "[hull: no output]"],
])(
  "a result of %j and exit code %j contains the command's output, and goes back as the model read it",
  async (printed, exit_code, stdout, read) => {
    runner.behave = (execution) => {
      execution.stdout.push(printed);
      execution.end = { exit_code };
      execution.ended = true;
    };
    const client = clientWith(true);
    await client.fetch("/llm/mocks", { method: "DELETE" });
    await client.post("/llm/mocks", [
      { tool_calls: [{ name: "bash_code_execution", arguments: { command: "true" } }] },
      { text: "Done." },
      { text: "More." },
    ]);
    const asked = { role: "user", content: "Go." };
    const body = {
      model: "mock/any",
      max_tokens: 100,
      tools: [{ type: "code_execution_20250825", name: "code_execution" }],
    };
    const first = await client.post("/v1/messages", { ...body, messages: [asked] });
    const { content } = await first.json<{ content: unknown[] }>();
    expect(content[1]).toMatchObject({ content: { stdout, stderr: "", return_code: exit_code } });
    const messages = [asked, { role: "assistant", content }, { role: "user", content: "On." }];
    expect((await client.post("/v1/messages", { ...body, messages })).status).toBe(200);
    const calls = await (await client.fetch("/llm/mocks/calls")).json<{ data: { messages: unknown[] }[] }>();
    const [, then, later] = calls.data.map(({ messages }) => JSON.stringify(messages[2]));
    expect(then).toContain(JSON.stringify(`>\n${read}\n<`).slice(1, -1));
    expect(later).toBe(then);
  },
);

it("a shell's result without output has an empty stdout, and goes back as the model read it", async () => {
  const client = clientWith(true);
  runner.behave = (execution) => {
    execution.end = { exit_code: 0 };
    execution.ended = true;
  };
  const first = await (await respond(client, undefined)).json<{ output: object[] }>();
  const result = { type: "shell_call_output", output: [{ stdout: "", outcome: { exit_code: 0 } }] };
  expect(first.output).toMatchObject([{ type: "shell_call" }, result, { type: "message" }]);
  await client.post("/llm/mocks", [{ text: "More." }]);
  const input = [{ role: "user", content: "Go." }, ...first.output, { role: "user", content: "On." }];
  const tools = [{ type: "shell", environment: { type: "container_auto" } }];
  const again = await client.post("/v1/responses", { model: "mock/any", store: false, input, tools });
  expect(again.status).toBe(200);
  const calls = await (await client.fetch("/llm/mocks/calls")).json<{ data: { messages: unknown[] }[] }>();
  const [, then, later] = calls.data.map(({ messages }) => JSON.stringify(messages[2]));
  expect(then).toContain("[hull: no output]");
  expect(later).toBe(then);
});

it("a call without its command runs nothing and reports it", async () => {
  const client = clientWith(true);
  await client.fetch("/llm/mocks", { method: "DELETE" });
  await client.post("/llm/mocks", [
    { tool_calls: [{ name: "bash_code_execution", arguments: {} }] },
    { text: "Done." },
  ]);
  const tools = [{ type: "code_execution_20250825", name: "code_execution" }];
  const messages = [{ role: "user", content: "Go." }];
  const answer = await client.post("/v1/messages", { model: "mock/any", max_tokens: 100, tools, messages });
  expect(await answer.json()).toMatchObject({
    content: [{}, { content: { error_code: "invalid_tool_input" } }, { text: "Done." }],
  });
  expect(runner.begun).toEqual([]);
});
