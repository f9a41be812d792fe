/** What `/llm` returns about models, what a tenant changes about them, and models that configuration brings. */
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { packTar } from "../../src/skill/tar.ts";
import { FakeRunner, RUNNER_URL } from "./fake-runner.ts";
import { Client, entry, LOCAL } from "./served.ts";

const PROXY = { base_url: "https://llm.example/v1", auth_env: ["MY_PROXY_API_KEY"] };
const HULL_LLM = JSON.stringify({
  llm: {
    providers: { my_proxy: { ...PROXY, extra_headers: { "x-team": "team-canary" } } },
    aliases: { "my-fast": { id: "vendor/fast", provider: "my_proxy" } },
  },
});
const KEY = "proxy-key-canary-0123456789";

const plain = new Client(LOCAL);
const own = new Client({ ...LOCAL, HULL_LLM, MY_PROXY_API_KEY: KEY });

afterEach(() => vi.restoreAllMocks());

const get = async (path: string, client = plain): Promise<unknown> => {
  const response = await client.fetch(`/llm/${path}`);
  expect([path, response.status, response.headers.get("cache-control")]).toEqual([path, 200, "no-store"]);
  return response.json();
};
const code = async (response: Response) => [response.status, (await response.json<{ code: string }>()).code];

it.each([
  ["continues it", "1}", '{"a":1}', { a: 1 }],
  ["holds JSON of its own", ' {"c": 3}, "b": 2}', '{"a": {"c": 3}, "b": 2}', { a: { c: 3 }, b: 2 }],
  ["is JSON by itself", '{"b":2}', '{"b":2}', { b: 2 }],
])(
  "a structured answer begins with the prefill, unless it is complete without it: it %s",
  async (_, said, text, data) => {
    const mock = [{ text: said }];
    const options = { provider: "mock", mock, response_format: "json", prefill: '{"a":' };
    for (const path of ["/llm/call", "/runs"]) {
      const answer = await (await plain.post(path, { prompt: "x", options })).json();
      expect(answer, path).toMatchObject({ text, data });
    }
  },
);

it.each([
  ["/llm/structured", {}, "schema", { type: "dict", properties: { a: { type: "strnig" } } }],
  ["/llm/call", { json_schema: { enum: "a" } }, "options.json_schema", undefined],
  ["/llm/call", { output_format: { kind: "json_schema", schema: { type: [] } } }, "options.output_format"],
  ["/runs", { json_schema: {}, output_schema: { anyOf: [] } }, "options.output_schema"],
])(
  "%s refuses a schema that no answer could match, before it asks a model: %j",
  async (path, given, at, schema?) => {
    const asked = vi.spyOn(globalThis, "fetch").mockResolvedValue(new Response("", { status: 500 }));
    const options = { provider: "ollama", model: "llama3", llm_retries: 0, ...given };
    const body = { prompt: "x", options, ...(schema === undefined ? {} : { schema }) };
    const response = await plain.post(path, body);
    const problem = await response.json();
    expect([response.status, problem]).toMatchObject([
      422,
      { code: "input_invalid", errors: [{ path: at }] },
    ]);
    expect(asked).not.toHaveBeenCalled();
  },
);

