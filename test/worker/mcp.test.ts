/**
 * `POST /mcp`: what its revisions require of a server, and what it shows to which caller. The official clients are in
 * test/e2e.
 */
import { beforeAll, describe, expect, it, vi } from "vitest";
import hull from "../../package.json";
import { progressOf } from "../../src/http/mcp/progress.ts";
import { Redactor } from "../../src/redact.ts";
import { HULL_VERSION } from "../../src/tool/mcp/versions.ts";
import { Client, mockSkill } from "./served.ts";
import { ADMIN, FOLDER, skill, tenant } from "./tenant.ts";

const client = new Client({ HULL_ENV: "local", HULL_CONFIG: '{"cors_origins": ["https://own.example"]}' });
const MODERN = "2026-07-28";

beforeAll(async () => {
  await client.publish({ cat: mockSkill("cat"), dog: mockSkill("dog"), "own-cat": mockSkill("own-cat") });
});

interface Rpc {
  id?: unknown;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: Record<string, unknown> };
}
type Headers = Record<string, string>;

const JSON_ONLY = { "content-type": "application/json", accept: "application/json, text/event-stream" };

function send(body: unknown, headers: Headers = {}, from = client): Promise<Response> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return from.fetch("/mcp", { method: "POST", headers: { ...JSON_ONLY, ...headers }, body: text });
}
const rpc = (method: string, params: object = {}) => ({ jsonrpc: "2.0", id: 7, method, params });
const META = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientCapabilities": {},
};
const modern = (method: string, params: object = {}) => rpc(method, { ...params, _meta: META });
const named = (method: string, name?: string, version = MODERN): Headers => ({
  "mcp-protocol-version": version,
  "mcp-method": method,
  ...(name === undefined ? {} : { "mcp-name": name }),
});
const read = async (response: Response) => ({ status: response.status, ...(await response.json<Rpc>()) });

