/**
 * Every code of docs/http.md is provoked over the HTTP surface, and every route answers: the
 * document, the headers, the log line, and nothing of the secrets. Runner, provider and upstream are stand-ins; the tests
 * of test/e2e provoke most codes by real ones.
 */
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { anthropicAnswer } from "../support/fake-answers.ts";
import type { FakeTurn } from "../support/fake-turn.ts";
import { makeZip } from "../support/zip.ts";
import { callFaults } from "./call-faults.ts";
import { daemonFaults } from "./daemon-faults.ts";
import { DOCUMENTED, NO_WAIT } from "./documented-codes.ts";
import { type FakeExecution, FakeRunner, RUNNER_URL, refusal } from "./fake-runner.ts";
import { withFaults } from "./faulty-storage.ts";
import { Client, mockSkill } from "./served.ts";
import { sessionFaults } from "./session-faults.ts";
import { taskFaults } from "./task-faults.ts";
import { workflowFaults } from "./workflow-faults.ts";

const CANARY = "canary-7b1f0c55";
const ADMIN = `${CANARY}-admin-key`;
/** What a provider or a failed call may quote. */
const QUOTED = `sk-${CANARY}`;
const SECRETS = {
  ANTHROPIC_API_KEY: QUOTED,
  XAI_API_KEY: `xai-${CANARY}`,
  UPSTREAM_KEY: `${CANARY}-upstream`,
  WEBHOOK_SECRET: `${CANARY}-webhook`,
  HULL_RUNNER_URL: RUNNER_URL,
  HULL_RUNNER_SECRET: `${CANARY}-${"s".repeat(32)}`,
};
const local = new Client({ HULL_ENV: "local", ...SECRETS }, { documents: true });
const replaying = new Client({ HULL_ENV: "local", ...SECRETS, HULL_LLM_PROXY: "http://127.0.0.1:9" });
const limited = new Client({ HULL_ENV: "local", ...SECRETS, HULL_CONFIG: '{"policy":{"tools":[]}}' });
const strict = new Client({
  HULL_ENV: "local",
  ...SECRETS,
  HULL_CONFIG: '{"signatures":{"require":"all"}}',
});
const SERVERS = { crm: { url: "https://mcp.example/mcp", headers: {}, timeout_ms: 1000 } };
const serving = new Client({
  HULL_ENV: "local",
  ...SECRETS,
  HULL_SECRET_KEY: "s".repeat(32),
  HULL_CONFIG: JSON.stringify({ mcp: { allowed_hosts: ["mcp.example"], servers: SERVERS } }),
});
const keyed = new Client({ HULL_ADMIN_KEY: ADMIN, ...SECRETS });

const skill = (name: string, fields: string): string =>
  `---\nname: ${name}\ndescription: The ${name} skill\n${fields}\n---\nAnswer.\n`;
const TOOL = "tools: [{name: look, description: Looks., command: [look]}]\nmax_tool_rounds: 1";
const UP = "proxy: https://up.example/x?key=${UPSTREAM_KEY}";

beforeAll(() =>
  local.publish(
    {
      mock: mockSkill("mock"),
      get: mockSkill("get", "method: GET\nroute: /own/get\n"),
      single: mockSkill("single", "concurrency: 1\n"),
      small: mockSkill("small", "max_input_bytes: 10\n"),
      shaped: mockSkill("shaped", "input_schema: {type: object, required: [n]}\n"),
      model: skill("model", "mode: llm"),
      tools: skill("tools", TOOL),
      brief: skill("brief", "mode: llm\nmax_output_bytes: 5"),
      hasty: skill("hasty", "mode: llm\ntimeout_ms: 60"),
      due: skill("due", "mode: llm\ndeadline_ms: 60"),
      blind: skill("blind", "mode: llm\nprovider: xai\nmodel: grok-3\ninput: file"),
      keyless: skill("keyless", "mode: llm\nprovider: openai"),
      modelless: skill("modelless", "mode: llm\nprovider: local\nmodel: x"),
      script: skill("script", "run: [work]"),
      json: skill("json", "run: [work]\noutput: json"),
      file: skill("file", "run: [work]\ninput: file\noutput: file"),
      page: skill("page", "serve: SKILL.md"),
      up: skill("up", `${UP}\ntimeout_ms: 60`),
      unset: skill("unset", "proxy: https://up.example/${NOT_SET}"),
    },
    {},
  ),
);