describe("a provider that is down", () => {
  const providers = {
    openai: { base_url: "https://down.example/v1", fallback: "up", retry_count: 1, retry_delay_ms: 1 },
    up: { base_url: "https://up.example/v1" },
  };
  const client = new Client({
    ...LOCAL,
    HULL_LLM: JSON.stringify({ llm: { providers } }),
    OPENAI_API_KEY: "key-of-a-provider-that-is-down",
  });
  const choices = [{ index: 0, message: { role: "assistant", content: "up" }, finish_reason: "stop" }];
  const call = { prompt: "x", options: { provider: "openai", model: "m", stream: false } };
  const messages = [{ role: "user", content: "x" }];
  beforeAll(() =>
    client.publish({
      down: "---\nname: down\ndescription: Test.\nprovider: openai\nmax_tokens: 9\n---\nTest.\n",
    }),
  );

  it.each<[path: string, body: object, asked: { down: number; up: number }]>([
    ["/llm/call", call, { down: 2, up: 1 }],
    ["/runs", call, { down: 2, up: 1 }],
    ["/llm/call", { ...call, options: { ...call.options, fallback_chain: [] } }, { down: 2, up: 0 }],
    ["/runs", { ...call, options: { ...call.options, llm_retries: 0 } }, { down: 1, up: 1 }],
    ["/v1/chat/completions", { model: "gpt-4o", messages }, { down: 2, up: 0 }],
    ["/runs", { prompt: "x", options: { skill: "down", llm_retries: 1 } }, { down: 2, up: 0 }],
    ["/skills/down", { input: "x" }, { down: 3, up: 0 }],
  ])("%s %j: its definition says what happens, where nothing else does", async (path, body, asked) => {
    const hosts: string[] = [];
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input) => {
      const { hostname } = new URL(new Request(input).url);
      hosts.push(hostname);
      return hostname === "up.example" ? Response.json({ choices }) : new Response("", { status: 503 });
    });
    const response = await client.post(path, body);
    const count = (name: string) => hosts.filter((host) => host === `${name}.example`).length;
    expect({ down: count("down"), up: count("up") }).toEqual(asked);
    expect(response.ok, await response.text()).toBe(asked.up > 0);
  });
});

it("a schema with values of earlier drafts, or of no draft, is accepted if answers can match it", async () => {
  const tuple = { items: [{ type: "string" }] };
  const properties = { a: { type: "string", required: true, description: null, examples: "x" }, b: tuple };
  const schema = { type: "object", title: 5, properties };
  const given = {
    prompt: "x",
    schema,
    options: { provider: "mock", mock: [{ text: '{"a": "x", "b": ["y"]}' }] },
  };
  const answer = await plain.post("/llm/structured", given);
  expect([answer.status, await answer.json()]).toMatchObject([200, { ok: true, data: { a: "x", b: ["y"] } }]);
});

describe("attack: a name of a model that is too long for what keeps it", () => {
  const long = "x".repeat(513);
  const user = [{ role: "user", content: "hi" }];
  const asked = (options: object) => ({ prompt: "hi", options: { provider: "mock", ...options } });
  beforeAll(() => plain.post("/sessions", { id: "long-names" }));

  it.each<[string, object]>([
    ["/llm/call", asked({ model: long })],
    ["/llm/call", asked({ provider: long })],
    ["/runs", asked({ model: long })],
    ["/tasks", { task: "hi", node: { model_policy: { provider: "mock", model: long } } }],
    ["/sessions/long-names/runs", asked({ model: long })],
    ["/v1/messages", { model: `mock/${long}`, max_tokens: 10, messages: user }],
    ["/v1/chat/completions", { model: long, messages: user }],
    ["/v1/responses", { model: long, input: "hi" }],
  ])("%s refuses it: %j", async (path, body) => {
    const response = await plain.post(path, body);
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringMatching(/has 51\d characters; a name has at most 512/),
    ]);
  });
});

it("a completion has its prefix and suffix instead of messages", async () => {
  const options = { provider: "mock", messages: [{ role: "user", content: "x" }] };
  const response = await plain.post("/llm/completion", { prefix: "a", options });
  const problem = await response.json();
  expect([response.status, problem]).toMatchObject([400, { code: "invalid_request", option: "messages" }]);
});