describe("every revision", () => {
  it("a client that names no version opens nothing", async () => {
    for (const params of [{}, { protocolVersion: 1 }]) {
      const refused = await send(rpc("initialize", { ...params, capabilities: {} }));
      expect(refused.headers.get("mcp-session-id")).toBeNull();
      expect(await read(refused)).toMatchObject({ id: 7, error: { code: -32602 } });
    }
  });

  it.each([
    ["2025-11-25", "2025-11-25"],
    ["2025-06-18", "2025-06-18"],
    ["2025-03-26", "2025-03-26"],
    ["2024-11-05", "2024-11-05"],
    ["2024-10-07", "2025-11-25"],
    ["2099-01-01", "2025-11-25"],
  ])("a client that opens with %s gets the version %s", async (protocolVersion, spoken) => {
    const opened = await send(rpc("initialize", { protocolVersion, capabilities: {} }));
    expect(opened.headers.get("mcp-session-id")).toMatch(/^[0-9a-f-]{36}$/);
    expect(await read(opened)).toMatchObject({
      id: 7,
      result: { protocolVersion: spoken, capabilities: { tools: {} }, serverInfo: { version: HULL_VERSION } },
    });
  });

  it("has the version of the package", () => expect(HULL_VERSION).toBe(hull.version));

  it.each<[string, unknown, Headers, number, number | null]>([
    ["a ping", rpc("ping"), {}, 200, null],
    ["a ping of a version", rpc("ping"), { "mcp-protocol-version": "2025-06-18" }, 200, null],
    ["an unknown version", rpc("ping"), { "mcp-protocol-version": "2031-01-01" }, 400, -32022],
    ["no JSON", "{", {}, 400, -32700],
    ["no object", "7", {}, 400, -32600],
    ["another protocol", { id: 7, method: "ping" }, {}, 400, -32600],
    ["no method", { jsonrpc: "2.0", id: 7 }, {}, 400, -32600],
    ["an odd id", { jsonrpc: "2.0", id: null, method: "ping" }, {}, 400, -32600],
    [
      "an id that no number holds",
      '{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}',
      {},
      400,
      -32600,
    ],
    ["parameters in a list", { ...rpc("ping"), params: [] }, {}, 400, -32600],
    ["an unknown method", rpc("logging/setLevel", { level: "info" }), {}, 200, -32601],
    ["a call without a name", rpc("tools/call"), {}, 200, -32602],
    ["a call with a list", rpc("tools/call", { name: "cat", arguments: [] }), {}, 200, -32602],
    ["an unknown tool", rpc("tools/call", { name: "none" }), {}, 200, -32602],
    ["a slug as a tool", rpc("tools/call", { name: "own-cat" }), {}, 200, -32602],
    ["a strange cursor", rpc("tools/list", { cursor: "?" }), {}, 200, -32602],
    ["an unknown prompt", rpc("prompts/get", { name: "none" }), {}, 200, -32602],
    ["an unknown argument", rpc("prompts/get", { name: "cat", arguments: { x: "1" } }), {}, 200, -32602],
    ["an unknown resource", rpc("resources/read", { uri: "skill://cat/../x" }), {}, 200, -32002],
    ["a discovery of old", rpc("server/discover"), {}, 200, -32601],
    ["a modern header alone", rpc("tools/list"), { "mcp-protocol-version": MODERN }, 400, -32602],
    ["a modern request", modern("tools/list"), named("tools/list"), 200, null],
    ["a modern call", modern("tools/call", { name: "cat" }), named("tools/call", "cat"), 200, null],
    [
      "its name in Base64",
      modern("tools/call", { name: "cat" }),
      named("tools/call", "=?base64?Y2F0?="),
      200,
      null,
    ],
    ["another name", modern("tools/call", { name: "cat" }), named("tools/call", "dog"), 400, -32020],
    [
      "a broken name",
      modern("tools/call", { name: "cat" }),
      named("tools/call", "=?base64?%?="),
      400,
      -32020,
    ],
    ["no name", modern("tools/call", { name: "cat" }), named("tools/call"), 400, -32020],
    ["another method", modern("tools/list"), named("prompts/list"), 400, -32020],
    ["no headers", modern("tools/list"), {}, 400, -32020],
    ["another header", modern("tools/list"), named("tools/list", undefined, "2025-11-25"), 400, -32020],
    ["a modern ping", modern("ping"), named("ping"), 404, -32601],
    [
      "a modern unknown resource",
      modern("resources/read", { uri: "skill://x/y" }),
      named("resources/read", "skill://x/y"),
      200,
      -32602,
    ],
  ])("%s", async (_, body, headers, status, code) => {
    const answer = await read(await send(body, headers));
    expect([answer.status, answer.error?.code ?? null]).toEqual([status, code]);
  });

  it("an unsupported version is answered with the supported ones", async () => {
    const version = "2031-01-01";
    const meta = { ...META, "io.modelcontextprotocol/protocolVersion": version };
    const { error } = await read(
      await send(rpc("tools/list", { _meta: meta }), named("tools/list", undefined, version)),
    );
    expect(error).toMatchObject({ code: -32022, data: { requested: version } });
    expect(error?.data?.supported).toEqual([MODERN, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]);
    const bare = { "io.modelcontextprotocol/protocolVersion": MODERN };
    const lacking = await read(await send(rpc("tools/list", { _meta: bare }), named("tools/list")));
    expect([lacking.status, lacking.error?.code]).toEqual([400, -32602]);
  });

  it("a modern result says what it is, who made it, and how long it holds", async () => {
    const { result } = await read(await send(modern("server/discover"), named("server/discover")));
    expect(result).toMatchObject({
      resultType: "complete",
      cacheScope: "private",
      capabilities: { tools: {} },
      _meta: { "io.modelcontextprotocol/serverInfo": { title: "Hull" } },
    });
    expect(result?.supportedVersions).toContain("2025-11-25");
    expect(result?.ttlMs).toBeGreaterThan(0);
    const called = await read(
      await send(
        modern("tools/call", { name: "cat", arguments: { input: "x" } }),
        named("tools/call", "cat"),
      ),
    );
    expect(called.result).toMatchObject({ resultType: "complete", content: [{ type: "text" }] });
    expect(called.result).not.toHaveProperty("ttlMs");
    const prompt = await read(
      await send(modern("prompts/get", { name: "cat" }), named("prompts/get", "cat")),
    );
    expect(prompt.result).toMatchObject({ resultType: "complete", messages: [{ role: "user" }] });
    expect(prompt.result).not.toHaveProperty("ttlMs");
  });

  it("a subscription is confirmed for no notification, and ends", async () => {
    const listen = "subscriptions/listen";
    const response = await send(modern(listen, { notifications: { toolsListChanged: true } }), named(listen));
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const events = (await response.text()).split("\n\n").filter((event) => event !== "");
    const messages = events.map((event) => JSON.parse(event.replace(/^event: message\ndata: /, "")));
    expect(messages).toMatchObject([
      { method: "notifications/subscriptions/acknowledged", params: { notifications: {} } },
      { id: 7, result: { resultType: "complete" } },
    ]);
  });

  it.each<[string, unknown, Headers, number]>([
    ["a notification", { jsonrpc: "2.0", method: "notifications/initialized" }, {}, 202],
    ["a response", { jsonrpc: "2.0", id: 1, result: {} }, {}, 202],
    ["a modern response", { jsonrpc: "2.0", id: 1, result: {} }, named("x"), 400],
    ["a notification of no version", { jsonrpc: "2.0", method: "x" }, { "mcp-protocol-version": "x" }, 400],
    ["nothing that is accepted", rpc("ping"), { accept: "text/html" }, 406],
    ["no JSON type", rpc("ping"), { "content-type": "text/plain" }, 415],
    ["a compressed body", rpc("ping"), { "content-encoding": "gzip" }, 415],
    ["a page of another site", rpc("ping"), { origin: "https://evil.example" }, 403],
    [
      "a page of another site with a key",
      rpc("ping"),
      { origin: "https://evil.example", authorization: "Bearer x" },
      403,
    ],
    ["a page that is listed", rpc("ping"), { origin: "https://own.example" }, 200],
    ["too much", `"${"x".repeat(17 * 1024 * 1024)}"`, {}, 413],
  ])("%s", async (_, body, headers, status) => {
    expect((await send(body, headers)).status).toBe(status);
  });

  it("answers POST only", async () => {
    for (const method of ["GET", "DELETE", "PUT"]) {
      const { status, headers } = await client.fetch("/mcp", { method });
      expect([status, headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
    }
  });

  it("batches exist where the version has them", async () => {
    const notice = { jsonrpc: "2.0", method: "notifications/initialized" };
    const call = { ...rpc("tools/call", { name: "cat", arguments: { input: "x" } }), id: "b" };
    const answers = await (await send([rpc("ping"), notice, call, 3])).json<Rpc[]>();
    expect(answers).toMatchObject([
      { id: 7, result: {} },
      { id: "b", result: { content: [{}] } },
      { error: { code: -32600 } },
    ]);
    expect((await send([notice])).status).toBe(202);
    for (const [body, version] of [
      [[rpc("ping")], "2025-06-18"],
      [[], "2025-03-26"],
      [Array.from({ length: 21 }, () => rpc("ping")), "2025-03-26"],
    ] as const) {
      const refused = await read(await send(body, { "mcp-protocol-version": version }));
      expect([refused.status, refused.error?.code]).toEqual([400, -32600]);
    }
  });

  it("attack: a message of millions of small values is refused before it is parsed", async () => {
    const call = (count: number) =>
      JSON.stringify(rpc("tools/call", { name: "cat", arguments: { input: "INPUT" } })).replace(
        '"INPUT"',
        `[${"1,".repeat(count)}1]`,
      );
    for (const body of [call(1_000_000), `[${call(1_000_000)}]`]) {
      const message =
        "Invalid Request: the body has more than 1000000 values. Send the data in parts, or as one JSON string.";
      expect(await read(await send(body))).toMatchObject({ status: 400, error: { code: -32600, message } });
    }
    expect(await read(await send(call(900_000)))).toMatchObject({ status: 200, result: { content: [{}] } });
  });

  it("lists in pages, each item once", async () => {
    const many = new Client();
    const skills = Array.from({ length: 230 }, (_, i) => `s-${String(i).padStart(3, "0")}`);
    const catalog = await client.env.SKILLS.get<{ id: string }>("catalog:current", "json");
    const further = { "a.md": new TextEncoder().encode("a"), "b.md": new TextEncoder().encode("b") };
    await many.publish(Object.fromEntries(skills.map((name) => [name, mockSkill(name)])), further);
    for (const [method, key, count] of [
      ["tools/list", "tools", 230],
      ["prompts/list", "prompts", 230],
      ["resources/list", "resources", 690],
    ] as const) {
      const names: unknown[] = [];
      let cursor: unknown;
      let pages = 0;
      do {
        const { result } = await read(
          await send(rpc(method, cursor === undefined ? {} : { cursor }), {}, many),
        );
        const items = result?.[key];
        if (Array.isArray(items)) names.push(...items.map(({ uri, name }) => uri ?? name));
        cursor = result?.nextCursor;
        pages += 1;
      } while (cursor !== undefined && pages < 20);
      expect([method, names.length, new Set(names).size]).toEqual([method, count, count]);
      expect(pages).toBeGreaterThan(1);
    }
    await client.post("/_hull/catalog", { id: catalog?.id });
  });

  it("a second call with the same idempotency key gets the first one's answer", async () => {
    const call = rpc("tools/call", { name: "cat", arguments: { input: "once" } });
    const sent = { "idempotency-key": `mcp-${crypto.randomUUID()}` };
    const metas = [];
    for (const _ of [1, 2]) metas.push((await read(await send(call, sent))).result?._meta);
    const [first, second] = metas.map((meta) => JSON.parse(JSON.stringify(meta)));
    expect(second).toEqual({ ...first, "x-hull-replayed": "1" });
    const other = rpc("tools/call", { name: "cat", arguments: { input: "other" } });
    const { result } = await read(await send(other, sent));
    expect(result).toMatchObject({ isError: true, _meta: { problem: { code: "idempotency_key_reused" } } });
  });
});

describe("keys and tenants", () => {
  const names = async (owner: Awaited<ReturnType<typeof tenant>>, method: string, key: string) => {
    const response = await owner.fetch("/mcp", {
      method: "POST",
      headers: JSON_ONLY,
      body: JSON.stringify(rpc(method)),
    });
    const { result } = await response.json<Rpc>();
    const items = result?.[key];
    return Array.isArray(items) ? items.map(({ name, uri }) => uri ?? name) : result;
  };

  it("shows the tenant's uploads to the tenant alone, and nothing to a key that may not invoke", async () => {
    const keyed = new Client({ HULL_ADMIN_KEY: "hull-admin-canary-0123456789" });
    const before = await client.env.SKILLS.get<{ id: string }>("catalog:current", "json");
    await client.publish(FOLDER);
    const [acme, other] = [
      await tenant("acme-mcp", "invoke", "publish"),
      await tenant("other-mcp", "invoke"),
    ];
    const blind = await tenant("acme-mcp", "publish");
    expect((await acme.put("fox", skill("fox"))).status).toBe(201);
    expect(await names(acme, "tools/list", "tools")).toEqual(["cat", "deep", "dog", "fox"]);
    expect(await names(other, "tools/list", "tools")).toEqual(["cat", "deep", "dog"]);
    expect(await names(acme, "resources/list", "resources")).toContain("skill://fox/SKILL.md");
    for (const [method, key] of [
      ["tools/list", "tools"],
      ["prompts/list", "prompts"],
      ["resources/list", "resources"],
      ["resources/templates/list", "resourceTemplates"],
    ] as const) {
      expect([method, await names(blind, method, key)]).toEqual([method, []]);
    }
    const refused = async (owner: typeof acme, method: string, params: object) => {
      const body = JSON.stringify(rpc(method, params));
      const response = await owner.fetch("/mcp", { method: "POST", headers: JSON_ONLY, body });
      return (await response.json<Rpc>()).error?.code;
    };
    for (const [owner, slug] of [
      [blind, "cat"],
      [other, "fox"],
    ] as const) {
      expect(await refused(owner, "tools/call", { name: slug })).toBe(-32602);
      expect(await refused(owner, "prompts/get", { name: slug })).toBe(-32602);
      expect(await refused(owner, "resources/read", { uri: `skill://${slug}/SKILL.md` })).toBe(-32002);
    }
    const unknown = await keyed.fetch("/mcp", { method: "POST", headers: JSON_ONLY, body: "{}" });
    expect([unknown.status, unknown.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    await client.post("/_hull/catalog", { id: before?.id });
  });

  it("attack: nobody else cancels a caller's call, not even with its session and its id", async () => {
    const by = new Client({ HULL_ADMIN_KEY: ADMIN, OPENAI_API_KEY: "sk-test" });
    const before = await client.env.SKILLS.get<{ id: string }>("catalog:current", "json");
    await client.publish({
      asks: "---\nname: asks\ndescription: d\nmode: llm\nprovider: openai\nmodel: gpt-4o\n---\nAnswer.\n",
    });
    const keys = [];
    for (const name of ["acme-mcp", "acme-mcp", "rival-mcp"]) keys.push((await tenant(name, "invoke")).key);
    const [own, ...others] = keys;
    const session = { "mcp-session-id": crypto.randomUUID() };
    const ask = (key: string | undefined, body: object) =>
      send(body, { ...session, authorization: `Bearer ${key}` }, by);
    const call = rpc("tools/call", { name: "asks", arguments: { input: "x" } });
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: call.id } };
    const signals: (AbortSignal | null | undefined)[] = [];
    vi.stubGlobal("fetch", (_: unknown, init?: RequestInit) => {
      const { promise, reject } = Promise.withResolvers<Response>();
      init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
      signals.push(init?.signal);
      return promise;
    });
    const answer = ask(own, call);
    await expect.poll(() => signals.length).toBe(1);
    for (const other of others) expect((await ask(other, cancelled)).status).toBe(202);
    expect(signals[0]?.aborted).toBe(false);
    await ask(own, cancelled);
    expect([(await answer).status, signals[0]?.aborted]).toEqual([202, true]);
    vi.unstubAllGlobals();
    await client.post("/_hull/catalog", { id: before?.id });
  });

  it("attack: the metrics do not name an uploaded skill when its own tool is called", async () => {
    const acme = await tenant("acme-mcp", "invoke", "publish");
    const tools = JSON.stringify([{ name: "say", description: "d", script: "a.js" }]);
    const files = { "SKILL.md": mockSkill("lynx"), "tools.json": tools, "a.js": "export default () => 'x'" };
    expect((await acme.put("lynx", files)).status).toBe(201);
    const body = JSON.stringify(rpc("tools/call", { name: "lynx__say" }));
    const called = await acme.fetch("/mcp", { method: "POST", headers: JSON_ONLY, body });
    expect((await called.json<Rpc>()).result?.content).toEqual([{ type: "text", text: "x" }]);
    const admin = await tenant("other-mcp", "admin");
    const metrics = await (await admin.fetch("/metrics")).text();
    expect(metrics).toContain('hull_runs_total{skill="uploaded",status="200"}');
    expect(metrics).not.toContain("lynx");
    await acme.remove("lynx");
  });

  it("counts requests against the caller's rate", async () => {
    const config = JSON.stringify({ rate_limit: { requests: 2, window_s: 60 } });
    const limited = new Client({ HULL_ENV: "local", HULL_CONFIG: config });
    const statuses = [];
    for (const _ of [1, 2, 3]) statuses.push((await send(rpc("ping"), {}, limited)).status);
    expect(statuses).toEqual([200, 200, 429]);
  });
});

it("a skill of a namespace and another skill's own tool have names of their own, and both are called", async () => {
  const tool = (name: string) => ({
    "SKILL.md": mockSkill("box"),
    "tools.json": JSON.stringify([{ name, description: "d", script: "a.js" }]),
    "a.js": `export default () => "own ${name}"`,
  });
  await client.publish({ box: tool("lid"), "box--lid": tool("knob") });
  const { result } = await read(await send(rpc("tools/list")));
  expect(result?.tools).toMatchObject(
    ["box", "box__lid", "box___lid", "box___lid__knob"].map((name) => ({ name })),
  );
  const says = async (name: string) => {
    const { result: said } = await read(await send(rpc("tools/call", { name, arguments: { input: "hi" } })));
    return said?.content;
  };
  expect(await says("box__lid")).toMatchObject([{ text: "own lid" }]);
  expect(await says("box___lid__knob")).toMatchObject([{ text: "own knob" }]);
  expect(await says("box___lid")).toMatchObject([{ text: expect.stringContaining("hi") }]);
});

it("lists an own tool with one object in place of alternatives, and checks a call against these", async () => {
  const oneOf = ["a", "b"].map((name) => ({ properties: { [name]: { type: "string" } }, required: [name] }));
  const tools = [
    { name: "either", description: "d", script: "a.js", "x-input-schema": { type: "object", oneOf } },
  ];
  const script = "export default ({ b }) => b";
  const box = { "SKILL.md": mockSkill("box"), "tools.json": JSON.stringify(tools), "a.js": script };
  await client.publish({ box });
  const { result } = await read(await send(rpc("tools/list")));
  const [, listed] = [result?.tools].flat();
  const properties = { a: { type: "string" }, b: { type: "string" } };
  expect(listed).toMatchObject({ name: "box__either", inputSchema: { type: "object", properties } });
  expect(listed).not.toHaveProperty("inputSchema.oneOf");
  const call = async (given: object) =>
    (await read(await send(rpc("tools/call", { name: "box__either", arguments: given })))).result;
  expect(await call({ b: "x" })).toMatchObject({ content: [{ text: "x" }] });
  expect(await call({ a: "x", b: "x" })).toMatchObject({ isError: true });
});

it("a second call of a skill's own tool with the same idempotency key gets the first one's answer", async () => {
  const tools = ["dice", "coin"].map((name) => ({ name, description: "d", script: "a.js" }));
  const script = "export default () => String(Math.random())";
  const box = { "SKILL.md": mockSkill("box"), "tools.json": JSON.stringify(tools), "a.js": script };
  await client.publish({ box });
  const call = async (key: string, name = "box__dice", given = {}) => {
    const sent = { "idempotency-key": key };
    return (await read(await send(rpc("tools/call", { name, arguments: given }), sent))).result;
  };
  const [first, again] = await Promise.all([call("roll"), call("roll")]);
  expect(again?.content).toEqual(first?.content);
  const later = await call("roll");
  expect(later).toMatchObject({ content: first?.content, _meta: { "x-hull-replayed": "1" } });
  for (const other of [await call("other"), await call("roll", "box__coin")]) {
    expect(other?.content).not.toEqual(first?.content);
    expect(other?._meta).not.toHaveProperty("x-hull-replayed");
  }
  expect(await call("roll", "box__dice", { faces: 20 })).toMatchObject({
    isError: true,
    _meta: { problem: { code: "idempotency_key_reused" } },
  });
  const both = [{ faces: 20 }, {}].map((given, i) =>
    rpc("tools/call", { name: i === 0 ? "box__dice" : "box__coin", arguments: given }),
  );
  await call("batch");
  const [refused, kept] = await (await send(both, { "idempotency-key": "batch" })).json<Rpc[]>();
  expect(refused?.result).toMatchObject({ isError: true });
  expect(await call("batch", "box__coin")).toMatchObject({ content: kept?.result?.content });
});

it("a keyed call is made once, also if the result of its tool cannot be stored", async () => {
  const full = new Client({ HULL_ENV: "local" });
  const { FILES } = full.env;
  full.env.FILES = new Proxy(FILES, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        if (name === "put" && !String(given[0]).startsWith("answers/")) throw new TypeError("no room");
        return Reflect.apply(value, target, given);
      };
    },
  });
  const script = `export default async (_, ctx) => {
    await ctx.artifact({ type: "html", title: "T", content: "<b>x</b>" });
    return String(Math.random());
  };`;
  const tools = JSON.stringify([{ name: "draw", description: "d", script: "a.js" }]);
  await client.publish({ box: { "SKILL.md": mockSkill("box"), "tools.json": tools, "a.js": script } });
  const call = async () =>
    (await read(await send(rpc("tools/call", { name: "box__draw" }), { "idempotency-key": "draw" }, full)))
      .result;
  const first = await call();
  expect(first).toMatchObject({
    isError: true,
    content: [{ text: expect.stringMatching(/^0\./) }, { text: expect.stringContaining("Internal") }],
    _meta: { problem: { code: "internal" } },
  });
  expect(await call()).toMatchObject({ content: first?.content, _meta: { "x-hull-replayed": "1" } });
});

