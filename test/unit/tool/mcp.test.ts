/** The client of MCP servers, without a server; what servers answer is in test/e2e/mcp-client.test.ts. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/skill/manifest.ts";
import { addressFault } from "../../../src/tool/mcp/address.ts";
import { McpClient } from "../../../src/tool/mcp/client.ts";
import { annotationsHold, headersOf } from "../../../src/tool/mcp/param-headers.ts";
import { remoteTools, resultText } from "../../../src/tool/mcp/remote-tool.ts";
import { post } from "../../../src/tool/mcp/transport.ts";

const ALLOWED = { hosts: ["mcp.example.com", "*.example.org"], loopback: false };

describe("addresses", () => {
  test.each([
    ["https://mcp.example.com/mcp", null],
    ["https://MCP.example.com:8443/mcp", null],
    ["https://a.example.org/", null],
    ["https://a.b.example.org/", null],
    ["https://example.org/", /not among the hosts/],
    ["https://mcp.example.com.evil.example/", /not among the hosts/],
    ["https://notmcp.example.com/", /not among the hosts/],
    ["http://mcp.example.com/", /https only/],
    ["ftp://mcp.example.com/", /address of ftp:/],
    ["http://localhost:3000/", /is this machine/],
    ["http://127.0.0.1/", /is this machine/],
    ["http://[::1]/", /is this machine/],
    ["https://127.0.0.2/", /private/],
    ["https://2130706433/", /is this machine/],
    ["https://0x7f.1/", /is this machine/],
    ["https://169.254.169.254/", /private/],
    ["https://[fe80::1]/", /private/],
    ["https://[::ffff:10.0.0.1]/", /private/],
    ["https://10.0.0.1/", /private/],
    ["https://metadata.google.internal/", /private/],
    ["https://intranet/", /private/],
  ])("%s", (url, fault) => {
    const told = addressFault(new URL(url), ALLOWED);
    if (fault === null) expect(told).toBeNull();
    else expect(told).toMatch(fault);
  });

  test("this machine may be asked where local dev permits it, and its neighbours may not", () => {
    const local = { hosts: [], loopback: true };
    for (const url of ["http://localhost:3000/", "http://127.0.0.1:9/", "http://[::1]/"]) {
      expect(addressFault(new URL(url), local)).toBeNull();
    }
    expect(addressFault(new URL("http://192.168.0.1/"), local)).toBe(
      "The host 192.168.0.1 is a private address.",
    );
    expect(addressFault(new URL("https://public.example.com/"), local)).toMatch(/not among the hosts/);
  });
});

test("the arguments of a call keep the digits of their numbers, and have no half of a surrogate pair", async () => {
  const raw = String.raw`{"id": 12345678901234567890, "half": "a\ud83d"}`;
  const bodies: string[] = [];
  const fetch = async (_: URL, { body }: RequestInit): Promise<Response> => {
    bodies.push(String(body));
    return Response.json({ jsonrpc: "2.0", id: bodies.length, result: { content: [] } });
  };
  const url = new URL("https://mcp.example.com/mcp");
  const dialect = { version: "2026-07-28", modern: true, sessions: false };
  const client = new McpClient(
    { url, headers: new Headers(), allowed: ALLOWED, discover_ms: 1000, fetch },
    dialect,
    () => {},
    () => {},
  );
  const call = { args: JSON.parse(raw), raw };
  expect(await client.callTool("look", call, {}, new AbortController().signal)).toMatchObject({ ok: true });
  expect(bodies[0]).toContain('"arguments":{"id":12345678901234567890,"half":"a\\ufffd"}');
});

describe("attack: a server", () => {
  /** A client of a server of 2025-06-18 that answers so; the messages that were sent. */
  function asking(answer: (message: JsonObject) => Response) {
    const sent: JsonObject[] = [];
    const fetch = async (_: URL, { body }: RequestInit): Promise<Response> => {
      const message: JsonObject = JSON.parse(String(body));
      sent.push(message);
      return answer(message);
    };
    const wire = {
      url: new URL("https://mcp.example.com/"),
      headers: new Headers(),
      allowed: ALLOWED,
      discover_ms: 1000,
      fetch,
    };
    const dialect = { version: "2025-06-18", modern: false, sessions: false };
    const nothing = () => {};
    return { sent, client: new McpClient(wire, dialect, nothing, nothing) };
  }
  const { signal } = new AbortController();

  test("gets only a few answers if it asks without end before it answers", async () => {
    const { sent, client } = asking(({ id, method }) => {
      if (method === undefined) return new Response(null, { status: 202 });
      const events = Array.from({ length: 500 }, (_, n) => ({ jsonrpc: "2.0", id: `p${n}`, method: "ping" }));
      const lines = [...events, { jsonrpc: "2.0", id, result: { content: [] } }];
      const body = lines.map((line) => `data: ${JSON.stringify(line)}\n\n`).join("");
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    });
    const reply = await client.callTool("act", { args: {}, raw: "{}" }, {}, signal);
    expect(reply).toEqual({ ok: true, value: { content: [] } });
    expect(sent.filter(({ result }) => result !== undefined)).toHaveLength(20);
  });

  test("is not read to the end if it lists too much", async () => {
    const tool = { description: "x".repeat(100_000), inputSchema: { type: "object" } };
    const { sent, client } = asking(({ id }) => {
      const tools = Array.from({ length: 10 }, (_, n) => ({ name: `${id}_${n}`, ...tool }));
      return Response.json({ jsonrpc: "2.0", id, result: { tools, nextCursor: String(id) } });
    });
    const reply = await client.listTools(signal);
    expect(reply.ok && reply.value.tools.length).toBe(20);
    expect(sent).toHaveLength(3);
  });

  test("is asked twice if it knows no pages and repeats its only one", async () => {
    const tools = [{ name: "act", inputSchema: { type: "object" } }];
    const { sent, client } = asking(({ id }) =>
      Response.json({ jsonrpc: "2.0", id, result: { tools, nextCursor: "same" } }),
    );
    expect(await client.listTools(signal)).toMatchObject({ ok: true });
    expect(sent).toHaveLength(2);
  });

  test("is read in part if it lists and answers with endless padding", async () => {
    const nothing = Array.from({ length: 100_000 }, () => 0);
    const { sent, client } = asking(({ id }) => {
      return Response.json({ jsonrpc: "2.0", id, result: { tools: nothing, nextCursor: "more" } });
    });
    expect(await client.listTools(signal)).toMatchObject({ ok: true, value: { tools: [] } });
    expect(sent).toHaveLength(1);
    const shown = resultText({ content: nothing });
    expect(shown?.text.split("\n")).toHaveLength(1001);
    expect(shown?.text).toMatch(/\[not shown: 99000 further items\]$/);
  });
});

