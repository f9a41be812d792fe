/** Models that a project defines, from hull.toml to the provider, through the real `hull dev`. */
import { expect, test } from "vitest";
import { deafPort } from "../support/deaf-server.ts";
import { sharedHull, sharedProvider } from "../support/shared.ts";
import { readEvents } from "../support/sse.ts";

const KEY = "my-proxy-e2e-key-0123456789";
const skill = (name: string, fields: string): Record<string, string> => ({
  [`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: Test.\n${fields}\n---\nYou are a test.\n`,
});

const fake = await sharedProvider();
// More than one variable of a Worker holds, with everything that an env file could misread.
const many = Array.from(
  { length: 120 },
  (_, i) => `"alias-${i} '\`$HOME# ü" = { id = "m${i}", provider = "mock" }`,
);
const hull = await sharedHull({
  args: ["--direct"],
  project: {
    "hull.toml": `
[llm.providers.my_proxy]
base_url = "${fake.url}/v1"
auth_env = "MY_PROXY_API_KEY"
features = ["native_tools"]

[llm.providers.by-responses]
base_url = "${fake.url}"
api = "responses"

[llm.providers.by-ollama]
base_url = "${fake.url}/v1"
api = "ollama"

[llm.providers.deaf]
base_url = "http://127.0.0.1:${await deafPort()}/v1"

[llm.aliases]
my-fast = { id = "vendor/fast", provider = "my_proxy" }
${many.join("\n")}
`,
  },
  skills: {
    ...skill("proxied", "mode: llm\nprovider: my_proxy\nmodel: vendor/fast"),
    ...skill("responses", "mode: llm\nprovider: by-responses\nmodel: m"),
    ...skill("ollama", "mode: llm\nprovider: by-ollama\nmodel: m"),
    ...skill("deaf", "mode: llm\nprovider: deaf\nmodel: m\ntimeout_ms: 700"),
    ...skill("packed", "mode: llm\nprovider: packed\nmodel: m"),
    "packed/hull.toml": `[llm.providers.packed]\nbase_url = "${fake.url}"\napi = "anthropic"\n`,
    ...skill("env", "run: [env]\ntool_env: [MY_PROXY_API_KEY, ALIAS_OF_KEY, OPEN]"),
  },
  env: {
    MY_PROXY_API_KEY: KEY,
    ALIAS_OF_KEY: KEY,
    OPEN: "free",
    PACKED_API_KEY: "packed-key",
    HARN_LLM_PROVIDER: "mock",
  },
});

const get = async (path: string): Promise<unknown> => (await hull.call(path)).json();

test("a skill reaches the provider that hull.toml defines, with its key, which never comes back", async () => {
  fake.script(() => ({ text: `the key is ${KEY}` }));
  const response = await hull.call("/skills/proxied", "hi");
  expect([response.status, await response.text()]).toEqual([200, "the key is [redacted]"]);
  expect(fake.requests.map(({ path, headers, body }) => [path, headers.authorization, body.model])).toEqual([
    ["/v1/chat/completions", `Bearer ${KEY}`, "vendor/fast"],
  ]);
});

test("a skill reaches the provider that its own folder defines", async () => {
  expect((await hull.call("/skills/packed", "hi")).status).toBe(200);
  expect(
    fake.requests.map(({ path, headers }) => [path, headers.authorization, headers["anthropic-version"]]),
  ).toEqual([["/v1/messages", "Bearer packed-key", "2023-06-01"]]);
});

test.each([
  ["responses", "/v1/responses"],
  ["ollama", "/api/chat"],
])("Hull uses the protocol %s for a provider that is defined with it", async (slug, path) => {
  fake.script([{ text: "It works." }]);
  const response = await hull.call(`/skills/${slug}`, "hi");
  expect([response.status, await response.text()]).toEqual([200, "It works."]);
  expect(fake.requests.map((request) => [request.path, request.headers.authorization])).toEqual([
    [path, undefined],
  ]);
});

test("the summary of a Responses model's reasoning is the call's thinking, streamed and not, and appears as thought", async () => {
  const options = { provider: "by-responses", model: "m" };
  const told = {
    thinking: "Two and two.",
    private_reasoning: "Two and two.",
    thinking_summary: "Two and two.",
  };
  for (const stream of [true, false]) {
    fake.script([{ text: "Four.", reasoning: "Two and two." }]);
    const response = await hull.post("/llm/call", { prompt: "2+2?", options: { ...options, stream } });
    expect(await response.json()).toMatchObject({ text: "Four.", ...told });
    expect(fake.requests.at(-1)?.body.stream).toBe(stream ? true : undefined);
  }
  fake.script([{ text: "Four.", reasoning: "Two and two." }]);
  const events = await readEvents(await hull.post("/llm/stream", { prompt: "2+2?", options }));
  expect(events.find(({ event }) => event === "thought")?.data).toMatchObject({ text: "Two and two." });
  expect(events.find(({ event }) => event === "done")?.data).toMatchObject({ ok: true, ...told });
});

const limited = { provider: "deaf", model: "m", timeout_ms: 700, llm_retries: 0 };
test.each([
  ["/skills/deaf", { input: "hi" }],
  ["/llm/call", { prompt: "hi", options: limited }],
  ["/llm/call", { prompt: "hi", options: { ...limited, stream: false } }],
  ["/runs", { prompt: "hi", options: limited }],
])("a provider to which no connection comes about ends a call in time: %s %j", async (path, body) => {
  const response = await hull.post(path, body);
  expect([response.status, await response.json()]).toMatchObject([
    504,
    {
      code: "provider_timeout",
      provider: "deaf",
      timeout_ms: 700,
      detail: expect.stringContaining("700 ms"),
    },
  ]);
});

test("no process gets the key of a provider that hull.toml defines", async () => {
  const printed = await (await hull.call("/skills/env", "")).text();
  expect(printed).toMatch(/^OPEN=free$/m);
  expect(printed).not.toMatch(/MY_PROXY|ALIAS_OF_KEY|e2e-key|redacted/);
  await hull.printed(/env\/SKILL\.md:\d+:\d+: warning: tool_env\[0\].*MY_PROXY_API_KEY/);
});

test("the Worker knows the models of hull.toml", async () => {
  expect(await get("/llm/resolve?model=my-fast")).toEqual({
    id: "vendor/fast",
    provider: "my_proxy",
    tier: "mid",
  });
  expect(await get("/llm/models?id=my-fast")).toMatchObject({ tool_format: "native", auth_available: true });
  expect(await get(`/llm/resolve?model=${encodeURIComponent("alias-119 '`$HOME# ü")}`)).toMatchObject({
    id: "m119",
  });
  expect(await get("/llm/info")).toEqual({ provider: "mock", model: "mock", api_key_set: true });
  // The fake provider answers only model calls: it is reachable, and answers 404.
  expect(await get("/llm/providers/my_proxy/health")).toMatchObject({
    provider: "my_proxy",
    valid: false,
    metadata: { reason: "http_status", status: 404 },
  });
  expect(await get("/llm/providers/xai/health")).toMatchObject({ metadata: { variable: "XAI_API_KEY" } });
});

test("a change of a skill folder's models asks for a restart", async () => {
  const before = hull.output().length;
  await hull.write("packed/hull.toml", `[llm.providers.packed]\nbase_url = "${fake.url}"\nrpm = 5\n`);
  await hull.printed(/models of a skill folder's hull\.toml changed; restart/, before);
});