// The last test: it publishes other skills.
it("the arguments of a call reach a skill with all the digits of their numbers", async () => {
  const proxy = "---\nname: up\ndescription: The up skill\nproxy: https://up.example/x\n---\n";
  const own = new Client();
  await own.publish({ up: proxy });
  const bodies: string[] = [];
  vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
    bodies.push(await new Request(input, init).text());
    return new Response("ok");
  });
  const text = JSON.stringify(rpc("tools/call", { name: "up", arguments: { input: { id: "ID" } } }));
  const call = text.replace('"ID"', "12345678901234567890");
  const batch = { "mcp-protocol-version": "2025-03-26" };
  for (const [body, headers] of [
    [call, {}],
    [`[${call}]`, batch],
  ] as const) {
    expect((await send(body, headers, own)).status).toBe(200);
  }
  expect(bodies).toEqual(['{"id":12345678901234567890}', '{"id":12345678901234567890}']);
});

it("progress is not cut within a secret", async () => {
  const secret = "sk-canary-0123456789";
  const redactor = new Redactor([secret]);
  const sent: object[] = [];
  const send = async (message: object) => void sent.push(message);
  const { watch } = progressOf({ redacted: (value) => redactor.json(value) }, 1, send);
  await watch({ event: "stderr", data: { text: "x".repeat(485) + secret } });
  expect(sent).toMatchObject([{ params: { message: `${"x".repeat(485)}[redacted]` } }]);
});