let runner: FakeRunner;
let upstream: (request: Request) => Response | Promise<Response>;
let provider: (request: Request) => Response | Promise<Response>;
let lines: string[];
beforeEach(() => {
  runner = new FakeRunner();
  upstream = () => new Response("up");
  provider = says({ text: "hello" });
  lines = [];
  vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
    const request = new Request(input, init);
    if (request.url.startsWith(RUNNER_URL)) return runner.fetch(request);
    return request.url.startsWith("https://up.example") ? upstream(request) : provider(request);
  });
  for (const level of ["log", "error"] as const) {
    vi.spyOn(console, level).mockImplementation((line: string) => lines.push(line));
  }
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const ASKED = {
  path: "/",
  headers: {},
  body: { model: "m", messages: [] },
  text: "",
  at: 0,
  left: Promise.resolve(false),
};
const says = (turn: FakeTurn) => () => Response.json(anthropicAnswer(turn, ASKED).whole);
const answers =
  (status: number, headers: Record<string, string> = {}) =>
  () =>
    Response.json({ type: "error", error: { type: "some_error", message: QUOTED } }, { status, headers });
const refuses = (): never => {
  throw new TypeError(`connect ECONNREFUSED https://up.example/x?key=${SECRETS.UPSTREAM_KEY} ${QUOTED}`);
};
/** Says nothing until the caller leaves. */
const hangs = ({ signal }: Request): Promise<Response> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

let asked = 0;
/** A request with an id of its own, by which its log line is found. */
function ask(path: string, init: RequestInit = {}, client = local): Promise<Response> {
  asked += 1;
  const headers = new Headers(init.headers);
  headers.set("x-request-id", `sweep-${asked}-x`);
  return client.fetch(path, { ...init, headers });
}
const post = (path: string, body: BodyInit = "hi", headers: Record<string, string> = {}): Promise<Response> =>
  ask(path, { method: "POST", body, headers: { "content-type": "text/plain", ...headers } });
const JSON_BODY = { "content-type": "application/json" };
const asking = (client: Client) => (path: string, body: object) =>
  ask(path, { method: "POST", body: JSON.stringify(body), headers: JSON_BODY }, client);
const admin = (path: string, init: RequestInit = {}, key = ADMIN): Promise<Response> =>
  ask(path, { ...init, headers: { ...JSON_BODY, authorization: `Bearer ${key}` } }, keyed);

async function upload(slug: string, text: string): Promise<Response> {
  const body = await makeZip([{ name: `${slug}/SKILL.md`, content: text }]);
  return ask(`/_hull/skills/${slug}`, {
    method: "PUT",
    body,
    headers: { "content-type": "application/zip" },
  });
}

/** A script whose process ends like this. */
function ends(end: NonNullable<FakeExecution["end"]>, stdout = "out", slug = "script"): Promise<Response> {
  runner.behave = (execution) => {
    execution.stdout.push(stdout);
    Object.assign(execution, { ended: true, end });
  };
  return post(`/skills/${slug}`);
}
function refusedBy(status: number, code: string): Promise<Response> {
  runner.instead = () => refusal(status, code);
  return post("/skills/script");
}
const from = (given: typeof provider, slug = "model"): Promise<Response> => {
  provider = given;
  return post(`/skills/${slug}`);
};
const above = (given: typeof upstream): Promise<Response> => {
  upstream = given;
  return post("/skills/up");
};