describe("GET /llm", () => {
  it.each<[path: string, answer: object, client?: Client]>([
    ["info", { provider: "anthropic", model: "claude-haiku-4-5-20251001", api_key_set: false }],
    [
      "info",
      { provider: "mock", model: "mock", api_key_set: true },
      new Client({ ...LOCAL, HARN_LLM_PROVIDER: "mock" }),
    ],
    [
      "info",
      { provider: "groq", model: null, api_key_set: false },
      new Client({ ...LOCAL, HULL_LLM_PROVIDER: "groq", HARN_LLM_PROVIDER: "mock" }),
    ],
    [
      "info",
      { provider: "openai", model: "gpt-6-luna", api_key_set: true },
      new Client({ ...LOCAL, HULL_DEFAULT_PROVIDER: "openai", OPENAI_API_KEY: "k" }),
    ],
    [
      "models",
      {
        data: ["frontier", "tier/frontier", "mid", "tier/mid", "small", "tier/small", "my-fast"],
        next_cursor: null,
      },
      own,
    ],
    ["resolve?model=frontier", { id: "claude-sonnet-5", provider: "anthropic", tier: "frontier" }],
    ["resolve?model=hf:a/b-9b", { id: "hf:a/b-9b", provider: "huggingface", tier: "small" }],
    ["resolve?model=my-fast", { id: "vendor/fast", provider: "my_proxy", tier: "mid" }, own],
    ["pick?target=small", { id: "Qwen/Qwen3.5-9B", provider: "openrouter", tier: "small" }],
    ["pick?target=gpt-4o", { id: "gpt-4o", provider: "openai", tier: "frontier" }],
    ["infer?model=llama3.2:latest", { provider: "ollama" }],
    ["infer?model=mid", { provider: "openai" }],
    ["tier?model=claude-haiku-4-5", { tier: "frontier" }],
    ["tier?model=small", { tier: "small" }],
    [
      "cost?model=claude-sonnet-4-20250514&input_tokens=1000&output_tokens=500",
      { cost_usd: 0.0105, price_known: true },
    ],
    ["cost?model=mid&input_tokens=100000", { cost_usd: 0.01, price_known: true }],
    ["cost?model=acme&input_tokens=1000", { cost_usd: 0, price_known: false }],
    [
      "providers/nobody/health",
      {
        provider: "nobody",
        valid: false,
        message: 'There is no provider "nobody".',
        metadata: { reason: "unknown_provider" },
      },
    ],
    [
      "providers/mock/health",
      { provider: "mock", valid: true, message: "It answers by itself.", metadata: {} },
    ],
  ])("%s", async (path, answer, client = plain) => expect(await get(path, client)).toEqual(answer));

  it("models?id= returns everything about one model", async () => {
    expect(await get("models?id=gpt-4o")).toEqual({
      id: "gpt-4o",
      provider: "openai",
      tool_format: "native",
      tier: "frontier",
      capabilities: expect.objectContaining({ native_tools: true, vision: true }),
      catalog: null,
      auth_available: false,
      price: { in: 2.5, out: 10, cache_read: 1.25 },
      context_window: 128_000,
      retires_at: "2027-01-14",
    });
    expect(await get("models?id=my-fast", own)).toMatchObject({
      id: "vendor/fast",
      provider: "my_proxy",
      tool_format: "text",
      catalog: null,
      auth_available: true,
    });
  });

  it("providers shows definitions, and no secrets", async () => {
    const { data } = (await get("providers", own)) as { data: { name: string }[] };
    expect(data.map(({ name }) => name)).toEqual(expect.arrayContaining(["anthropic", "mock", "my_proxy"]));
    expect(await get("providers/my_proxy", own)).toEqual(data.find(({ name }) => name === "my_proxy"));
    expect(await get("providers/my_proxy", own)).toMatchObject({
      protocol: "openai-chat",
      base_url: "https://llm.example/v1",
      base_url_env: ["MY_PROXY_BASE_URL"],
      auth_env: ["MY_PROXY_API_KEY"],
      extra_headers: ["x-team"],
      available: true,
    });
    expect(JSON.stringify(data)).not.toMatch(/canary/);
    expect(await get("providers/gemini")).toMatchObject({
      name: "google",
      default_model: "gemini-3.6-flash",
    });
    const available = (await get("providers/available", own)) as { data: { name: string }[] };
    const names = available.data.map(({ name }) => name);
    expect(names).toEqual([
      "ollama",
      "local",
      "workers-ai",
      "vllm",
      "tgi",
      "llamacpp",
      "mlx",
      "mock",
      "my_proxy",
    ]);
    expect(await code(await own.fetch("/llm/providers/my_prox"))).toEqual([404, "provider_not_found"]);
  });

  it.each([
    ["capabilities", "bad_request"],
    ["capabilities?provider=", "bad_request"],
    ["resolve", "bad_request"],
    ["infer?model=", "bad_request"],
    ["tier", "bad_request"],
    ["pick", "bad_request"],
    ["cost", "bad_request"],
    ["cost?model=o1&input_tokens=-1", "bad_request"],
    ["cost?model=o1&provider=zzz", "model_not_resolved"],
  ])("%s is 400", async (path, expected) => {
    expect(await code(await plain.fetch(`/llm/${path}`))).toEqual([400, expected]);
  });
});

