/** POST /llm/* through HTTP against a fake provider. */
import { describe, expect, test } from "vitest";
import { commonHull, UNSET } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";
import { dataOf, readEvents, textOf } from "../support/sse.ts";

const CANARY = "sk-openai-e2e-key";
const OTHER = "Bearer sk-DEEPSEEK-e2e-key";
const SCHEMA = {
  type: "object",
  required: ["name"],
  properties: { name: { type: "string" } },
  additionalProperties: false,
};

const { hull, fake } = await commonHull({
  "a/SKILL.md": "---\nname: a\ndescription: Test.\nprovider: mock\n---\nHi.\n",
});

type Result = Record<string, unknown> & {
  transcript: { id: string; messages: unknown[]; events: { kind: string }[] };
};
const OPENAI = { provider: "openai", model: "gpt-4o", llm_backoff_ms: 0 };
const VLLM = { provider: "vllm", model: "m", llm_backoff_ms: 0 };
const CLAUDE = { provider: "anthropic", model: "claude-opus-4-6", llm_backoff_ms: 0 };

const call = (options: object, prompt = "hello", more: object = {}): Promise<Response> =>
  hull.post("/llm/call", { prompt, options, ...more });
async function ok(response: Response): Promise<Result> {
  const body = await json<Result>(response);
  expect([response.status, body.detail]).toEqual([200, undefined]);
  return body;
}
const problem = async (response: Response) => {
  const body = await json(response);
  return { status: response.status, code: body.code, body };
};
const bodyAt = (n: number, provider = fake): Record<string, unknown> => ({ ...provider.requests[n]?.body });