/** A key of a tenant, used and revoked, so that no other case meets a deployment with keys. */
async function withKey(scopes: string[], use: (key: string) => Promise<Response>): Promise<Response> {
  const body = JSON.stringify({ tenant: "acme", scopes });
  const { id, key } = await (await admin("/admin/keys", { method: "POST", body })).json<
    Record<"id" | "key", string>
  >();
  const response = await use(key);
  await admin(`/admin/keys/${id}`, { method: "DELETE" });
  return response;
}

const PROVOKED: Record<string, () => Promise<Response>> = {
  bad_request: () => ask("/skills?limit=0"),
  malformed_json: () => post("/skills/mock", '{"input": ', JSON_BODY),
  malformed_multipart: () => post("/skills/mock", "x", { "content-type": "multipart/form-data" }),
  bad_encoding: () => post("/skills/mock", Uint8Array.of(0xff)),
  unauthenticated: () => ask("/skills", {}, keyed),
  host_not_allowed: () => ask("http://evil.example/skills", { headers: { host: "evil.example" } }),
  origin_not_allowed: () => post("/skills/mock", "hi", { origin: "https://evil.example" }),
  form_not_trusted: async () => {
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const signIn = { method: "POST", body: `key=${ADMIN}`, headers: form };
    const cookie = (await ask("/console/sign-in", signIn, keyed)).headers.get("set-cookie")?.split(";")[0];
    return ask("/skills/mock", { method: "POST", body: "hi", headers: { cookie: cookie ?? "" } }, keyed);
  },
  skill_not_trusted: () => asking(strict)("/skills/mock", { input: "hi" }),
  forbidden: () => withKey(["invoke"], (key) => admin("/admin/keys", {}, key)),
  not_found: () => ask("/nowhere"),
  skill_not_found: () => ask("/skills/mocc"),
  mcp_server_not_found: () => admin("/admin/mcp/none/login", { method: "DELETE" }),
  mcp_login_failed: () =>
    asking(serving)("/admin/mcp/crm/login", { redirect_uri: "http://127.0.0.1:8976/callback" }),
  key_not_found: () => admin("/admin/keys/key_none", { method: "DELETE" }),
  file_not_found: () => ask("/files/none"),
  execution_not_found: () => ask("/executions/none"),
  method_not_allowed: () => ask("/skills", { method: "DELETE" }),
  not_acceptable: () => post("/skills/file?stream=1"),
  request_timeout: () => {
    const real = setTimeout;
    vi.spyOn(globalThis, "setTimeout").mockImplementation((work, ms) => real(work, ms === 30_000 ? 5 : ms));
    return post("/skills/mock", new ReadableStream());
  },
  ...callFaults(asking(local), asking(replaying), asking(limited)),
  ...sessionFaults(ask),
  ...daemonFaults(ask, "WEBHOOK_SECRET"),
  ...taskFaults(ask),
  ...workflowFaults(ask),
  execution_conflict: () => refusedBy(409, "execution_conflict"),
  body_too_large: () => post("/skills/small", "12345678901"),
  unsupported_media_type: () => post("/skills/mock", "x", { "content-type": "image/png" }),
  range_not_satisfiable: () => ask("/skills/page", { headers: { range: "bytes=9999-" } }),
  input_required: () => post("/skills/mock", ""),
  input_invalid: () => post("/skills/mock", '{"inputt": 1}', JSON_BODY),
  file_required: () => post("/skills/file", ""),
  input_schema_mismatch: () => post("/skills/shaped", '{"input": {}}', JSON_BODY),
  idempotency_key_reused: async () => {
    await post("/skills/mock", "one", { "idempotency-key": "sweep" });
    return post("/skills/mock", "two", { "idempotency-key": "sweep" });
  },
  bundle_invalid: () => upload("broken", skill("broken", "mode: lmm")),
  catalog_moved: () =>
    admin("/_hull/catalog", {
      method: "POST",
      body: JSON.stringify({ rollback: true, base: "0".repeat(64) }),
    }),
  slug_taken: () => upload("mock", mockSkill("mock")),
  malformed_toml: () => admin("/llm/capabilities", { method: "PUT", body: "[[provider" }),
  model_not_resolved: () => ask("/llm/cost?model=o1&provider=none"),
  capability_missing: () => post("/skills/blind", Uint8Array.of(0x89, 0x50), { "content-type": "image/png" }),
  provider_not_found: () => ask("/llm/providers/none"),
  budget_not_found: () => admin("/budgets/skill:none"),
  budget_exceeded: async () => {
    const limit = JSON.stringify({ window: "day", max_output_tokens: 1 });
    await admin("/budgets/skill:mock", { method: "PUT", body: limit });
    const response = await admin("/skills/mock", { method: "POST", body: '"hi"' });
    await admin("/budgets/skill:mock", { method: "DELETE" });
    return response;
  },
  price_unknown: () =>
    post(
      "/llm/call",
      JSON.stringify({
        prompt: "hi",
        options: { provider: "openai", model: "foo1", budget: { max_cost_usd: 1 }, mock: [{ text: "hi" }] },
      }),
      JSON_BODY,
    ),
  rate_limited: async () => {
    const rate = JSON.stringify({ rate_limit: { requests: 1, window_s: 600 } });
    const limited = new Client({ HULL_PUBLIC: "1", HULL_CONFIG: rate, ...SECRETS });
    await ask("/skills", {}, limited);
    return ask("/skills", {}, limited);
  },
  concurrency_limited: async () => {
    const held = local.env.LEDGER.get(local.env.LEDGER.idFromName("skill:single"));
    await held.takeSlot("other", 1, 60_000);
    return post("/skills/single");
  },
  provider_rate_limited: () => from(answers(429, { "retry-after": "120" })),
  script_failed: () => ends({ exit_code: 3 }),
  script_killed: () => ends({ cause: "signal", exit_code: null, signal: "SIGKILL" }),
  out_of_memory: () => ends({ cause: "out_of_memory", exit_code: null }),
  command_not_found: () => ends({ cause: "command_not_found", exit_code: null }),
  spawn_failed: () => ends({ cause: "spawn_failed", exit_code: null, reason: "EACCES" }),
  output_invalid_json: () => ends({}, "no json", "json"),
  output_missing: () => {
    runner.behave = (execution) => Object.assign(execution, { ended: true });
    return post("/skills/file");
  },
  output_too_large: () => ends({ cause: "output_too_large", exit_code: null }),
  internal: () => {
    const damaged = new Client({ HULL_ENV: "local", ...SECRETS });
    damaged.env.SKILLS = new Proxy(damaged.env.SKILLS, {
      get: (target, name) => (key: string, options: object) =>
        name === "get" && key.startsWith("skill:")
          ? null
          : Reflect.get(target, name).call(target, key, options),
    });
    return ask("/skills/mock", { method: "POST", body: "hi" }, damaged);
  },
  provider_auth_failed: () => from(answers(401)),
  provider_rejected_request: () => from(answers(400)),
  provider_error: () => from(answers(500, { "retry-after": "120" })),
  provider_unreachable: () => from(refuses),
  provider_redirect_refused: () => from(answers(302, { location: `https://${CANARY}.example/` })),
  provider_bad_response: () => from(() => new Response(`${QUOTED} is no JSON`)),
  provider_empty_answer: () => from(says({ text: [] })),
  model_refused: () => from(says({ text: [], stop: "refusal" })),
  tool_rounds_exhausted: () => from(says({ tool_calls: [{ name: "look", arguments: {} }] }), "tools"),
  runner_protocol_error: () => {
    runner.instead = () => new Response(Uint8Array.of(99, 0, 0, 0, 0));
    return post("/skills/script");
  },
  execution_lost: () => ends({ cause: "lost", exit_code: null }),
  upstream_unreachable: () => above(refuses),
  upstream_redirect_refused: () => above(answers(302, { location: "https://elsewhere.example/" })),
  upstream_body_truncated: () =>
    above(
      () => new Response(new ReadableStream({ pull: (controller) => controller.error(new TypeError()) })),
    ),
  proxy_not_configured: () => post("/skills/unset"),
  provider_not_configured: () => post("/skills/keyless"),
  provider_misconfigured: () => {
    const wrong = new Client({ HULL_ENV: "local", ...SECRETS, ANTHROPIC_BASE_URL: "ftp://x" });
    return ask("/skills/model", { method: "POST", body: "hi" }, wrong);
  },
  runner_unavailable: () => {
    runner.instead = refuses;
    return post("/skills/script");
  },
  runner_busy: () => refusedBy(503, "runner_busy"),
  runner_draining: () => refusedBy(503, "runner_draining"),
  setting_unreadable: () =>
    ask(
      "/llm/models",
      {},
      new Client({ HULL_ENV: "local", ...SECRETS, HULL_PROVIDERS_CONFIG: "[providers" }),
    ),
  auth_not_configured: () => ask("/skills", {}, new Client(SECRETS)),
  catalog_missing: () => {
    const empty = new Client({ HULL_ENV: "local", ...SECRETS });
    empty.env.SKILLS = new Proxy(empty.env.SKILLS, { get: () => async () => null });
    return ask("/skills", {}, empty);
  },
  catalog_unreadable: () => {
    const later = new Client({ HULL_ENV: "local", ...SECRETS });
    later.env.SKILLS = new Proxy(later.env.SKILLS, { get: () => async () => ({ format: 2 }) });
    return ask("/skills", {}, later);
  },
  storage_unavailable: async () => {
    const read = () => ask(`/files/file_01${"0".repeat(30)}`);
    return (await withFaults(local.env, { binding: "FILES", method: "head" }, 2, read)).answer;
  },
  script_timeout: () => ends({ cause: "timed_out", exit_code: null }),
  provider_timeout: () => from(hangs, "hasty"),
  upstream_timeout: () => above(hangs),
  deadline_exceeded: () => from(hangs, "due"),
};