describe("/llm/capabilities", () => {
  const ADMIN = "hull-admin-canary-0123456789";
  const keyed = new Client({ HULL_ADMIN_KEY: ADMIN });
  const of = async (query: string, key = ADMIN, client = keyed) =>
    (
      await client.fetch(`/llm/capabilities?provider=${query}`, {
        headers: { authorization: `Bearer ${key}` },
      })
    ).json<Record<string, unknown>>();
  const put = (toml: string, key = ADMIN) =>
    keyed.fetch("/llm/capabilities", {
      method: "PUT",
      body: toml,
      headers: { authorization: `Bearer ${key}` },
    });
  const clear = (key = ADMIN) =>
    keyed.fetch("/llm/capabilities", { method: "DELETE", headers: { authorization: `Bearer ${key}` } });
  async function keyOf(tenant: string, ...scopes: string[]): Promise<string> {
    const response = await keyed.fetch("/admin/keys", {
      method: "POST",
      headers: { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" },
      body: JSON.stringify({ tenant, scopes }),
    });
    return (await response.json<{ key: string }>()).key;
  }
  const OPUS = "anthropic&model=claude-opus-4-7";
  const OUTAGE =
    '[[provider.anthropic]]\nmodel_match = "claude-opus-*"\nnative_tools = true\nthinking = true\n';

  it("answers with every field", async () => {
    expect(await of(OPUS)).toEqual({
      provider: "anthropic",
      model: "claude-opus-4-7",
      native_tools: true,
      defer_loading: true,
      tool_search: ["bm25", "regex"],
      max_tools: 10_000,
      prompt_caching: true,
      thinking: true,
      thinking_modes: ["adaptive"],
      vision: true,
      audio: null,
      pdf: null,
      structured_output: "tool_use",
      interleaved_thinking_supported: true,
      anthropic_beta_features: null,
      preserve_thinking: null,
      requires_completion_tokens: null,
      reasoning_effort_supported: null,
      honors_chat_template_kwargs: null,
      server_parser: null,
      recommended_endpoint: null,
      text_tool_wire_format_supported: true,
    });
    expect(await of("mock&model=gpt-5.4")).toMatchObject({ tool_search: ["hosted", "client"] });
    expect(await of("mock")).toMatchObject({ model: "mock", native_tools: false });
    expect(await of("who")).toMatchObject({ native_tools: false, max_tools: null, tool_search: [] });
  });

  it("PUT replaces the tenant's version, DELETE removes it", async () => {
    expect(
      (
        await put(
          '[[provider.my-proxy]]\nmodel_match = "*"\nmax_tools = 5\n[provider_family]\nx = "my-proxy"\n',
        )
      ).status,
    ).toBe(200);
    expect(await of("my-proxy&model=a")).toMatchObject({ max_tools: 5 });
    expect(await of("x&model=a")).toMatchObject({ max_tools: 5 });
    const installed = await put(OUTAGE);
    expect(await installed.json()).toEqual({ providers: ["anthropic"], provider_family: {} });
    expect(await of("my-proxy&model=a")).toMatchObject({ max_tools: null });
    const hidden = { defer_loading: false, tool_search: [], vision: true, thinking_modes: ["adaptive"] };
    expect(await of(OPUS)).toMatchObject(hidden);
    for (const [toml, expected] of [
      ["[[provider.anthropic]\n", [400, "malformed_toml"]],
      ["[[provider.anthropic]]\nvision = true\n", [422, "input_invalid"]],
      ['[[capabilities.provider.anthropic]]\nmodel_match = "*"\n', [422, "input_invalid"]],
      ['[[provider.anthropic]]\nmodel_match = "*"\nvison = true\n', [422, "input_invalid"]],
      [`# ${"x".repeat(70_000)}`, [413, "body_too_large"]],
    ] as const) {
      expect(await code(await put(toml))).toEqual(expected);
    }
    expect(await of(OPUS)).toMatchObject(hidden);
    expect((await clear()).status).toBe(204);
    expect(await of(OPUS)).toMatchObject({ defer_loading: true });
    expect((await clear()).status).toBe(204);
  });

  it("names the place of a fault in TOML", async () => {
    const problem = await (await put('[provider_family]\na = "b\n')).json<Record<string, unknown>>();
    expect(problem).toMatchObject({
      status: 400,
      line: 2,
      detail: expect.stringMatching(/line 2, column \d+/),
    });
  });

  it("belong to each tenant, and changing them needs the scope admin", async () => {
    const [reader, other] = [await keyOf("acme", "invoke"), await keyOf("zoo", "admin", "invoke")];
    expect(await code(await put(OUTAGE, reader))).toEqual([403, "forbidden"]);
    expect(await code(await clear(reader))).toEqual([403, "forbidden"]);
    expect((await put(OUTAGE, other)).status).toBe(200);
    expect(await of(OPUS, other)).toMatchObject({ defer_loading: false });
    expect(await of(OPUS, reader)).toMatchObject({ defer_loading: true });
    const { results } = await keyed.env.DB.prepare("SELECT tenant FROM capability_rules").all();
    expect(results).toEqual([{ tenant: "zoo" }]);
  });

  it("are seen by another isolate immediately, and a change of them within 30 s", async () => {
    const key = await keyOf("far", "admin", "invoke");
    await put(OUTAGE, key);
    const elsewhere = new Client({ HULL_ADMIN_KEY: ADMIN });
    expect(await of(OPUS, key, elsewhere)).toMatchObject({ defer_loading: false });
    await clear(key);
    const now = Date.now();
    const clock = vi.spyOn(Date, "now");
    clock.mockReturnValue(now + 6000);
    expect(await of(OPUS, key, elsewhere)).toMatchObject({ defer_loading: false });
    expect(await of(OPUS, key, elsewhere)).toMatchObject({ defer_loading: true });
    await put(OUTAGE, key);
    clock.mockReturnValue(now + 37_000);
    expect(await of(OPUS, key, elsewhere)).toMatchObject({ defer_loading: false });
  });
});

describe("configured providers", () => {
  const skill = (name: string, fields: string) =>
    `---\nname: ${name}\ndescription: d\n${fields}\n---\nAnswer.\n`;
  const FILE = '[providers.filed]\nbase_url = "https://filed.example"\nauth_env = "FILED_KEY"\n';

  beforeAll(async () => {
    const providers = { names: ["my_proxy", "filed"], model_required: [], key_variables: [] };
    const text = (provider: string) => skill(provider, `mode: llm\nprovider: ${provider}\nmodel: m`);
    await plain.publish(
      {
        proxied: text("my_proxy"),
        filed: text("filed"),
        env: skill("env", "run: [env]\ntool_env: [MY_PROXY_API_KEY, FILED_KEY, ALIAS, OPEN]"),
      },
      {},
      providers,
    );
  });

  const run = (slug: string, client: Client) =>
    client.fetch(`/skills/${slug}`, { method: "POST", body: "hi" });
  /** Answers as OpenAI would, with the key that it was sent. */
  function provider() {
    return vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
      const content = `took ${new Request(input, init).headers.get("authorization")}`;
      return Response.json({ choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }] });
    });
  }

  it("of hull.toml carry out skills; their key goes to them and nowhere else", async () => {
    const fetched = provider();
    const response = await run("my-proxy", own);
    expect([response.status, await response.text()]).toEqual([200, "took Bearer [redacted]"]);
    const [[url, init] = []] = fetched.mock.calls;
    expect([url, init?.headers]).toEqual([
      "https://llm.example/v1/chat/completions",
      expect.objectContaining({ authorization: `Bearer ${KEY}`, "x-team": "team-canary" }),
    ]);
  });

  it("have keys that no conversation shows, not even in its metadata", async () => {
    const made = await own.post("/v1/conversations", { metadata: { said: KEY } });
    const { id } = await made.clone().json<{ id: string }>();
    const changed = await own.post(`/v1/conversations/${id}`, { metadata: { said: `${KEY}!` } });
    const texts = [made, changed, await own.fetch(`/v1/conversations/${id}`)].map((answer) => answer.json());
    expect(await Promise.all(texts)).toMatchObject(
      ["[redacted]", "[redacted]!", "[redacted]!"].map((text) => ({ metadata: { said: text } })),
    );
  });

  it("may be named by skills that are uploaded here, and their keys are withheld from these", async () => {
    const text = skill("up", "mode: llm\nprovider: my_proxy\nmodel: m\ntool_env: [MY_PROXY_API_KEY]");
    const body = packTar([entry("SKILL.md", new TextEncoder().encode(text))]);
    const upload = (client: Client) => client.fetch("/_hull/skills/up", { method: "PUT", body });
    const refused = await upload(plain);
    expect([refused.status, await refused.text()]).toEqual([
      422,
      expect.stringContaining("must be one of: anthropic"),
    ]);
    const taken = await upload(own);
    const { warnings } = await taken.json<{ warnings: { code: string }[] }>();
    expect([taken.status, warnings.map((warning) => warning.code)]).toEqual([201, ["provider_key_withheld"]]);
  });

  it("are 503 if this deployment lacks them or their key", async () => {
    expect(await code(await run("my-proxy", plain))).toEqual([503, "provider_misconfigured"]);
    const keyless = await run("my-proxy", new Client({ ...LOCAL, HULL_LLM }));
    expect(await keyless.json()).toMatchObject({
      code: "provider_not_configured",
      variable: "MY_PROXY_API_KEY",
      provider: "my_proxy",
    });
  });

  it.each([
    ["text", FILE],
    ["a place in KV", "kv:models/providers"],
  ])("of a provider file given as %s count below hull.toml", async (_what, HULL_PROVIDERS_CONFIG) => {
    await plain.env.SKILLS.put("models/providers", FILE);
    const client = new Client({ ...LOCAL, HULL_LLM, HULL_PROVIDERS_CONFIG, FILED_KEY: KEY });
    const fetched = provider();
    expect(await (await run("filed", client)).text()).toBe("took Bearer [redacted]");
    expect(fetched.mock.calls[0]?.[0]).toBe("https://filed.example/v1/chat/completions");
    expect(await get("resolve?model=my-fast", client)).toMatchObject({ provider: "my_proxy" });
  });

  it.each([
    ["kv:none", "no key none"],
    ["[providers", "line 1"],
    ["[llm.providers.x]\n", "Unrecognized key"],
  ])("a provider file %j is the operator's fault", async (HULL_PROVIDERS_CONFIG, words) => {
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    const response = await new Client({ ...LOCAL, HULL_PROVIDERS_CONFIG }).fetch("/llm/models");
    expect(response.status).toBe(500);
    expect(JSON.stringify(log.mock.calls)).toContain(words);
  });

  it("keep their keys from every process under any name, and the runner knows the keys", async () => {
    const runner = new FakeRunner();
    vi.spyOn(globalThis, "fetch").mockImplementation(runner.fetch);
    const secret = { HULL_RUNNER_URL: RUNNER_URL, HULL_RUNNER_SECRET: "s".repeat(32) };
    const variables = { MY_PROXY_API_KEY: KEY, ALIAS: KEY, OPEN: "free", FILED_KEY: "filed-canary" };
    const client = new Client({ ...LOCAL, ...secret, ...variables, HULL_LLM, HULL_PROVIDERS_CONFIG: FILE });
    expect((await run("env", client)).status).toBe(200);
    const [execution] = runner.executions.values();
    expect(execution?.spec).toMatchObject({
      env: { OPEN: "free" },
      withheld: ["FILED_KEY", "MY_PROXY_API_KEY"],
    });
  });
});