describe("simultaneous calls", () => {
  /** A client of a server that opens sessions as soon as the test lets it. */
  function opening() {
    const opened: { signal: AbortSignal; answer: () => void }[] = [];
    const called: (string | null)[] = [];
    const forgotten = new Set<string | null>();
    const fetch = (_: URL, { body, headers, signal }: RequestInit): Promise<Response> => {
      const { id, method } = JSON.parse(String(body));
      const session = new Headers(headers).get("mcp-session-id");
      if (method === "tools/call") called.push(session);
      if (forgotten.has(session)) return Promise.resolve(new Response(null, { status: 404 }));
      if (method !== "initialize" || signal == null)
        return Promise.resolve(Response.json({ jsonrpc: "2.0", id, result: { content: [] } }));
      const { promise, resolve, reject } = Promise.withResolvers<Response>();
      signal.addEventListener("abort", () => reject(signal.reason));
      const result = { protocolVersion: "2025-06-18" };
      const given = { "mcp-session-id": `s${opened.length + 1}` };
      const answer = () => resolve(Response.json({ jsonrpc: "2.0", id, result }, { headers: given }));
      opened.push({ signal, answer });
      return promise;
    };
    const url = new URL("https://mcp.example.com/mcp");
    const dialect = { version: "2025-06-18", modern: false, sessions: true };
    const wire = { url, headers: new Headers(), allowed: ALLOWED, discover_ms: 1000, fetch };
    const client = new McpClient(
      wire,
      dialect,
      () => {},
      () => {},
    );
    const call = (signal: AbortSignal) => client.callTool("look", { args: {}, raw: "{}" }, {}, signal);
    return { opened, called, forgotten, call };
  }

  test("share an opening that outlives its first caller", async () => {
    const { opened, called, call } = opening();
    const [first, second] = [new AbortController(), new AbortController()];
    const [left, stays] = [call(first.signal), call(second.signal)];
    first.abort(new DOMException("", "TimeoutError"));
    expect(await left).toMatchObject({ ok: false, failure: { kind: "timeout" } });
    expect(opened.map(({ signal }) => signal.aborted)).toEqual([false]);
    opened[0]?.answer();
    expect(await stays).toMatchObject({ ok: true });
    expect(await call(new AbortController().signal)).toMatchObject({ ok: true });
    expect([called, opened.length]).toEqual([["s1", "s1"], 1]);
  });

  test("open a new session in place of one that the server forgot", async () => {
    const { opened, forgotten, call } = opening();
    const { signal } = new AbortController();
    const first = call(signal);
    opened[0]?.answer();
    expect(await first).toMatchObject({ ok: true });
    forgotten.add("s1");
    const both = [call(signal), call(signal)];
    await expect.poll(() => opened.length).toBe(2);
    opened[1]?.answer();
    for (const one of both) expect(await one).toMatchObject({ ok: true });
    expect(opened.length).toBe(2);
  });

  test("end an opening that no call waits for any more; a later one opens again", async () => {
    const { opened, called, call } = opening();
    const callers = [new AbortController(), new AbortController()];
    const calls = callers.map(({ signal }) => call(signal));
    for (const caller of callers) caller.abort();
    for (const one of calls) {
      expect(await one).toMatchObject({ ok: false, failure: { message: "Hull gave up on the call." } });
    }
    const later = call(new AbortController().signal);
    expect(opened.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    opened[1]?.answer();
    expect(await later).toMatchObject({ ok: true });
    expect(called).toEqual(["s2"]);
  });
});

test("a redirect to another origin takes no secrets along", async () => {
  const seen: [string, string | null, string | null][] = [];
  const answer = { jsonrpc: "2.0", id: 1, result: {} };
  const sent = await post(
    {
      url: new URL("https://mcp.example.com/mcp"),
      headers: new Headers({ authorization: "Bearer secret" }),
      allowed: ALLOWED,
      discover_ms: 1000,
      fetch: async (url, init) => {
        const headers = new Headers(init.headers);
        seen.push([url.href, headers.get("authorization"), headers.get("mcp-method")]);
        const location = seen.length === 1 ? "/here" : "https://a.example.org/there";
        if (seen.length < 3) return new Response(null, { status: 307, headers: { location } });
        return Response.json(answer);
      },
    },
    {
      message: { jsonrpc: "2.0", id: 1, method: "m" },
      headers: { "mcp-method": "m" },
      signal: new AbortController().signal,
    },
  );
  expect(sent).toMatchObject({ ok: true, value: { message: answer } });
  expect(seen).toEqual([
    ["https://mcp.example.com/mcp", "Bearer secret", "m"],
    ["https://mcp.example.com/here", "Bearer secret", "m"],
    ["https://a.example.org/there", null, "m"],
  ]);
});

describe("headers of arguments", () => {
  const of = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
    type: "object",
    properties,
    ...more,
  });
  const wants = (header: string, type = "string"): JsonObject => ({ type, "x-mcp-header": header });

  test.each<[string, JsonObject, boolean]>([
    ["none", of({ a: { type: "string" } }), true],
    ["one, and one within an object", of({ a: wants("A"), b: of({ c: wants("C", "integer") }) }), true],
    ["a property of that name", of({ "x-mcp-header": { type: "string" } }), true],
    ["the same twice", of({ a: wants("Same"), b: wants("same") }), false],
    ["no name", of({ a: wants("") }), false],
    ["a line break", of({ a: wants("A\nB") }), false],
    ["a number", of({ a: wants("A", "number") }), false],
    ["within a list", of({ a: { type: "array", items: wants("A") } }), false],
    ["within a choice", of({}, { anyOf: [of({ a: wants("A") })] }), false],
  ])("%s", (_, schema, holds) => expect(annotationsHold(schema)).toBe(holds));

  test("are sent for the values that are present", () => {
    const schema = of({
      a: wants("A"),
      b: wants("B", "boolean"),
      n: wants("N", "integer"),
      o: of({ c: wants("C") }),
    });
    expect(headersOf(schema, { a: " x", b: false, n: 42, o: { c: "=?base64?x?=" } })).toEqual({
      "mcp-param-a": "=?base64?IHg=?=",
      "mcp-param-b": "false",
      "mcp-param-n": "42",
      "mcp-param-c": "=?base64?PT9iYXNlNjQ/eD89?=",
    });
    expect(headersOf(schema, { a: null, o: {} })).toEqual({});
  });
});