/** What every answer carries; and its one log line. */
function expectWhole(response: Response, text: string): Record<string, unknown> {
  const { headers } = response;
  const id = headers.get("x-request-id") ?? "";
  expect(id).toMatch(/^sweep-\d+-x$/);
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("server-timing")).toMatch(/^total;dur=\d+/);
  expect(headers.get("x-hull-duration-ms")).toMatch(/^\d+$/);
  expect(`${text} ${JSON.stringify([...headers])} ${lines.join("\n")}`).not.toContain("canary");
  const parsed = lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  const own = parsed.filter((line) => line.event === "request" && line.request_id === id);
  expect(own).toHaveLength(1);
  expect(own[0]).toMatchObject({ status: response.status, duration_ms: expect.any(Number) });
  return own[0];
}

describe("S66, S68, S118: an answer of every code", () => {
  it("each documented code is provoked", () => {
    expect(DOCUMENTED.length).toBeGreaterThan(60);
    expect(Object.keys(PROVOKED).sort()).toEqual(DOCUMENTED.map(({ code }) => code).sort());
  });

  it.each(DOCUMENTED)("$status $code", async ({ status, code, members }) => {
    const provoke = PROVOKED[code] ?? (() => expect.fail(`nothing provokes ${code}`));
    const response = await provoke();
    const text = await response.text();
    expect([response.status, response.headers.get("content-type")]).toEqual([
      status,
      "application/problem+json",
    ]);
    expect(response.headers.get("cache-control")).toBe("no-store");
    const line = expectWhole(response, text);
    expect(line).toMatchObject({ code });
    const ofSkill = String(line.path).startsWith("/skills") && [500, 502, 504].includes(status);
    if (response.headers.has("x-hull-skill") || ofSkill) {
      expect(line).toMatchObject({ skill: expect.any(String), digest: expect.any(String) });
    }
    const { execution_id, operation } = line;
    if (operation !== undefined || (ofSkill && execution_id !== undefined)) {
      expect(response.headers.get("x-hull-execution-id")).toBe(execution_id);
      const named = ofSkill ? `${line.skill}@${line.digest}` : null;
      expect(response.headers.get("x-hull-skill")).toBe(named);
    }
    const id = response.headers.get("x-request-id");
    const problem = JSON.parse(text);
    expect(problem).toMatchObject({
      type: `urn:hull:problem:${code}`,
      title: expect.any(String),
      status,
      detail: expect.any(String),
      code,
      request_id: id,
      instance: `urn:hull:request:${id}`,
      ...Object.fromEntries(members.map((name) => [name, expect.anything()])),
    });
    const waits = (status === 429 || status === 503) && !NO_WAIT.includes(code);
    if (waits) expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
    if (NO_WAIT.includes(code)) expect(response.headers.get("retry-after")).toBeNull();
  });
});