describe("a call", () => {
  test("has every canonical key", async () => {
    fake.script([{ text: "Four.", usage: { input: 10, output: 2, cache_read: 4 }, stop: "length" }]);
    const result = await ok(await call({ ...OPENAI, provider: "auto" }, "2+2?", { system: "Be brief." }));
    expect(result).toMatchObject({
      text: "Four.",
      visible_text: "Four.",
      provider: "openai",
      input_tokens: 10,
      output_tokens: 2,
      cache_read_tokens: 4,
      cache_creation_input_tokens: 0,
      stop_reason: "max_tokens",
      raw_stop_reason: "length",
      blocks: [{ type: "output_text", text: "Four.", visibility: "public" }],
    });
    expect(result.usage).toMatchObject({ cache_hit_ratio: 0.4, price_known: true });
    expect(result.transcript.messages).toHaveLength(2);
    expect(fake.requests[0]?.body.messages[0]).toEqual({ role: "system", content: "Be brief." });
  });

  test("costs what its provider's protocol says: Anthropic counts cached tokens separately from the input", async () => {
    fake.script([{ text: "Four.", usage: { input: 1000, output: 2, cache_read: 300, cache_write: 200 } }]);
    const { usage } = await ok(await call({ provider: "anthropic", model: "claude-opus-4-7" }, "2+2?"));
    const usd = (1000 * 5 + 300 * 0.5 + 200 * 6.25 + 2 * 25) / 1e6;
    expect(usage).toMatchObject({ cost_usd: expect.closeTo(usd, 9), price_known: true });
  });

  test("continues a transcript, whose id stays", async () => {
    const first = await ok(await call(OPENAI, "one"));
    const second = await ok(await call({ ...OPENAI, transcript: first.transcript }, "two"));
    expect(second.transcript.id).toBe(first.transcript.id);
    expect(fake.requests[1]?.body.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  });

  test("streams text and reasoning, and ends with its result", async () => {
    fake.script([{ text: ["a ", "b ", "c"], reasoning: "hm" }]);
    const response = await hull.post("/llm/stream", { prompt: "x", options: CLAUDE });
    const events = await readEvents(response);
    expect(dataOf(events, "delta").map(({ text }) => text)).toEqual(["a ", "b ", "c"]);
    expect(
      dataOf(events, "thought")
        .map(({ text }) => text)
        .join(""),
    ).toBe("hm");
    expect(events.at(-1)?.event).toBe("done");
    expect(dataOf(events, "done")[0]).toMatchObject({ ok: true, text: "a b c", private_reasoning: "hm" });
    expect(textOf(events, "delta")).toBe("a b c");
  });

  test.each([
    [{ response_format: "xml" }, 400, "response_format"],
    [{ schema: "x" }, 422, "schema"],
    [{ temprature: 1 }, 422, "temperature"],
    [{ max_tokens: "many" }, 422, "max_tokens"],
    [{ output_format: { kind: "yaml" } }, 400, "output_format"],
    [{ output_format: { kind: "json_schema" } }, 400, "output_format.schema"],
    [{ output_format: "json_schema" }, 400, "output_format.schema"],
    [{ thinking: true, reasoning_effort: "low" }, 400, "reasoning_effort"],
    [{ thinking: true }, 400, "thinking"],
    [
      { tools: [{ name: "a", description: "b", parameters: {}, defer_loading: "yes" }] },
      422,
      "defer_loading",
    ],
    [{ tool_search: { variant: "fuzzy" } }, 400, "tool_search.variant"],
    [{ provider: "nope" }, 400, "nope"],
    [{ fallback_chain: ["nope"] }, 400, "nope"],
    [{ budget: { max_cost_usd: -1 } }, 422, "max_cost_usd"],
    [{ messages: [{ role: "user", content: [{ type: "image", url: "file:///x" }] }] }, 400, "messages.0"],
    [{ messages: [{ role: "wizard", content: "" }] }, 422, String.raw`got \"wizard\"`],
  ])("is refused before anything is sent: %j", async (options, status, named) => {
    const { status: got, body } = await problem(await call({ ...OPENAI, ...options }));
    expect([got, JSON.stringify(body).includes(named)]).toEqual([status, true]);
    expect(fake.requests).toHaveLength(0);
  });

  test("reports what had no effect", async () => {
    const result = await ok(await call({ ...OPENAI, top_k: 5 }));
    expect(bodyAt(0)).not.toHaveProperty("top_k");
    expect(result.warnings).toMatchObject([{ option: "top_k" }]);
  });
});

describe("structured answers", () => {
  test("a bad answer is followed by one correction, not replayed", async () => {
    fake.script([{ text: "no json" }, { text: '{"name":"x"}' }]);
    const result = await ok(await call({ ...OPENAI, json_schema: SCHEMA }));
    expect(result.data).toEqual({ name: "x" });
    const second = fake.requests[1]?.body.messages ?? [];
    expect(second.map(({ role }) => role)).toEqual(["user", "user"]);
    expect(String(second[1]?.content)).toContain("schema");
    expect(bodyAt(0).response_format).toMatchObject({
      type: "json_schema",
      json_schema: { name: "response" },
    });
  });

  test("the schema of output_format may be in an option of its own", async () => {
    for (const output_format of ["json_schema", { kind: "json_schema", strict: false }]) {
      fake.script([{ text: '{"n": 1}' }]);
      const schema = { type: "object", properties: { n: { type: "integer" } } };
      const result = await ok(await call({ ...OPENAI, output_format, schema }));
      const { strict = true } = typeof output_format === "string" ? {} : output_format;
      expect([result.data, bodyAt(0).response_format]).toMatchObject([
        { n: 1 },
        { type: "json_schema", json_schema: { schema, strict } },
      ]);
      fake.requests.length = 0;
    }
  });

  test("without retries it is an error where that was asked for, and returned where not", async () => {
    fake.script(() => ({ text: "no json" }));
    const strict = { ...OPENAI, schema: SCHEMA, schema_retries: 0, output_validation: "error" };
    const { status, code } = await problem(await call(strict));
    expect([status, code, fake.requests.length]).toEqual([422, "schema_validation", 1]);
    expect(await ok(await call({ ...strict, output_validation: "off" }))).not.toHaveProperty("data");
  });

  test("Anthropic must call a tool, and its arguments are the data", async () => {
    fake.script([{ tool_calls: [{ name: "json_response", arguments: { name: "x" } }] }]);
    const result = await ok(await call({ ...CLAUDE, schema: SCHEMA }));
    expect(result).toMatchObject({ data: { name: "x" }, text: '{"name":"x"}', stop_reason: "end_turn" });
    expect(result).not.toHaveProperty("tool_calls");
    expect(bodyAt(0).tool_choice).toEqual({ type: "tool", name: "json_response" });
  });

  test("the envelope: extracted, repaired, given up", async () => {
    const ask = (options: object) =>
      hull.post("/llm/structured", { prompt: "x", schema: SCHEMA, options: { ...OPENAI, ...options } });
    fake.script([{ text: 'Sure:\n```json\n{"name":"x"}\n```' }]);
    expect(await ok(await ask({}))).toMatchObject({
      ok: true,
      data: { name: "x" },
      extracted_json: true,
      attempts: 1,
    });
    fake.script([{ text: '{"name":"x"}' }]);
    expect(await ok(await ask({ top_k: 3 }))).toMatchObject({ warnings: [{ option: "top_k" }] });
    fake.script([{ text: "name is x" }, { text: '{"name":"x"}' }]);
    const repaired = await ok(await ask({ retries: 0, repair: { enabled: true } }));
    expect(repaired).toMatchObject({ ok: true, repaired: true, data: { name: "x" } });
    // The provider takes no top_k, which both calls have, and no cache, for which the repair does not ask.
    const warned = { retries: 0, top_k: 3, cache: true, repair: { enabled: true, cache: false } };
    const warnings = [{ option: "top_k" }, { option: "cache" }];
    fake.script([{ text: "name is x" }, { text: '{"name":"x"}' }]);
    expect(await ok(await ask(warned))).toMatchObject({ repaired: true, warnings });
    fake.script(() => ({ text: "still text" }));
    const failed = await ok(await ask({ retries: 0, repair: { enabled: true } }));
    expect(failed).toMatchObject({ ok: false, error_category: "repair_failed", data: null });
    expect(await ok(await ask(warned))).toMatchObject({ ok: false, warnings });
    expect(await ok(await ask({ retries: 1 }))).toMatchObject({
      ok: false,
      error_category: "missing_json",
      attempts: 2,
    });
    fake.script(() => ({ status: 401 }));
    expect(await ok(await ask({}))).toMatchObject({ ok: false, error_category: "auth" });
    const asked = { prompt: "x", schema: SCHEMA, options: OPENAI };
    const events = await readEvents(
      await hull.post("/llm/structured", asked, { accept: "text/event-stream" }),
    );
    expect(events.map(({ event }) => event)).toEqual(["start", "done"]);
    expect(events[1]?.data).toMatchObject({ ok: false, error_category: "auth", usage: null });
  });

  test("a hostile schema is refused at once", async () => {
    const { status } = await problem(await call({ ...OPENAI, schema: { $ref: "#" } }));
    expect([status, fake.requests.length]).toEqual([400, 0]);
  });
});

describe("failures", () => {
  test.each([
    [{ status: 401 }, 502, "provider_auth_failed", "auth"],
    [
      { status: 400, body: { error: { message: "maximum context length is 8192" } } },
      400,
      "context_overflow",
      "generic",
    ],
    [{ status: 429, body: { error: { message: "context length" } } }, 400, "context_overflow", "generic"],
    [{ status: 404, body: { error: { message: "model_not_found" } } }, 502, "model_unavailable", "not_found"],
    [{ status: 429, headers: { "retry-after": "600" } }, 429, "provider_rate_limited", "rate_limit"],
    [{ body: "<html>", headers: { "content-type": "text/html" } }, 502, "provider_bad_response", "generic"],
  ])("%j becomes an error of its class, with its HTTP status", async (turn, status, code, category) => {
    fake.script(() => turn);
    const { status: got, code: told, body } = await problem(await call({ ...OPENAI, llm_retries: 0 }));
    expect([got, told, body.category]).toEqual([status, code, category]);
    expect(String(body.detail)).toContain("status" in turn ? `HTTP ${turn.status}` : "openai");
  });

  test.each([
    [{ status: 400, body: { error: { message: "rate_limit reached" } } }, 429, "5"],
    [{ status: 402, body: { error: { code: "insufficient_quota" } } }, 429, "5"],
    [{ body: { error: { message: "rate_limit reached" } } }, 429, "5"],
    [{ status: 400, body: "overloaded_error", headers: { "retry-after": "1.5" } }, 503, "2"],
    [{ status: 400 }, 400, null],
  ])("%j says when to try again, whatever its HTTP status", async (turn, status, after) => {
    fake.script(() => turn);
    const response = await call({ ...OPENAI, llm_retries: 0 });
    expect([response.status, response.headers.get("retry-after")]).toEqual([status, after]);
  });

  test("are retried if they are transient", async () => {
    fake.script([{ status: 503 }, { status: 503 }, { text: "ok" }]);
    expect((await ok(await call(OPENAI))).text).toBe("ok");
    fake.script(() => ({ status: 503 }));
    const { status, body } = await problem(await call(OPENAI));
    expect([status, body.kind, body.reason, fake.requests.length]).toEqual([
      503,
      "transient",
      "server_error",
      6,
    ]);
  });

  test("a stream that breaks off after text is requested again, and its text is void", async () => {
    await hull.post("/sessions", { id: "broken-off" });
    for (const path of ["/llm/stream", "/runs", "/sessions/broken-off/runs"]) {
      fake.script([{ text: ["half "], cut: true }, { text: "whole" }]);
      const body = { prompt: "hello", options: { ...OPENAI, llm_retries: 1 } };
      const events = await readEvents(await hull.post(path, body, { accept: "text/event-stream" }));
      const restart = events.findIndex(({ data }) => data.restarted === true);
      expect(events[restart], path).toMatchObject({ event: "round", data: { round: 1 } });
      expect(textOf(events.slice(0, restart), "delta")).toBe("half ");
      expect(textOf(events.slice(restart), "delta")).toBe("whole");
      expect(dataOf(events, "done")).toMatchObject([{ ok: true, text: "whole" }]);
    }
  });

  test("the next provider answers after text, too", async () => {
    fake.script([{ text: ["half "], cut: true }, { text: "from the next" }]);
    const options = { ...OPENAI, llm_retries: 0, fallback_chain: ["vllm"] };
    expect(await ok(await call(options))).toMatchObject({ provider: "vllm", text: "from the next" });
  });

  test("a missing key names its variable", async () => {
    const { status, body } = await problem(await call({ provider: UNSET.provider }));
    expect([status, body.code, body.variable]).toEqual([503, "provider_not_configured", UNSET.variable]);
  });

  test("the next provider answers, and the result names it; if none does, the error is the first one's", async () => {
    const failing = (status: number) => {
      fake.requests.length = 0;
      fake.script(({ headers }) => (headers.authorization === OTHER ? { status } : { status: 503 }));
    };
    failing(200);
    const chain = { ...OPENAI, llm_retries: 0, fallback_chain: ["deepseek"] };
    const result = await ok(await call(chain));
    expect(result).toMatchObject({
      provider: "deepseek",
      routing: { answered_by: { provider: "deepseek" } },
      warnings: [
        { code: "fallback_answered", message: expect.stringContaining("openai/gpt-4o, which failed") },
      ],
    });
    expect(fake.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${CANARY}`, OTHER]);
    expect(bodyAt(1).model).toBe("gpt-4o");
    failing(500);
    expect((await problem(await call(chain))).body.provider).toBe("openai");
  });

  test("a key that a provider echoes appears nowhere", async () => {
    fake.script(() => ({ status: 400, body: { error: { message: `bad key ${CANARY}` } } }));
    const response = await call({ ...OPENAI, llm_retries: 0 });
    expect(await response.text()).not.toContain(CANARY);
    fake.script([{ text: ["your key is sk-ope", "nai-e2e-key, keep it"] }]);
    const events = await readEvents(await hull.post("/llm/stream", { prompt: "x", options: OPENAI }));
    expect(JSON.stringify(events)).not.toContain(CANARY);
    expect(hull.output()).not.toContain(CANARY);
  });
});

describe("tools", () => {
  const tool = (name: string, defer_loading = false) => ({
    name,
    description: `The tool ${name.replaceAll("_", " ")}`,
    parameters: { path: { type: "string", description: "where" } },
    ...(defer_loading ? { defer_loading } : {}),
  });
  const names = (n: number): unknown[] =>
    (fake.requests[n]?.body.tools ?? []).map((item) => {
      const told = JSON.parse(JSON.stringify(item));
      return told.function?.name ?? told.name;
    });

  test("calls come back with their arguments", async () => {
    fake.script([{ tool_calls: [{ name: "read", arguments: { path: "a" } }] }]);
    const result = await ok(await call({ ...OPENAI, tools: [tool("read")], tool_choice: "required" }));
    expect(result.tool_calls).toMatchObject([{ name: "read", arguments: { path: "a" } }]);
    expect(result.stop_reason).toBe("tool_use");
    expect(bodyAt(0).tool_choice).toBe("required");
  });

  test("client mode searches, promotes and asks again, as the provider's own would", async () => {
    const searches = [{ name: "hull_tool_search", arguments: { query: "open file" } }];
    fake.script([
      { text: "I look. ", tool_calls: searches },
      { text: "There.", tool_calls: [{ name: "open_file", arguments: { path: "a" } }] },
    ]);
    const tools = [tool("eager"), tool("open_file", true), tool("deploy", true)];
    const result = await ok(await call({ ...OPENAI, tools, tool_search: true, interleaved_thinking: true }));
    expect(result.warnings).toMatchObject([{ code: "option_ignored", option: "interleaved_thinking" }]);
    expect(names(0)).toEqual(["hull_tool_search", "eager"]);
    expect(names(1)).toEqual(["hull_tool_search", "eager", "open_file"]);
    expect(result.tool_calls).toMatchObject([{ name: "open_file" }]);
    expect(result.text).toBe("I look. There.");
    expect(result.blocks).toMatchObject([
      { type: "output_text", text: "I look. " },
      { type: "tool_search_query", query: { query: "open file" }, visibility: "internal" },
      { type: "tool_search_result", tool_references: [{ tool_name: "open_file" }] },
      { type: "output_text", text: "There." },
      { type: "tool_call", name: "open_file" },
    ]);
    expect(result.transcript.events.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(["tool_search_query", "tool_search_result"]),
    );
  });

  test("a native search that the provider refuses is made once more by Hull", async () => {
    fake.script([{ status: 400, body: { error: { message: "unknown tool type" } } }, { text: "ok" }]);
    const tools = [tool("eager"), tool("late", true)];
    const options = { ...CLAUDE, tools, tool_search: "bm25", llm_retries: 0 };
    const result = await ok(await call(options));
    expect(JSON.stringify(bodyAt(0).tools)).toContain("tool_search_tool_bm25_20251119");
    expect(JSON.stringify(bodyAt(1).tools)).not.toContain("tool_search_tool_bm25_20251119");
    expect(JSON.stringify(result.warnings)).toContain("tool_search");
  });

  test("after a refused native search, Hull searches in this run and in later runs of the session with this model", async () => {
    const tools = [tool("eager"), tool("late", true)];
    const options = { ...CLAUDE, tools, tool_search: "bm25", llm_retries: 0 };
    await hull.post("/sessions", { id: "searching" });
    const run = async (more = {}) =>
      json<Result>(
        await hull.post("/sessions/searching/runs", { prompt: "go", options: { ...options, ...more } }),
      );
    fake.script([{ status: 400, body: { error: { message: "unknown tool type" } } }, { text: "ok" }]);
    const fellBack = await run();
    expect(fellBack).toMatchObject({
      status: "done",
      text: "ok",
      warnings: [{ code: "tool_search_fallback" }],
    });
    await run();
    await run({ model: "claude-sonnet-4-5" });
    expect(fake.requests.map((_, n) => names(n)[0])).toEqual([
      "tool_search_tool_bm25",
      "hull_tool_search",
      "hull_tool_search",
      "tool_search_tool_bm25",
    ]);
  });

  test("calls with a session remember a refused search too, and runs of the session with them", async () => {
    const tools = [tool("eager"), tool("late", true)];
    const options = { ...CLAUDE, tools, tool_search: "bm25", llm_retries: 0, session_id: "calling" };
    await hull.post("/sessions", { id: "calling" });
    fake.script([{ status: 400, body: { error: { message: "unknown tool type" } } }, { text: "ok" }]);
    expect((await ok(await call(options))).warnings).toMatchObject([{ code: "tool_search_fallback" }]);
    await ok(await call(options));
    const { session_id: _, ...own } = options;
    await hull.post("/sessions/calling/runs", { prompt: "go", options: own });
    await ok(await call(own));
    expect(fake.requests.map((_, n) => names(n)[0])).toEqual([
      "tool_search_tool_bm25",
      "hull_tool_search",
      "hull_tool_search",
      "hull_tool_search",
      "tool_search_tool_bm25",
    ]);
  });

  test("a refusal belongs to the model that was refused, also in the first call of a run", async () => {
    const refuses = { status: 400, body: { error: { message: "unknown tool type" } } };
    const tools = [tool("eager"), tool("late", true)];
    const options = { ...CLAUDE, tools, tool_search: "bm25", llm_retries: 0 };
    await hull.post("/sessions", { id: "falling" });
    const run = async (more = {}) =>
      json<Result>(
        await hull.post("/sessions/falling/runs", { prompt: "go", options: { ...options, ...more } }),
      );
    fake.script([{ status: 503 }, refuses, { status: 503 }, { text: "ok" }]);
    const first = await run({ fallback_chain: ["openai"] });
    expect(first).toMatchObject({ status: "done", text: "ok" });
    expect(first.warnings).toMatchObject([
      { code: "tool_search_fallback", message: expect.stringMatching(/^openai refused/) },
      {
        code: "fallback_answered",
        message: expect.stringMatching(/^openai\/\S+ answered in place of anthropic/),
      },
    ]);
    await run();
    const asked = fake.requests.map(({ path, body }) => [
      path.endsWith("/messages"),
      JSON.stringify(body.tools),
    ]);
    const searches = /tool_search_tool_bm25_|"type":"tool_search"/;
    expect(asked.map(([own, sent]) => [own, searches.test(String(sent))])).toEqual([
      [true, true],
      [false, true],
      [true, false],
      [false, false],
      [true, true],
    ]);
  });

  test("a run's transcript lists the provider's own searches, and its result warns about ignored search options", async () => {
    fake.script([{ searches: [{ query: "late", found: ["late"] }], text: "found" }]);
    const options = { ...CLAUDE, tools: [tool("eager"), tool("late", true)] };
    const tool_search = { variant: "regex", name: "finder" };
    await hull.post("/sessions", { id: "found" });
    const result = await json<Result>(
      await hull.post("/sessions/found/runs", { prompt: "go", options: { ...options, tool_search } }),
    );
    expect(result.warnings).toMatchObject([{ code: "option_ignored", option: "tool_search.name" }]);
    expect(result.transcript.events).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: "tool_search_query", role: "assistant" }),
        expect.objectContaining({ kind: "tool_search_result", role: "tool" }),
      ]),
    );
  });

  test("an answer that searches and calls is returned: the search as blocks, the call as a call", async () => {
    const calls = ["hull_tool_search", "eager"].map((name) => ({ name, arguments: { query: "late" } }));
    fake.script([{ tool_calls: calls }]);
    const tools = [tool("eager"), tool("late", true)];
    const result = await ok(await call({ ...OPENAI, tools, tool_search: true }));
    expect(result.tool_calls).toMatchObject([{ name: "eager" }]);
    expect(result.blocks).toMatchObject([
      { type: "tool_search_query" },
      { type: "tool_search_result", tool_references: [{ tool_name: "late" }] },
      { type: "tool_call", name: "eager" },
    ]);
    expect([fake.requests.length, result.transcript.messages.length]).toEqual([1, 2]);
  });

  test("a turn that its provider has paused continues", async () => {
    const paused = { searches: [{ query: "late", found: ["late"] }], stop: "pause_turn" };
    fake.script([paused, { text: "found" }, paused, { text: '{"name": "late"}' }]);
    const options = { ...CLAUDE, tools: [tool("eager"), tool("late", true)], tool_search: "bm25" };
    const result = await ok(await call(options));
    expect(result).toMatchObject({ text: "found", stop_reason: "end_turn", raw_stop_reason: "end_turn" });
    const types = ["tool_search_query", "tool_search_result", "output_text"];
    expect(result.blocks).toMatchObject(types.map((type) => ({ type })));
    const lastRole = (n: number) => fake.requests[n]?.body.messages.at(-1)?.role;
    expect([lastRole(1), result.input_tokens]).toEqual(["assistant", 20]);
    expect((await ok(await call({ ...options, schema: SCHEMA }))).data).toEqual({ name: "late" });
    expect([lastRole(3), fake.requests.length]).toEqual(["assistant", 4]);
  });

  test("a model that does nothing but search is asked five times", async () => {
    fake.script(() => ({ tool_calls: [{ name: "hull_tool_search", arguments: { query: "late" } }] }));
    const tools = [tool("eager"), tool("late", true)];
    const result = await ok(await call({ ...OPENAI, tools, tool_search: true }));
    expect([fake.requests.length, result.tool_calls]).toEqual([5, undefined]);
    expect(result.warnings).toMatchObject([{ code: "tool_search_rounds" }]);
    expect(result.transcript.messages).toHaveLength(10);
    expect(result.input_tokens).toBe(50);
  });

  test("native without support names both remedies", async () => {
    const options = { ...OPENAI, tools: [tool("a")], tool_search: { mode: "native" } };
    const { status, body } = await problem(await call(options));
    expect([status, String(body.detail)]).toEqual([
      400,
      expect.stringMatching(/client.*tool_search|tool_search.*client/s),
    ]);
    expect(
      (await problem(await call({ ...OPENAI, tools: [tool("a", true)], tool_search: true }))).status,
    ).toBe(400);
    expect(fake.requests).toHaveLength(0);
  });

  test("a model without a native channel gets a contract, and its text is read", async () => {
    const written = '<tool_call>{"name":"read","arguments":{"path":"a"}}</tool_call>';
    fake.script([{ text: `I read. ${written}` }, { text: "It says b." }]);
    const options = { ...OPENAI, tool_format: "text", tools: [tool("read")] };
    const result = await ok(await call(options));
    expect(bodyAt(0)).not.toHaveProperty("tools");
    expect(JSON.stringify(fake.requests[0]?.body.messages)).toContain("function read");
    expect(result.tool_calls).toMatchObject([{ name: "read", arguments: { path: "a" } }]);
    const [{ id: tool_call_id }] = Object(result.tool_calls);
    const { transcript } = result;
    await ok(
      await call({ ...options, transcript, messages: [{ role: "tool", tool_call_id, content: "b" }] }),
    );
    expect(fake.requests[1]?.body.messages.slice(1)).toEqual([
      { role: "user", content: "hello" },
      { role: "assistant", content: `I read.\n${written}` },
      { role: "user", content: `<tool_result name="read" id="${tool_call_id}">\nb\n</tool_result>` },
    ]);
  });
});

describe("money", () => {
  test("a call's own budget is checked before it", async () => {
    const { status, body } = await problem(
      await call({ ...OPENAI, max_tokens: 1000, budget: { max_cost_usd: 0.000001 } }),
    );
    expect([status, body.code, fake.requests.length]).toEqual([402, "budget_exceeded", 0]);
    expect(body).toMatchObject({
      limit: "max_cost_usd",
      limit_value: 0.000001,
      provider: "openai",
      model: "gpt-4o",
    });
    await ok(await call({ ...OPENAI, budget: { max_output_tokens: 7 } }));
    expect(bodyAt(0).max_completion_tokens).toBe(7);
  });

  test("the usage of calls adds up for the tenant", async () => {
    const usage = async () => json(await hull.call("/llm/usage", undefined, { method: "GET" }));
    const before = await usage();
    fake.script(() => ({ text: "ok", usage: { input: 100, output: 10 } }));
    await ok(await call(OPENAI));
    await ok(await call(OPENAI));
    await expect
      .poll(async () => {
        const now = await usage();
        return [
          Number(now.input_tokens) - Number(before.input_tokens),
          Number(now.call_count) - Number(before.call_count),
        ];
      })
      .toEqual([200, 2]);
  });
});

test("a completion asks for the text between prefix and suffix", async () => {
  fake.script([{ text: " brown " }]);
  const result = await ok(
    await hull.post("/llm/completion", { prefix: "the quick", suffix: "fox", options: VLLM }),
  );
  expect(result.text).toBe(" brown ");
  expect(fake.requests[0]).toMatchObject({
    path: "/v1/completions",
    body: { prompt: "the quick", suffix: "fox" },
  });
  fake.script([{ text: '{"a":1}' }]);
  await hull.post("/llm/completion", { prefix: "x", options: { ...VLLM, response_format: "json" } });
  expect(fake.requests[1]?.path).toBe("/v1/chat/completions");
  fake.script([{ text: "y" }]);
  await hull.post("/llm/completion", { prefix: "the slow", suffix: "dog", options: OPENAI });
  expect(fake.requests[2]?.path).toBe("/v1/chat/completions");
  expect(JSON.stringify(fake.requests[2]?.body)).toMatch(/the slow.*dog/s);
  // The endpoint for completions takes no conversation.
  const messages = [{ role: "user", content: "Write of animals." }];
  const transcript = { _type: "transcript", version: 2, id: "t", messages, events: [], assets: [] };
  await hull.post("/sessions", { id: "completed", transcript });
  fake.script([{ text: "z" }]);
  await hull.post("/llm/completion", { prefix: "the lazy", options: { ...VLLM, session_id: "completed" } });
  expect(fake.requests[3]?.path).toBe("/v1/chat/completions");
  expect(JSON.stringify(fake.requests[3]?.body)).toMatch(/Write of animals\..*the lazy/s);
});
