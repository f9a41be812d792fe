/** mode: llm through HTTP against a fake provider: tools, rounds, finish reasons, inputs. */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { commonHull } from "../support/common-hull.ts";
import type { FakeRequest, FakeTurn } from "../support/fake-turn.ts";
import { type Body, json } from "../support/hull-dev.ts";
import { gone } from "../support/runner.ts";
import { dataOf, readEvents, textOf } from "../support/sse.ts";

const llm = (name: string, more = "", body = "You are a test."): Record<string, string> => ({
  [`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: Test.\nmode: llm\n${more}---\n${body}\n`,
});
/** Tools that show how they were called, and that misbehave on request. */
const TOOLS = `tools:
  - {name: show, description: Shows., command: [python3, -S, show.py], parameters: [{name: url, description: u}, {name: depth, type: integer, required: false}, {name: note, required: false}]}
  - {name: meet, description: Ends when the other one runs too., command: [sh, -c, 'touch "$0/met-$2"; until [ -e "$0/met-$4" ]; do sleep 0.05; done; echo "$2 met $4"'], parameters: [{name: dir}, {name: n}, {name: other}]}
  - {name: hang, description: Hangs., command: [sh, -c, 'sleep 94.1']}
  - {name: seven, description: Fails., command: [sh, -c, 'echo on stdout; exit 7']}
  - {name: flood, description: Floods., command: [sh, -c, 'head -c 8000000 /dev/zero | tr "\\\\0" y']}
  - {name: absent, description: Not there., command: [no-such-tool]}
  - {name: sum, description: Sums., command: [python3, -S, show.py], parameters: [{name: n, type: number, description: n}, {name: how, enum: [up, down], required: false}, {name: list, type: array, items: integer, required: false}]}
  - {name: file, description: Reads., command: [sh, -c, 'echo "$HULL_INPUT_FILENAME=$(cat "$HULL_INPUT_FILE")"']}
`;
const withTools = (name: string, more = ""): Record<string, string> => ({
  ...llm(name, `${more}${TOOLS}`),
  [`${name}/show.py`]: "import json, sys\nprint(json.dumps(sys.argv[1:]))\n",
});

const { hull, fake } = await commonHull({
  "empty/SKILL.md": "---\nname: empty\ndescription: Test.\nmode: llm\n---\n",
  ...llm("plain"),
  ...llm("plain-openai", "provider: openai\n"),
  ...llm("plain-xai", "provider: xai\n"),
  ...llm("plain-google", "provider: google\nbase_url: http://127.0.0.1:1\n"),
  ...llm("plain-deepseek", "provider: deepseek\n"),
  ...llm("summarizer", "provider: openai\nmodel: gpt-5-mini\nmax_tokens: 512\n"),
  ...llm("thinker", "provider: openai\nmodel: gpt-5-mini\neffort: max\n"),
  ...llm("json", "provider: openai\noutput: json\n", "Answer in JSON."),
  ...llm("small", "max_output_bytes: 1024\n"),
  ...llm("blank", "input: none\n"),
  ...llm("lost", "mcp: [nowhere]\n"),
  ...llm("file", "input: file\n"),
  ...withTools("tools"),
  ...withTools("tools-openai", "provider: openai\n"),
  ...withTools("tools-json", "provider: openai\noutput: json\n"),
  ...withTools("one-round", "max_tool_rounds: 1\n"),
  ...withTools("two-rounds", "max_tool_rounds: 2\n"),
  ...withTools("brief", "timeout_ms: 2500\n"),
  ...withTools("deadline", "deadline_ms: 2000\n"),
});

const ask = (slug: string, body: Body = "hello", init: RequestInit = {}): Promise<Response> =>
  hull.call(`/skills/${slug}`, body, init);
const calls = (...list: [string, object | string][]) => ({
  tool_calls: list.map(([name, args]) => ({ name, arguments: args })),
});

const META = z.object({ _meta: z.record(z.string(), z.unknown()) });

interface ToolResult {
  text: string;
  is_error: boolean;
}
/** The tool results that a provider got, as Anthropic's blocks or OpenAI's messages carry them. */
function resultsIn(request: FakeRequest | undefined): ToolResult[] {
  const messages = request?.body.messages ?? [];
  const tools = messages.filter((m) => m.role === "tool");
  if (tools.length > 0) return tools.map((m) => ({ text: String(m.content), is_error: false }));
  const last = messages.at(-1)?.content;
  const blocks: { type: string; content: unknown; is_error?: boolean }[] = Array.isArray(last) ? last : [];
  return blocks
    .filter((block) => block.type === "tool_result")
    .map(({ content, is_error = false }) => ({
      text: typeof content === "string" ? content : JSON.stringify(content),
      is_error,
    }));
}

describe("requests", () => {
  test.each([
    ["plain", "/v1/messages", "x-api-key", "sk-ant-e2e-key", { max_tokens: 4096 }],
    [
      "plain-openai",
      "/v1/chat/completions",
      "authorization",
      "Bearer sk-openai-e2e-key",
      { max_completion_tokens: 4096 },
    ],
    [
      "thinker",
      "/v1/chat/completions",
      "authorization",
      "Bearer sk-openai-e2e-key",
      { model: "gpt-5-mini", max_completion_tokens: 4096, reasoning_effort: "high" },
    ],
    ["plain-xai", "/v1/chat/completions", "authorization", "Bearer sk-XAI-e2e-key", { max_tokens: 4096 }],
    [
      "plain-google",
      "/v1/chat/completions",
      "authorization",
      "Bearer sk-GOOGLE-e2e-key",
      { max_tokens: 4096 },
    ],
    [
      "plain-deepseek",
      "/v1/chat/completions",
      "authorization",
      "Bearer sk-DEEPSEEK-e2e-key",
      { max_tokens: 4096 },
    ],
    [
      "summarizer",
      "/v1/chat/completions",
      "authorization",
      "Bearer sk-openai-e2e-key",
      { model: "gpt-5-mini", max_completion_tokens: 512 },
    ],
  ])(
    "S86, S87: %s goes to the base of the environment, with the provider's own fields",
    async (slug, path, header, key, fields) => {
      expect((await ask(slug)).status).toBe(200);
      expect(fake.requests.map((request) => [request.path, request.headers[header]])).toEqual([[path, key]]);
      const { body } = fake.requests[0] ?? expect.fail("no request");
      expect(body).toMatchObject(fields);
      const limits = Object.keys(body).filter((name) => /^max_/.test(name));
      expect(limits).toEqual(Object.keys(fields).filter((name) => /^max_/.test(name)));
    },
  );

  test("S21: the model gets the exact schema of each parameter", async () => {
    const schema = {
      type: "object",
      properties: {
        n: { type: "number", description: "n" },
        how: { type: "string", enum: ["up", "down"] },
        list: { type: "array", items: { type: "integer" } },
      },
      required: ["n"],
      additionalProperties: false,
    };
    await ask("tools");
    await ask("tools-openai");
    const [anthropic, openai] = fake.requests.map(({ body }) => body.tools);
    expect(anthropic).toContainEqual({ name: "sum", description: "Sums.", input_schema: schema });
    expect(openai).toContainEqual({
      type: "function",
      function: { name: "sum", description: "Sums.", parameters: schema },
    });
  });
});

describe("answers", () => {
  test("S95, S97: blocks are joined with nothing between; usage is summed over rounds", async () => {
    fake.script([
      { ...calls(["show", { url: "a" }]), usage: { input: 100, output: 20 } },
      {
        body: {
          type: "message",
          role: "assistant",
          content: [
            { type: "text", text: "part A" },
            { type: "text", text: " B" },
          ],
          stop_reason: "end_turn",
          usage: { input_tokens: 200, output_tokens: 30 },
        },
      },
    ]);
    const response = await ask("tools");
    expect([response.status, await response.text()]).toEqual([200, "part A B"]);
    expect(response.headers.get("x-hull-usage")).toBe("input=300;output=50;rounds=2;tools=1");
    expect(response.headers.get("server-timing")).toMatch(/total;dur=\d+, .*llm;dur=\d+/);
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  });

  test.each([
    ["plain", { text: "cut", stop: "max_tokens" }, 200, "length", "answer_cut"],
    ["plain", { text: "no", stop: "refusal" }, 200, "refusal", "model_refused"],
    ["plain-openai", { text: "no", stop: "length" }, 200, "length", "answer_cut"],
    ["plain-openai", { text: "no", stop: "content_filter" }, 200, "content_filter", "model_refused"],
    ["lost", { text: "cut", stop: "odd" }, 200, "other", "mcp_server_unavailable,answer_cut"],
    ["plain", { text: "whole" }, 200, "stop", null],
    ["plain-openai", { refusal: "I will not." }, 502, "model_refused", null],
    ["plain", { text: [], stop: "refusal" }, 502, "model_refused", null],
    ["plain", { text: [] }, 502, "provider_empty_answer", null],
    ["plain-openai", { text: [], stop: "length" }, 502, "provider_empty_answer", null],
  ])("S96, S94: %s %j is %i %s", async (slug, turn, status, expected, warned) => {
    fake.script(() => turn);
    const response = await ask(slug);
    const text = await response.text();
    const found = status === 200 ? response.headers.get("x-hull-finish-reason") : JSON.parse(text).code;
    expect([response.status, found, response.headers.get("x-hull-warnings")]).toEqual([
      status,
      expected,
      warned,
    ]);
    if (expected === "provider_empty_answer") {
      expect(JSON.parse(text)).toMatchObject({ max_tokens: 4096, finish_reason: expect.any(String) });
    }
    if (status !== 200) return;
    await hull.post("/sessions", { id: `ends-${expected}` });
    const { headers } = await ask(`${slug}?session_id=ends-${expected}`);
    expect([headers.get("x-hull-finish-reason"), headers.get("x-hull-warnings")]).toEqual([expected, warned]);
    const events = await readEvents(await ask(`${slug}?stream=1`));
    const [done] = dataOf(events, "done");
    if (expected === "other") expect(dataOf(events, "round")).toMatchObject([{ finish_reason: "odd" }]);
    const codes = z.optional(z.array(z.object({ code: z.string() }))).parse(done?.warnings);
    expect(codes?.map(({ code }) => code).join(",") ?? null).toBe(warned);
    const params = { name: slug.replace("-", "_"), arguments: { input: "hello" } };
    const called = await hull.post("/mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params });
    expect(z.object({ result: META }).parse(await called.json()).result._meta).toMatchObject({
      "x-hull-finish-reason": expected,
      ...(warned === null ? {} : { "x-hull-warnings": warned }),
    });
  });

  test.each<[slug: string, turns: FakeTurn[], status: number, code: string]>([
    ["plain", [{ text: [], stop: "refusal" }], 502, "model_refused"],
    ["plain", [{ text: [] }], 502, "provider_empty_answer"],
    ["plain-openai", [{ status: 400 }], 502, "provider_rejected_request"],
    ["plain", [{ status: 401 }], 502, "provider_auth_failed"],
    ["plain", [{ status: 429, headers: { "retry-after": "600" } }], 429, "provider_rate_limited"],
    ["plain", [{ status: 503, headers: { "retry-after": "600" } }], 502, "provider_error"],
    ["brief", [{ hang: true }], 504, "provider_timeout"],
    ["json", [{ text: "no json" }], 500, "output_invalid_json"],
    ["small", [{ text: "long ".repeat(300) }], 500, "output_too_large"],
    ["one-round", [calls(["nobody", {}]), calls(["nobody", {}])], 502, "tool_rounds_exhausted"],
    ["tools", Array.from({ length: 11 }, () => calls(["nobody", {}])), 502, "tool_rounds_exhausted"],
  ])("a call of %s fails alike in a session, whole and as events: %j", async (slug, turns, status, code) => {
    const found: unknown[] = [];
    const own = ({ instance: _, request_id: __, ...problem }: Record<string, unknown>) => problem;
    for (const query of ["?", `?session_id=fails-${slug}-${code}`]) {
      if (query !== "?") await hull.post("/sessions", { id: query.slice("?session_id=".length) });
      fake.script(turns);
      const answer = await ask(slug + query);
      const problem = own(await json(answer));
      expect([query, answer.status, problem.code]).toEqual([query, status, code]);
      fake.script(turns);
      const events = await readEvents(await ask(`${slug}${query}&stream=1`));
      const told = own(dataOf(events, "error").at(-1) ?? {});
      found.push([problem, answer.headers.get("retry-after"), told, dataOf(events, "done").at(-1)?.ok]);
    }
    expect(found[1]).toEqual(found[0]);
  });

  test.each(["json", "tools-json"])("%s asks for JSON, in a session too", async (slug) => {
    await hull.post("/sessions", { id: `asks-${slug}` });
    for (const query of ["", `?session_id=asks-${slug}`]) {
      fake.script([{ text: "{}" }]);
      const { status } = await ask(slug + query, "Say it in JSON.");
      const asked = fake.requests.at(-1)?.body.response_format;
      expect([query, status, asked]).toEqual([query, 200, { type: "json_object" }]);
    }
  });

  test("the answer is the last text, in a session too", async () => {
    await hull.post("/sessions", { id: "texts" });
    for (const [slug, last] of [
      ["tools", "Done."],
      ["tools-json", '{"plan": [{"step": 1}]}'],
    ] as const) {
      for (const query of ["", "?session_id=texts"]) {
        fake.script([{ text: "Let me look.", ...calls(["nobody", {}]) }, { text: last }]);
        const answer = await ask(slug + query);
        expect([slug + query, answer.status, await answer.text()]).toEqual([slug + query, 200, last]);
      }
    }
  });

  test("S110: output: json loses one code fence and must then parse", async () => {
    fake.script([{ text: '```json\n{"a": 1}\n```' }, { text: "no json" }]);
    const good = await ask("json");
    expect([good.status, await good.text(), good.headers.get("content-type")]).toEqual([
      200,
      '{"a": 1}',
      "application/json",
    ]);
    expect(fake.requests[0]?.body.response_format).toEqual({ type: "json_object" });
    const bad = await ask("json");
    expect([bad.status, (await json(bad)).code]).toEqual([500, "output_invalid_json"]);
  });
});

describe("inputs", () => {
  test("S109: an image becomes an image block, a CSV is inlined, a ZIP is 415 before any token", async () => {
    const png = Buffer.from("iVBORw0KGgo=", "base64");
    const form = new FormData();
    form.append("image", new Blob([png], { type: "image/png" }), "dot.png");
    form.append("table", new Blob(["a,b\n1,2\n"], { type: "text/csv" }), "t.csv");
    expect((await ask("file", form)).status).toBe(200);
    const content = fake.requests[0]?.body.messages[0]?.content;
    expect(content).toContainEqual({
      type: "image",
      source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" },
    });
    expect(JSON.stringify(content)).toContain("a,b\\n1,2");
    const zip = await ask("file", new Blob(["PK"], { type: "application/zip" }));
    expect([zip.status, await json(zip)]).toMatchObject([415, { accepted: expect.any(Array) }]);
    expect(fake.requests).toHaveLength(1);
  });

  test("a tool sees the request's file", async () => {
    fake.script([calls(["file", {}]), { text: "done" }]);
    const form = new FormData();
    form.append("text", "look");
    form.append("f", new Blob(["inside"], { type: "text/plain" }), "f.txt");
    expect((await ask("tools", form)).status).toBe(200);
    expect(resultsIn(fake.requests[1])).toMatchObject([{ text: expect.stringContaining("f.txt=inside") }]);
  });

  test("S111: no input is 422 without a call; input: none calls the model with a prompt of Hull's", async () => {
    for (const body of ["", " \n"]) {
      const response = await ask("plain", body);
      expect([response.status, (await json(response)).code]).toEqual([422, "input_required"]);
    }
    expect(fake.requests).toHaveLength(0);
    expect((await ask("blank", "")).status).toBe(200);
    expect(fake.requests).toHaveLength(1);
    await hull.printed(/empty\/SKILL\.md.*: error: /);
  });
});

describe("tools", () => {
  /** Runs one tool call and returns the result that the model reads. */
  async function resultOf(slug: string, name: string, args: object | string): Promise<ToolResult> {
    fake.script([calls([name, args]), { text: "ok" }]);
    // Anthropic has malformed arguments in streams only.
    const response = await ask(`${slug}?stream=1`);
    expect(response.status).toBe(200);
    const done = (await readEvents(response)).at(-1);
    expect(done).toMatchObject({ event: "done", data: { ok: true } });
    const [result] = resultsIn(fake.requests.at(-1));
    if (result === undefined) return expect.fail("the model got no result");
    return result;
  }

  test.each([
    [{ url: "a b", depth: 3, note: "n" }, '["a b", "--depth", "3", "--note", "n"]'],
    [{ url: "a", depth: -5 }, '["a", "--depth", "-5"]'],
    [{ url: "a", depth: "4" }, '["a", "--depth", "4"]'],
    [{ url: "a", note: null }, '["a"]'],
    [{ url: "$(id); `id` && x" }, '["$(id); `id` && x"]'],
    [{ url: "a", note: 5 }, '["a", "--note", "5"]'],
  ])("S102, S103, S108: %j becomes %s", async (args, argv) => {
    expect((await resultOf("tools-openai", "show", args)).text).toBe(argv);
  });

  test.each([
    ["show", {}, "missing_argument"],
    ["show", { url: "a", extra: 1 }, "unknown_argument"],
    ["show", { url: "-rf" }, "dash_refused"],
    ["show", { url: "-5" }, "dash_refused"],
    ["sum", { n: "-inf" }, "bad_arguments"],
    ["show", { url: ["a"] }, "bad_arguments"],
    ["show", { url: null }, "missing_argument"],
    ["show", { url: "a", note: "--x" }, "dash_refused"],
    ["show", { url: { a: 1 } }, "bad_arguments"],
    ["show", { url: "a", depth: "x" }, "bad_arguments"],
    ["show", { url: "a\0b" }, "nul_byte"],
    ["show", { url: "x".repeat(200_000) }, "argument_too_long"],
    ["show", "not json", "bad_arguments"],
    ["show", "null", "bad_arguments"],
    ["show", '["a"]', "bad_arguments"],
    ["nonesuch", { url: "a" }, "unknown_tool"],
    ["absent", {}, "command_not_found"],
  ])("S101, S102, S103, S104, S105: %s %j reaches the model as %s", async (name, args, code) => {
    const text = (await resultOf("tools-openai", name, args)).text;
    expect(text).toMatch(new RegExp(`^\\[tool_error code=${code} exit=none\\]`));
    expect((await resultOf("tools", name, args)).is_error).toBe(true);
  });

  test("S106: a tool that times out, and one that exits 7", async () => {
    const late = await resultOf("brief", "hang", {});
    expect(late).toMatchObject({ is_error: true, text: expect.stringMatching(/code=timed_out/) });
    await gone("sleep 94.1");
    const seven = await resultOf("tools", "seven", {});
    expect(seven.is_error).toBe(true);
    expect(seven.text).toMatch(/\[tool_error code=exit_nonzero exit=7\](\\n|\n)on stdout/);
  });

  test("S107: 8 MB of output reach the model as a window with both counts", async () => {
    const { text } = await resultOf("tools-openai", "flood", {});
    expect(JSON.stringify(fake.requests.at(-1)?.body).length).toBeLessThan(100_000);
    expect(text).toMatch(/\[hull: \d+ of 8000000 bytes omitted\]/);
  });

  test("S98: two tools run in parallel, their results are in call order", async () => {
    const dir = hull.root;
    fake.script([
      calls(["meet", { dir, n: "1", other: "2" }], ["meet", { dir, n: "2", other: "1" }]),
      { text: "ok" },
    ]);
    expect((await ask("tools-openai")).headers.get("x-hull-usage")).toMatch(/tools=2$/);
    expect(resultsIn(fake.requests[1]).map((r) => r.text)).toEqual(["1 met 2", "2 met 1"]);
  });
});

describe("rounds and time", () => {
  test("S99: two rounds, a third call without tools, then an error", async () => {
    fake.script(() => calls(["show", { url: "again" }]));
    const response = await ask("two-rounds");
    expect([response.status, await json(response)]).toMatchObject([
      502,
      { code: "tool_rounds_exhausted", rounds: 2 },
    ]);
    expect(fake.requests).toHaveLength(3);
    expect(fake.requests.map((r) => r.body.tool_choice)).toEqual([
      { type: "auto" },
      { type: "auto" },
      { type: "none" },
    ]);
    expect(fake.requests[2]?.body.tools).toHaveLength(8);
    const told = JSON.stringify(fake.requests[2]?.body.messages);
    expect(told.match(/"tool_result"/g)).toHaveLength(2);
  });

  test("S75: the same as events", async () => {
    fake.script(() => calls(["show", { url: "again" }]));
    const events = await readEvents(await ask("two-rounds?stream=1"));
    expect(events.slice(-2)).toMatchObject([
      { event: "error", data: { code: "tool_rounds_exhausted", status: 502 } },
      { event: "done", data: { ok: false } },
    ]);
    expect(dataOf(events, "tool_result")).toHaveLength(2);
  });

  test("S100: one round is enough for one tool", async () => {
    fake.script([calls(["show", { url: "x" }]), { text: "used" }]);
    const response = await ask("one-round");
    expect([response.status, await response.text()]).toEqual([200, "used"]);
    expect(resultsIn(fake.requests[1])).toMatchObject([{ text: '["x"]', is_error: false }]);
  });

  test("text of every round is streamed, with its round", async () => {
    fake.script([{ text: ["thinking "], ...calls(["show", { url: "x" }]) }, { text: ["final"] }]);
    const events = await readEvents(await ask("tools?stream=1"));
    const said = (round: number): string =>
      textOf(
        events.filter(({ data }) => data.round === round),
        "delta",
      );
    expect([said(1), said(2), textOf(events, "delta")]).toEqual(["thinking ", "final", "thinking final"]);
  });

  test("S91: the deadline ends the request and its tools", async () => {
    fake.script(() => calls(["hang", {}]));
    const response = await ask("deadline");
    expect([response.status, await json(response)]).toMatchObject([
      504,
      { code: "deadline_exceeded", timeout_ms: 2000, during: expect.any(String) },
    ]);
    await gone("sleep 94.1");
  });
});
