import { beforeAll, describe, expect, it } from "vitest";
import { Client, mockSkill } from "./served.ts";

const client = new Client();

beforeAll(async () => {
  await client.publish({
    cat: mockSkill("cat"),
    dog: mockSkill("dog", "route: /pets/dog\nmethod: GET\ninput: text\n"),
    json: mockSkill("json", "output: json\n"),
    small: mockSkill("small", "max_input_bytes: 10\n"),
    shaped: mockSkill(
      "shaped",
      "input_schema: {type: object, required: [n], properties: {n: {type: integer}}}\n",
    ),
    quiet: mockSkill("quiet", "input: none\n"),
    writes: mockSkill("writes", "output_mime: text/html\n"),
    keyed:
      '---\nname: keyed\ndescription: "Needs a Schlu\\u0308ssel \\uD83D"\nmode: llm\nprovider: openai\n---\nAnswer.\n',
  });
});

const call = (input: string) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "cat", arguments: { input } },
});

const problem = async (response: Response): Promise<Record<string, unknown>> => {
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  return response.json();
};

describe("pages for browsers", () => {
  const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
  it("an error is a page where a browser reads, and a problem document elsewhere", async () => {
    const path = "/skills/%3Cscript%3Ecat";
    const shown = await client.fetch(path, { headers: { accept } });
    expect(shown.status).toBe(404);
    expect(shown.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(shown.headers.get("content-security-policy")).toContain("default-src 'none'");
    const page = await shown.text();
    expect(page).toMatch(/<h1>Skill not found<\/h1>/);
    expect(page).toContain("<code>skill_not_found</code>");
    expect(page).not.toContain("<script>");
    expect((await problem(await client.fetch(path))).code).toBe("skill_not_found");
    const posted = await client.fetch("/skills/nowhere", { method: "POST", headers: { accept } });
    expect((await problem(posted)).code).toBe("skill_not_found");
  });

  it("a request without a key gets a page with a form for the key", async () => {
    const keyed = new Client({ HULL_ADMIN_KEY: "admin-key-of-this-test" });
    const shown = await keyed.fetch("/", { headers: { accept } });
    expect([shown.status, shown.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect(await shown.text()).toContain("Authorization: Bearer &lt;key&gt;");
    expect((await keyed.fetch("/favicon.ico")).headers.get("content-type")).toBe("image/svg+xml");
    expect((await keyed.fetch("/favicon.ico", { method: "POST" })).status).toBe(401);
  });
});

describe("a boolean parameter", () => {
  const mock = { provider: "mock", mock: [{ text: "Hi." }] };
  const graph = { nodes: { a: { model_policy: mock } } };
  it.each<[path: string, value: string, words: string, body?: object]>([
    ["/skills/cat", "stream=yes", "1 or 0", {}],
    ["/pets/dog?input=x", "stream=true", "1 or 0"],
    ["/runs", "stream=", "1 or 0", { prompt: "x", options: mock }],
    ["/llm/call", "stream=on", "1 or 0", { prompt: "x", options: mock }],
    ["/llm/stream", "stream=on", "1 or 0", { prompt: "x", options: mock }],
    ["/tasks", "stream=2", "1 or 0", { task: "x", graph }],
    ["/sub-agents", "stream=2", "1 or 0", { task: "x", options: mock }],
    ["/workflows/execute", "stream=2", "1 or 0", { task: "x", graph }],
    ["/sessions/none/artifacts/none", "download=yes", "1 or 0"],
    ["/sessions", "stages=1", "true or false"],
    ["/v1/responses/resp_none", "stream=1", "true or false"],
  ])(
    "has two values, and a request with another one begins nothing: %s %s",
    async (path, value, words, body) => {
      const asked = `${path}${path.includes("?") ? "&" : "?"}${value}`;
      const count = async () =>
        (await client.fetch("/runs").then((list) => list.json<{ data: object[] }>())).data.length;
      const before = await count();
      const answer = await (body === undefined ? client.fetch(asked) : client.post(asked, body));
      expect(answer.status).toBe(400);
      const [name, word] = value.split("=");
      expect(await answer.text()).toContain(
        JSON.stringify(`${name} must be ${words}, not "${word}".`).slice(1, -1),
      );
      expect(await count()).toBe(before);
    },
  );

  it.each(["&stream=0", ""])("is false if it is absent or negative: %s", async (query) => {
    const answer = await client.fetch(`/pets/dog?input=x${query}`);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([
      200,
      expect.stringMatching(/^text\/plain/),
    ]);
  });
});

describe("paths and methods", () => {
  it.each([
    ["/skills/cat", 200],
    ["/skills/%63at", 200],
    ["/skills/cat/", 200],
    ["/skills//cat", 404],
    ["/skills/Cat", 404],
    ["/skills/cat?x=1", 200],
    ["/pets/dog?input=x", 200],
    ["/skills/dog", 200],
    ["/pets/dog", 422],
    ["/nowhere", 404],
  ])("S59: GET %s → %i", async (path, status) => {
    expect((await client.fetch(path)).status).toBe(status);
  });

  it("where the skill itself answers GET, the card is only at /card", async () => {
    expect(await (await client.fetch("/pets/dog?input=hello")).text()).toContain("hello");
    const card = await (await client.fetch("/skills/dog/card")).json();
    expect(card).toMatchObject({ slug: "dog", route: "/pets/dog", method: "GET", mode: "llm" });
    expect(card).not.toHaveProperty("doc");
  });

  it.each([
    ["DELETE", "/skills", "GET, HEAD, OPTIONS"],
    ["PUT", "/skills/cat", "GET, HEAD, POST, OPTIONS"],
    ["HEAD", "/pets/dog", "GET, OPTIONS"],
    ["POST", "/healthz", "GET, HEAD, OPTIONS"],
    ["PATCH", "/_hull/catalog", "GET, HEAD, POST, OPTIONS"],
  ])("S67: %s %s is 405 with Allow", async (method, path, allow) => {
    const response = await client.fetch(path, { method });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe(allow);
  });

  it("OPTIONS names the methods of any route", async () => {
    const options = async (path: string) =>
      (await client.fetch(path, { method: "OPTIONS" })).headers.get("allow");
    expect(await options("/skills")).toBe("GET, HEAD, OPTIONS");
    expect(await options("/skills/cat")).toBe("GET, HEAD, POST, OPTIONS");
    // An uploaded skill may have this route: only its tenant learns that, and a preflight has no key.
    expect(await options("/skills/none")).toBe("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
  });

  it.each(["/healthz", "/skills", "/skills/cat", "/skills/cat/card", "/"])("S58: HEAD %s", async (path) => {
    const response = await client.fetch(path, { method: "HEAD" });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("");
  });

  it("an unknown skill is answered with near names", async () => {
    const body = await problem(await client.fetch("/skills/catt"));
    expect(body).toMatchObject({ status: 404, code: "skill_not_found", near: ["cat"] });
  });
});

describe("S66: headers of every response", () => {
  it.each([
    ["/healthz", {}],
    ["/skills", {}],
    ["/skills/none", {}],
    ["/skills/cat", { method: "POST", body: "hi" }],
    ["/skills/cat?stream=1", { method: "POST", body: "hi" }],
    ["/skills/cat", { method: "DELETE" }],
  ])("%s %j", async (path, init) => {
    const { headers } = await client.fetch(path, init);
    for (const name of ["x-request-id", "server-timing", "x-hull-duration-ms"])
      expect(headers.has(name)).toBe(true);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  });

  const said = [{ role: "user", content: "\ud83d" }];
  const model = "skill/cat";
  it.each<[string, string, object?]>([
    ["the list of skills", "/skills"],
    ["a card", "/skills/keyed/card"],
    ["the index for agents", "/.well-known/agent-skills/index.json"],
    ["the tools of MCP", "/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list" }],
    ["a tool's answer", "/mcp", call("\ud83d")],
    ["a message", "/v1/messages", { model, max_tokens: 9, messages: said }],
    ["a message's events", "/v1/messages", { model, max_tokens: 9, messages: said, stream: true }],
    ["a completion", "/v1/chat/completions", { model, messages: said }],
    ["a completion's events", "/v1/chat/completions", { model, messages: said, stream: true }],
    ["a response", "/v1/responses", { model, input: "\ud83d" }],
    ["a response's events", "/v1/responses", { model, input: "\ud83d", stream: true }],
    ["a run", "/runs", { prompt: "\ud83d", options: { provider: "mock" } }],
    ["a call", "/llm/call", { prompt: "\ud83d", options: { provider: "mock" } }],
    ["a problem", "/llm/call", { prompt: "x", options: { "\ud83d": 1 } }],
    ["an error of /v1", "/v1/messages", { model: "skill/\ud83d", max_tokens: 9, messages: said }],
    ["an answer", "/sessions", { metadata: { "\ud83d": "\ude00" } }],
    ["an event", "/llm/stream", { prompt: "\ud83d", options: { provider: "mock" } }],
  ])("%s has no half of a surrogate pair, which many readers of JSON refuse", async (_, path, body) => {
    const response = await (body === undefined ? client.fetch(path) : client.post(path, body));
    const text = await response.text();
    expect(text).toMatch(/\\ufffd|\ufffd/);
    expect(text).not.toMatch(/\\ud[89a-f]/);
  });

  it("a sane request id is kept, another is replaced", async () => {
    const id = async (sent: string) =>
      (await client.fetch("/healthz", { headers: { "x-request-id": sent } })).headers.get("x-request-id");
    expect(await id("my-request.1")).toBe("my-request.1");
    expect(await id("short")).not.toBe("short");
    expect(await id("with blank in it")).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("attack: HTML that a model writes is a download", async () => {
    await client.fetch("/sessions", { method: "POST", body: '{"id":"writer"}' });
    for (const path of ["/skills/writes", "/skills/writes?session_id=writer"]) {
      const { headers } = await client.fetch(path, { method: "POST", body: "<script>" });
      expect([path, headers.get("content-type")]).toEqual([path, "text/html"]);
      expect(headers.get("content-disposition")).toBe("attachment");
    }
  });

  it.each([
    ["alone", ""],
    ["in a session", "?session_id=names"],
  ])("a run names itself, its skill and its usage, %s", async (_, query) => {
    await client.fetch("/sessions", { method: "POST", body: '{"id":"names"}' });
    const { headers } = await client.fetch(`/skills/cat${query}`, { method: "POST", body: "hi" });
    expect(headers.get("x-hull-execution-id")).toMatch(/^ex_[0-9a-f]{32}$/);
    expect(headers.get("x-hull-skill")).toMatch(/^cat@[0-9a-f]{12}$/);
    expect(headers.get("x-hull-usage")).toBe("input=2;output=30;rounds=1;tools=0");
    expect(headers.get("x-hull-finish-reason")).toBe("stop");
    expect(headers.get("cache-control")).toBe("no-store");
  });
});

describe("S53: the listing of 500 skills", () => {
  const many = new Client();
  beforeAll(async () => {
    const before = await many.env.SKILLS.get<{ id: string }>("catalog:current", "json");
    if (before === null) throw new TypeError("no catalog is served");
    const names = Array.from({ length: 500 }, (_, n) => `skill-${n}`);
    await many.publish(
      Object.fromEntries(names.map((name, n) => [name, mockSkill(name, n % 5 === 0 ? "input: none\n" : "")])),
    );
    return () => many.serve(before.id);
  });

  it("has pages of 100 cards, their total, and filters", async () => {
    let next = "/skills";
    const slugs = new Set<string>();
    for (let page = 1; page <= 5; page++) {
      const response = await many.fetch(next);
      const text = await response.text();
      const cards: { slug: string; doc?: string }[] = JSON.parse(text);
      expect(cards).toHaveLength(100);
      expect(text).not.toContain('"doc"');
      expect(response.headers.get("x-total-count")).toBe("500");
      for (const { slug } of cards) slugs.add(slug);
      next = /<([^>]+)>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1] ?? "";
      expect(next !== "").toBe(page < 5);
      // A list with all of 500 cards would be 470 KB.
      expect(text.length).toBeLessThan(470_000);
    }
    expect(slugs.size).toBe(500);
    const total = async (query: string): Promise<(string | null)[]> => {
      const { headers } = await many.fetch(`/skills?${query}`);
      return [headers.get("x-total-count"), headers.has("link") ? "more" : null];
    };
    expect(await total("q=skill-49")).toEqual(["11", null]);
    expect(await total("mode=llm")).toEqual(["500", "more"]);
    expect(await total("mode=script")).toEqual(["0", null]);
    expect(await total("mode=llm&q=skill-7&limit=10")).toEqual(["11", "more"]);
  });
});

describe("the listing", () => {
  it("S53: cursors, search in any letter case and Unicode form, invalid parameters", async () => {
    const first = await client.fetch("/skills?limit=3");
    expect(await first.json()).toHaveLength(3);
    expect(first.headers.get("x-total-count")).toBe("8");
    const link = /<([^>]+)>; rel="next"/.exec(first.headers.get("link") ?? "")?.[1];
    const second = await client.fetch(link ?? "");
    const slugs = (await second.json<{ slug: string }[]>()).map((card) => card.slug);
    expect(slugs).toEqual(["keyed", "quiet", "shaped"]);
    // The skill has its ü in Unicode's form NFD.
    for (const [query, slug] of Object.entries({ DOG: "dog", "NEEDS+SCHLÜSSEL": "keyed" })) {
      const found = await (await client.fetch(`/skills?q=${query}`)).json<{ slug: string }[]>();
      expect(found.map((card) => card.slug)).toEqual([slug]);
    }
    expect(await (await client.fetch("/skills?mode=script")).json()).toEqual([]);
    for (const query of ["limit=0", "limit=1001", "limit=x", "mode=lmm"]) {
      expect((await client.fetch(`/skills?${query}`)).status).toBe(400);
    }
  });

  it("S55: is not sent again while nothing was published", async () => {
    const etag = (await client.fetch("/skills")).headers.get("etag") ?? "";
    const again = await client.fetch("/skills", { headers: { "if-none-match": etag } });
    expect(again.status).toBe(304);
    expect(await again.text()).toBe("");
    const card = await client.fetch("/skills/cat");
    const tag = card.headers.get("etag") ?? "";
    expect((await client.fetch("/skills/cat", { headers: { "if-none-match": tag } })).status).toBe(304);
  });

  it("the index is a page for people, JSON for programs, and escapes the texts of skills", async () => {
    const page = await client.fetch("/");
    expect(page.headers.get("content-type")).toContain("text/html");
    expect(await page.text()).toContain("The cat skill");
    const json = await client.fetch("/", { headers: { accept: "application/json" } });
    expect(await json.json()).toMatchObject({ skills: 8 });
  });
});

describe("inputs", () => {
  const post = (path: string, type: string | null, body: BodyInit) =>
    client.fetch(path, { method: "POST", headers: type === null ? {} : { "content-type": type }, body });
  const form = (name: string, value: string): FormData => {
    const data = new FormData();
    data.set(name, value);
    return data;
  };

  it.each<[string, string | null, BodyInit, number, string]>([
    ["plain text", "text/plain", "hello", 200, "hello"],
    ["what curl --data sends", "application/x-www-form-urlencoded", "a=1&b=2", 200, "a=1&b=2"],
    ["a JSON string", "application/json", '"hello"', 200, "hello"],
    [
      "a byte order mark before it",
      "application/json",
      '\ufeff{"input":{"id":12345678901234567890}}',
      200,
      '{"id":12345678901234567890}',
    ],
    ["a JSON envelope", "application/json", '{"input":"hello"}', 200, "hello"],
    ["an object inside it", "application/json", '{"input":{"a":1}}', 200, '{"a":1}'],
    [
      "a long number inside it",
      "application/json",
      '{"input":{"id": 1234567890123456789}}',
      200,
      '{"id":1234567890123456789}',
    ],
    ["a multipart field", null, form("prompt", "hello"), 200, "hello"],
    ["S61: broken JSON", "application/json", '{"input": ', 400, "malformed_json"],
    ["S62: an object without input", "application/json", '{"a":1}', 422, "input_invalid"],
    ["S62: an array", "application/json", "[1]", 422, "input_invalid"],
    ["a number", "application/json", "5", 422, "input_invalid"],
    ["null input", "application/json", '{"input":null}', 422, "input_required"],
    ["S64: an image", "image/png", "x", 415, "unsupported_media_type"],
    ["invalid UTF-8", "text/plain", Uint8Array.of(0xff, 0xfe), 400, "bad_encoding"],
    ["multipart without boundary", "multipart/form-data", "x", 400, "malformed_multipart"],
    ["S111: nothing", "text/plain", "", 422, "input_required"],
    ["blanks", "text/plain", " \n", 422, "input_required"],
  ])("%s", async (_, type, body, status, expected) => {
    const response = await post("/skills/cat", type, body);
    expect(response.status).toBe(status);
    if (status === 200) expect(await response.text()).toContain(expected);
    else expect(await problem(response)).toMatchObject({ code: expected });
  });

  it("S61: says where JSON breaks", async () => {
    expect(await problem(await post("/skills/cat", "application/json", '{"a": x}'))).toMatchObject({
      offset: 6,
    });
  });

  it("S65: sizes count actual bytes, declared or not", async () => {
    for (const body of ["12345678901", new Response("12345678901").body]) {
      const response = await client.fetch("/skills/small", { method: "POST", body });
      expect(response.status).toBe(413);
      expect(await problem(response)).toMatchObject({ code: "body_too_large", limit: 10 });
    }
    expect((await post("/skills/small", "text/plain", "1234567890")).status).toBe(200);
  });

  it("attack: JSON of millions of small values is refused before it is parsed", async () => {
    const body = (count: number, value: string) => `{"input":[${`${value},`.repeat(count - 1)}${value}]}`;
    for (const value of ["{}", "[]", '"],{"']) {
      const large = await post("/skills/shaped", "application/json", body(1_000_001, value));
      expect(large.status).toBe(422);
      expect(await problem(large)).toMatchObject({
        code: "input_invalid",
        detail: "The body has more than 1000000 values. Send the data in parts, or as one JSON string.",
      });
    }
    const whole = await post("/skills/cat", "application/json", body(900_000, "1"));
    expect(whole.status).toBe(200);
    expect(await whole.text()).toContain(`[${"1,".repeat(20)}`);
  });

  it("S65: a schema's faults have pointers, and a schema requires JSON", async () => {
    const response = await post("/skills/shaped", "application/json", '{"input":{"n":"x"}}');
    expect(response.status).toBe(422);
    const body = await problem(response);
    expect(body.code).toBe("input_schema_mismatch");
    expect(body.errors).toMatchObject([{ pointer: "/n" }]);
    expect((await post("/skills/shaped", "application/json", '{"input":{"n":1}}')).status).toBe(200);
    expect((await post("/skills/shaped", "text/plain", "n=1")).status).toBe(415);
  });

  it.each([
    ["/skills/cat", "text/plain"],
    ["/skills/cat", "application/json"],
    ["/llm/call", "application/json"],
  ])("a compressed body is refused as such: %s, %s", async (path, type) => {
    const headers = { "content-type": type, "content-encoding": "gzip" };
    const response = await client.fetch(path, { method: "POST", headers, body: "x" });
    expect(response.status).toBe(415);
    expect((await problem(response)).detail).toContain('"content-encoding: gzip" is not accepted');
  });

  it("input: none drops the body", async () => {
    const response = await post("/skills/quiet", "image/png", "x");
    expect(response.status).toBe(200);
  });
});

describe("failures", () => {
  it("S93, S76: a missing key is 503 with its variable, streamed or not", async () => {
    for (const path of ["/skills/keyed", "/skills/keyed?stream=1"]) {
      const response = await client.fetch(path, { method: "POST", body: "hi" });
      expect(response.status).toBe(503);
      expect(await problem(response)).toMatchObject({
        code: "provider_not_configured",
        variable: "OPENAI_API_KEY",
        detail: expect.not.stringContaining("It was chosen ."),
        request_id: response.headers.get("x-request-id"),
      });
      expect(response.headers.has("retry-after")).toBe(false);
    }
  });

  it.each<[path: string, asked: object, key?: string]>([
    ["/llm/call", { prompt: "x" }],
    ["/llm/call", { prompt: "x" }, "kept"],
    ["/llm/stream", { prompt: "x" }],
    ["/llm/completion", { prefix: "x" }],
    ["/runs", { prompt: "x" }],
  ])("S76: a missing key is 503 for events of %s with %j %s", async (path, asked, key) => {
    const response = await client.fetch(path, {
      method: "POST",
      headers: { accept: "text/event-stream", ...(key === undefined ? {} : { "idempotency-key": key }) },
      body: JSON.stringify({ ...asked, options: { provider: "openai" } }),
    });
    expect([response.status, await problem(response)]).toMatchObject([
      503,
      { code: "provider_not_configured", variable: "OPENAI_API_KEY" },
    ]);
  });

  it("a body over the JSON limit and unknown fields are refused with their path", async () => {
    const unknown = await client.post("/_hull/catalog", { id: "0".repeat(64), extra: 1 });
    expect(unknown.status).toBe(422);
    const large = await client.post("/_hull/catalog", { id: "x".repeat(1_100_000) });
    expect(large.status).toBe(413);
  });

  const many = (count: number) => Array.from({ length: count }, () => 0);
  const names = (count: number) => Object.fromEntries(many(count).map((_, n) => [`k${n}`, 0]));
  it.each<[string, string, object]>([
    ["messages", "/runs", { prompt: "x", options: { provider: "mock", messages: many(190_000) } }],
    ["tools", "/runs", { prompt: "x", options: { provider: "mock", tools: many(190_000) } }],
    ["stop words", "/llm/call", { prompt: "x", options: { provider: "mock", stop: many(190_000) } }],
    ["options", "/llm/call", { prompt: "x", options: names(90_000) }],
    ["messages of a transcript", "/transcripts/stats", { messages: many(190_000) }],
    ["fields", "/transcripts/stats", { messages: [], ...names(90_000) }],
    ["tools of a node", "/tasks", { task: "x", node: { tools: many(190_000) } }],
  ])("attack: endless faulty %s are reported in part", async (_, path, body) => {
    const response = await client.post(path, body);
    const { code, errors } = await response.json<{ code: string; errors: object[] }>();
    expect([response.status, code]).toEqual([422, "input_invalid"]);
    expect(errors.length).toBeLessThanOrEqual(50);
  });

  it("attack: a body of more values than an isolate checks is refused before it is parsed", async () => {
    const long = { prompt: '\\",[{'.repeat(300_000), options: { provider: "mock" } };
    expect((await client.post("/llm/call", long)).status).toBe(200);
    for (const messages of [many(200_000), many(200_000).map(() => []), many(110_000).map(() => ({}))]) {
      const response = await client.post("/llm/call", { messages });
      expect(response.status).toBe(422);
      expect(await response.json()).toMatchObject({ detail: "The body has more than 200000 values." });
    }
    const vendor = await client.post("/v1/messages", { model: "x", max_tokens: 5, messages: many(200_000) });
    expect(vendor.status).toBe(400);
  });

  it("the runner out of reach is 503 with Retry-After, which nothing may store", async () => {
    const offline = new Client({ HULL_ENV: "local", HULL_RUNNER_URL: "http://127.0.0.1:1" });
    const response = await offline.fetch("/readyz");
    const { headers } = response;
    expect([response.status, headers.get("retry-after"), headers.get("cache-control")]).toEqual([
      503,
      "2",
      "no-store",
    ]);
    expect(await response.json()).toMatchObject({ catalog: "ok", runner: "runner_unavailable" });
  });
});

describe("S80 in small: events of a mock run", () => {
  it.each([
    ["text/event-stream;q=0, */*", "text/plain; charset=utf-8"],
    ["text/event-stream; q=0.0, text/plain", "text/plain; charset=utf-8"],
    ["text/event-stream;q=0.1, */*;q=0", "text/event-stream; charset=utf-8"],
  ])("Accept: %s is answered as %s", async (accept, type) => {
    const response = await client.fetch("/skills/cat", { method: "POST", body: "one", headers: { accept } });
    expect(response.headers.get("content-type")).toBe(type);
    await response.text();
  });

  it("start first, deltas in order, done last, ids counted", async () => {
    const response = await client.fetch("/skills/cat", {
      method: "POST",
      body: "one two",
      headers: { accept: "text/event-stream" },
    });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    // For proxies that would collect or compress them.
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    expect(response.headers.get("cache-control")).toBe("no-store, no-transform");
    const events = (await response.text()).trim().split("\n\n").map(parseEvent);
    expect(events.map((event) => event.id)).toEqual(
      events.map((_, i) => `${events[0]?.id.split(":")[0]}:${i + 1}`),
    );
    const names = events.map((event) => event.event);
    expect(names[0]).toBe("start");
    expect(names.at(-1)).toBe("done");
    const text = events.filter((e) => e.event === "delta").map((e) => e.data.text);
    expect(text.length).toBeGreaterThan(3);
    const plain = await client.fetch("/skills/cat", { method: "POST", body: "one two" });
    expect(text.join("")).toBe(await plain.text());
  });
});

function parseEvent(block: string): { id: string; event: string; data: Record<string, unknown> } {
  const field = (name: string): string => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1] ?? "";
  return { id: field("id"), event: field("event"), data: JSON.parse(field("data")) };
}
