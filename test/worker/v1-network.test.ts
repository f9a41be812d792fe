/** What the commands of a container reach: no more than its request allows, and than the deployment does. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeRunner, RUNNER_URL } from "./fake-runner.ts";
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

it.each([
  [{ memory_limit: "1g" }, null, 1024 ** 3],
  [
    { memory_limit: "4g", network_policy: allowlist("a.example.com") },
    { hosts: ["a.example.com"] },
    4 * 1024 ** 3,
  ],
])("what was said of a container, %j, holds in messages too", async (terms, network, memory_bytes) => {
  const client = clientWith(true);
  const made = await client.post("/v1/containers", { name: "box", ...terms });
  const { id: container } = await made.json<{ id: string }>();
  await client.fetch("/llm/mocks", { method: "DELETE" });
  await client.post("/llm/mocks", [
    { tool_calls: [{ name: "bash_code_execution", arguments: { command: "true" } }] },
    { text: "Done." },
  ]);
  const tools = [{ type: "code_execution_20250825", name: "code_execution" }];
  const messages = [{ role: "user", content: "Go." }];
  const body = { model: "mock/any", max_tokens: 100, container, tools, messages };
  expect((await client.post("/v1/messages", body)).status).toBe(200);
  const [execution] = runner.executions.values();
  expect(execution?.spec.handler).toMatchObject({ network, packages: true, skills_path: true });
  expect(execution?.spec.limits.memory_bytes).toBe(memory_bytes);
});