it("an llm skill answers with as many bytes as its manifest allows", async () => {
  expect(await (await from(says({ text: "hello" }), "brief")).text()).toBe("hello");
  const refused = await from(says({ text: "héllo" }), "brief");
  expect(await refused.json()).toMatchObject({ code: "output_too_large", limit: 5 });
});

it("a run that fails over MCP is named, and fails in the same way for its key", async () => {
  runner.behave = (execution) => Object.assign(execution, { ended: true, end: { exit_code: 3 } });
  const params = { name: "script", arguments: { input: "x" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const headers = { ...JSON_BODY, accept: "application/json, text/event-stream" };
  for (const [key, replayed] of [
    [{}, undefined],
    [{ "idempotency-key": "mcp-fails" }, undefined],
    [{ "idempotency-key": "mcp-fails" }, "1"],
  ] as const) {
    const answer = await ask("/mcp", { method: "POST", body, headers: { ...headers, ...key } });
    const { result } = await answer.json<{ result: { isError: boolean; _meta: Record<string, unknown> } }>();
    expect(result).toMatchObject({
      isError: true,
      _meta: { problem: { code: "script_failed", exit_code: 3 } },
    });
    expect(result._meta["x-hull-execution-id"]).toMatch(/^ex_/);
    expect(result._meta["x-hull-replayed"]).toBe(replayed);
  }
});

describe("S66, S118: every route", () => {
  it("has the headers and its log line, whatever it answers", async () => {
    const { paths } = await (await ask("/openapi.json")).json<{ paths: Record<string, object> }>();
    runner.behave = (execution) => Object.assign(execution, { ended: true });
    let count = 0;
    for (const [path, item] of Object.entries(paths)) {
      for (const method of [...Object.keys(item), "options", "head", "purge"]) {
        const url = path.replace("{slug}", "mock").replace(/\{\w+\}/g, "x");
        const body = ["post", "put"].includes(method) ? { body: "hi" } : {};
        const response = await ask(url, { method: method.toUpperCase(), ...body });
        expectWhole(response, await response.text());
        count += 1;
      }
    }
    expect(count).toBeGreaterThan(80);
  });

  it("a run of each mode is logged with skill, digest and usage, whole and as events", async () => {
    const usage = { input_tokens: 10, output_tokens: 5 };
    for (const [slug, more] of [
      ["script", {}],
      ["model", { usage, rounds: 1, tool_calls: 0 }],
      ["page", {}],
      ["up", {}],
    ] as const) {
      for (const path of [`/skills/${slug}`, ...(slug === "up" ? [] : [`/skills/${slug}?stream=1`])]) {
        const response = await post(path);
        expect([path, response.status]).toEqual([path, 200]);
        const line = expectWhole(response, await response.text());
        const named = `${line.skill}@${line.digest}`;
        expect([path, named]).toEqual([path, response.headers.get("x-hull-skill")]);
        expect(line).toMatchObject({ execution_id: response.headers.get("x-hull-execution-id"), ...more });
      }
    }
  });
});