test("names in other alphabets stay apart, and are the same in every list", () => {
  const server = { name: "docs", url: "https://mcp.example.com/", headers: {}, timeout_ms: 1 };
  const listed = ["größe", "grüße", "查询天气"].map((name) => ({ name, inputSchema: { type: "object" } }));
  expect(remoteTools(server, listed).map(({ name }) => name)).toEqual([
    "docs__gr__e_5bd3a989",
    "docs__gr__e_346e49ed",
    "docs_______b6d100eb",
  ]);
});

test("tools that Hull cannot describe to a model are left out", () => {
  const server = { name: "my-docs", url: "https://mcp.example.com/", headers: {}, timeout_ms: 1 };
  const inputSchema = { type: "object" };
  const listed = [
    { name: "get.item-1", inputSchema, execution: { taskSupport: "optional" } },
    { name: "get_item_1", inputSchema },
    { name: "x".repeat(60), inputSchema },
    { name: "slow", inputSchema, execution: { taskSupport: "required" } },
    { name: "list", inputSchema: { type: "array" } },
    { name: "long", inputSchema: { type: "object", description: "x".repeat(40_000) } },
    {
      name: "odd",
      inputSchema: { type: "object", properties: { a: { type: "number", "x-mcp-header": "A" } } },
    },
  ];
  expect(remoteTools(server, listed).map(({ name, remote }) => [name, remote])).toEqual([
    ["my_docs__get_item_1", "get.item-1"],
  ]);
  expect(remoteTools({ ...server, tools: ["other"] }, listed)).toEqual([]);
});

test.each<[JsonObject, ReturnType<typeof resultText>]>([
  [{ content: [] }, { ok: true, text: "" }],
  [
    { content: [], structuredContent: { n: 1 } },
    { ok: true, text: '{"n":1}' },
  ],
  [
    { content: [{ type: "text", text: "a" }], isError: true },
    { ok: false, text: "a" },
  ],
  [{ content: [{ type: "hologram" }] }, { ok: true, text: "[content of an unknown kind]" }],
  [{ content: "text" }, null],
  [
    { content: [{ type: "image", mimeType: "image/png", data: "eA==" }] },
    { ok: true, text: "[image: image/png, 1 byte]" },
  ],
])("the result %j", (result, told) => expect(resultText(result)).toEqual(told));

test("a result that asks for more is a failure", () => {
  expect(resultText({ resultType: "input_required", inputRequests: {} })?.ok).toBe(false);
});
