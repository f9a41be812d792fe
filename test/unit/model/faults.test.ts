/** Answers that no provider should give: each has a defined outcome, in time that grows with its length. */
import { createServer, type Server } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ModelTurn } from "../../../src/engine/messages.ts";
import { WIRES } from "../../../src/model/call.ts";
import { exchange } from "../../../src/model/exchange.ts";
import type { HttpTarget } from "../../../src/model/providers.ts";
import { lines, request, sse, target } from "../../fixtures/wires/fixture.ts";

type Answer = { type?: string; status?: number; chunks: Iterable<string | Uint8Array>; dies?: boolean };

let answer: Answer = { chunks: [] };
let server: Server;
let url = "";
beforeAll(async () => {
  server = createServer(async (incoming, response) => {
    incoming.resume();
    const { type = "text/event-stream", status = 200, chunks, dies } = answer;
    response.writeHead(status, { "content-type": type });
    await pipeline(Readable.from(chunks), response, { end: false }).catch(() => undefined);
    if (dies) await new Promise((resolve) => setTimeout(resolve, 20));
    if (dies) response.destroy();
    else response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function ask(given: Answer, protocol: HttpTarget["protocol"] = "openai-chat") {
  answer = given;
  const to = target("openai", protocol, "m", {}, { url });
  const { signal } = new AbortController();
  return exchange(request("hi"), WIRES[protocol], to, { stream: true, signal, sink: {}, fetch, now: 0 });
}
async function turnOf(given: Answer, protocol?: HttpTarget["protocol"]): Promise<ModelTurn> {
  const outcome = await ask(given, protocol);
  return outcome.ok ? outcome.turn : expect.fail(outcome.error.message);
}

const delta = (change: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta: change, finish_reason: finish }],
});
const json = (value: unknown) => [JSON.stringify(value)];
function* endless(chunk: string): Generator<string> {
  for (;;) yield chunk;
}

describe("failures", () => {
  const network = { kind: "transient", reason: "network_error", category: "transient_network" };
  const unknown = { kind: "terminal", reason: "unknown", category: "generic" };
  test.each<[string, Answer, object, string]>([
    ["HTML", { type: "text/html", chunks: ["<html>Welcome</html>"] }, unknown, "content type"],
    [
      "HTML that says what is wrong",
      { type: "text/html", chunks: ["<h1>502 Bad Gateway</h1>"] },
      { kind: "transient", reason: "server_error", category: "server_error" },
      "content type",
    ],
    ["HTML as JSON", { type: "application/json", chunks: ["<html>"] }, unknown, "not valid JSON"],
    ["HTML as a stream", { chunks: ["<html>\n\n</html>\n\n"] }, network, "cut off"],
    [
      "a wrong content type",
      { type: "application/octet-stream", chunks: [sse(["[DONE]"])] },
      unknown,
      "content type",
    ],
    [
      "half a document",
      { type: "application/json", chunks: ['{"choices":[{"mess'] },
      network,
      "not valid JSON",
    ],
    ["half a frame", { chunks: ['data: {"choices":[{"del'] }, network, "cut off"],
    [
      "half a frame, then the connection breaks",
      { chunks: ['data: {"ch'], dies: true },
      network,
      "broke off",
    ],
    ["a frame that is not JSON", { chunks: ["data: {broken}\n\n"] }, unknown, "not JSON"],
    ["nothing", { chunks: [] }, network, "cut off"],
    [
      "an error under 200",
      { type: "application/json", chunks: json({ error: { message: "prompt is too long: 9 tokens" } }) },
      { kind: "terminal", reason: "context_overflow", offending_tokens: 9 },
      "error object",
    ],
    ["another document", { type: "application/json", chunks: json({ ok: true }) }, unknown, "choices"],
    [
      "an error in place of an answer (OpenRouter)",
      {
        type: "application/json",
        chunks: json({ choices: [{ error: { code: 429, message: "slow down" }, message: { content: "" } }] }),
      },
      { kind: "transient", reason: "rate_limit" },
      "a choice of it is an error",
    ],
    [
      "the same in a stream",
      { chunks: [sse([{ choices: [{ error: { code: 502, message: "gone" }, finish_reason: "error" }] }])] },
      { kind: "transient", reason: "server_error" },
      "a choice of it is an error",
    ],
    [
      "an error event in words",
      { chunks: ["event: error\ndata: 502 Bad Gateway\n\n"] },
      { kind: "transient", reason: "server_error" },
      "holds an error event",
    ],
    [
      "an error as a document that is declared as a stream",
      { chunks: ['{"error": {"message": "prompt is too long: 9 tokens"}}'] },
      { kind: "terminal", reason: "context_overflow" },
      "error object",
    ],
    [
      "an error without an envelope, in a stream (vLLM)",
      {
        chunks: [sse([{ object: "error", message: "maximum context length is 9000", code: 400 }, "[DONE]"])],
      },
      { kind: "terminal", reason: "context_overflow", offending_tokens: 9000 },
      "holds an error event",
    ],
    [
      "an error in a field of its own, between text and the end (llama.cpp)",
      {
        chunks: [
          sse([delta({ content: "a" })]),
          'error: {"code":400,"message":"exceeds the context size","type":"invalid_request_error"}\n\n',
          sse(["[DONE]"]),
        ],
      },
      { kind: "terminal", reason: "context_overflow" },
      "holds an error event",
    ],
    [
      "an error whose status is a text",
      { chunks: [sse([{ error: { code: "503", message: "later" } }])] },
      { kind: "transient", category: "overloaded" },
      "holds an error event",
    ],
    [
      "a server's error in a stream",
      { chunks: [sse([{ error: { type: "server_error", message: "oops", code: null } }])] },
      { kind: "transient", reason: "server_error" },
      "holds an error event",
    ],
    ["text that is no stream", { type: "text/plain", chunks: ["Welcome"] }, unknown, "content type"],
    ["text that is declared as a stream", { chunks: ["Welcome"] }, network, "cut off"],
    ...["text/event-stream", "text/plain"].map((type): [string, Answer, object, string] => [
      `an object in an event that breaks off, declared as ${type}`,
      { type, chunks: ["data: ", JSON.stringify({ error: { code: 401, message: "no" } })], dies: true },
      network,
      "broke off",
    ]),
    [
      "an error as a document after comments, in pieces",
      { chunks: [": wait\n\n: wait\n\n", '{"error": {"code": 401,', ' "message": "no"}}'] },
      { kind: "terminal" },
      "error object",
    ],
    ["no choice", { type: "application/json", chunks: json({ choices: [] }) }, unknown, "choices"],
    ["a number", { type: "application/json", chunks: ["7"] }, unknown, "not an answer of this protocol"],
    [
      "a deep document",
      { type: "application/json", chunks: [`${"[".repeat(1e5)}${"]".repeat(1e5)}`] },
      unknown,
      "JSON",
    ],
    [
      "a long event without end",
      { chunks: endless(`data: ${"x".repeat(65_536)}`) },
      unknown,
      "one of its events is longer",
    ],
    [
      "endless text",
      { chunks: endless(sse([delta({ content: "x".repeat(65_000) })])) },
      unknown,
      "longer than 16777216 characters",
    ],
    [
      "endless arguments",
      {
        chunks: endless(
          sse([delta({ tool_calls: [{ index: 0, function: { arguments: "x".repeat(65_000) } }] })]),
        ),
      },
      unknown,
      "longer than 16777216 characters",
    ],
    [
      "endless comments",
      { chunks: endless(`: ${"x".repeat(65_536)}\n`) },
      unknown,
      "longer than 134217728 bytes",
    ],
    [
      "an endless document",
      { type: "application/json", chunks: endless("x".repeat(65_536)) },
      unknown,
      "longer than 16777216 bytes",
    ],
  ])("%s", async (_, given, members, reason) => {
    const outcome = await ask(given);
    if (outcome.ok) return expect.fail("it succeeded");
    expect(outcome).toMatchObject({ retry: false, error: { code: "provider_bad_response" } });
    expect(outcome.error.data.detail).toContain(reason);
    expect(outcome.error.data.members).toMatchObject(members);
    expect(outcome.error.data.detail).not.toContain("Bad Gateway");
  });

  test("an error page under its own status says what is wrong to the operator only", async () => {
    const outcome = await ask({ type: "text/html", status: 502, chunks: ["<h1>Bad Gateway INNER</h1>"] });
    if (outcome.ok) return expect.fail("it succeeded");
    expect(outcome).toMatchObject({ retry: true, error: { code: "provider_error" } });
    expect(JSON.stringify(outcome.error.data)).not.toContain("INNER");
    expect(outcome.error.operator.provider_message).toContain("INNER");
  });
});

describe("irregular answers that Hull understands", () => {
  const named = (id: string | undefined, args: string) =>
    delta({ tool_calls: [{ id, function: { name: "t", arguments: args } }] });

  test("arguments that are no object stay readable and are never run", async () => {
    const turn = await turnOf({ chunks: [sse([named("c", "not json"), delta({}, "stop"), "[DONE]"])] });
    expect(turn.blocks).toEqual([
      { type: "tool_call", id: "c", name: "t", arguments: null, raw: "not json" },
    ]);
  });

  test("ids that repeat are made unique", async () => {
    const calls = [named("same", "{}"), named("same", "{}"), named("same", '{"a":1}')];
    const { blocks } = await turnOf({ chunks: [sse([...calls, delta({}, "stop")])] });
    const ids = blocks.map((block) => (block.type === "tool_call" ? block.id : ""));
    expect(ids).toEqual(["same", "call_1", "call_2"]);
  });

  const usage = (input_tokens: number, output_tokens: number) => ({ input_tokens, output_tokens });
  const started = (index: number, content_block: object) => ({
    type: "content_block_start",
    index,
    content_block,
  });
  const stopped = (index: number) => ({ type: "content_block_stop", index });
  const text = (words: string) => ({ type: "output_text", text: words });
  const thinking = (...words: string[]) => ({
    type: "thinking",
    thinking: words.map((word) => ({ type: "text", text: word })),
  });
  const called = (id: string, name: string, args: object | null, raw: string) => ({
    type: "tool_call",
    id,
    name,
    arguments: args,
    raw,
  });
  const whole = (value: unknown): Answer => ({ type: "application/json", chunks: json(value) });
  const stream = (...events: (object | string)[]): Answer => ({ chunks: [sse(events)] });
  const lined = (...documents: object[]): Answer => ({
    type: "application/x-ndjson",
    chunks: [lines(documents)],
  });
  const choice = (message: object, finish_reason: string | null = "stop") =>
    whole({ choices: [{ message, finish_reason }] });
  const atZero = (name: string, args: unknown, more: object = {}) =>
    delta({ tool_calls: [{ index: 0, ...more, function: { name, arguments: args } }] });
  const item = (args: unknown) => ({ type: "function_call", call_id: "c", name: "t", arguments: args });
  const completed = (output: object[] | null, more: object = {}) => ({
    type: "response.completed",
    response: { status: "completed", output, ...more },
  });

  /** What servers send that follow a protocol in their own way. */
  test.each<[string, HttpTarget["protocol"], Answer, object]>([
    [
      "null as the arguments of a call without any",
      "openai-chat",
      choice({ tool_calls: [{ id: "c", function: { name: "t", arguments: null } }] }),
      { blocks: [called("c", "t", {}, "")], stop_reason: "tool_use" },
    ],
    [
      "the same in a stream",
      "openai-chat",
      stream(atZero("t", null, { id: "c" }), delta({}, "tool_calls")),
      { blocks: [called("c", "t", {}, "")], stop_reason: "tool_use" },
    ],
    [
      "arguments as an object, in a stream",
      "openai-chat",
      stream(atZero("t", { a: 1 }, { id: "c" }), delta({}, "tool_calls")),
      { blocks: [called("c", "t", { a: 1 }, '{"a":1}')] },
    ],
    [
      "several calls under one index, without ids",
      "openai-chat",
      stream(atZero("t", "{}"), atZero("u", '{"a":'), atZero("u", "1}"), delta({}, "tool_calls")),
      { blocks: [called("call_1", "t", {}, "{}"), called("call_2", "u", { a: 1 }, '{"a":1}')] },
    ],
    [
      "two calls of one tool under one index, without ids (Gemini)",
      "openai-chat",
      stream(
        delta({
          tool_calls: ["1", "2"].map((a) => ({
            index: 0,
            id: "",
            function: { name: "t", arguments: `{"a":${a}}` },
          })),
        }),
        atZero("t", "", { id: "" }),
        delta({}, "stop"),
      ),
      { blocks: [called("call_1", "t", { a: 1 }, '{"a":1}'), called("call_2", "t", { a: 2 }, '{"a":2}')] },
    ],
    [
      "two calls of one tool under one index, with ids",
      "openai-chat",
      stream(
        atZero("t", '{"a":1}', { id: "c" }),
        atZero("t", '{"a":2}', { id: "d" }),
        delta({}, "tool_calls"),
      ),
      { blocks: [called("c", "t", { a: 1 }, '{"a":1}'), called("d", "t", { a: 2 }, '{"a":2}')] },
    ],
    [
      "blocks as choices, and calls that are no list (Portkey in front of Cohere)",
      "openai-chat",
      stream(
        delta({ content: "a", tool_calls: [] }),
        { choices: [{ index: 1, delta: { content: "b" }, finish_reason: null }] },
        {
          choices: [{ index: 2, delta: { tool_calls: { id: "c", function: { name: "t", arguments: "" } } } }],
        },
        { choices: [{ index: 2, delta: { tool_calls: { function: { arguments: "{}" } } } }] },
        { choices: [{ index: 2, delta: {}, finish_reason: "COMPLETE" }] },
      ),
      { blocks: [text("ab"), called("c", "t", {}, "{}")], stop_reason: "tool_use" },
    ],
    [
      "reasoning in parts of the content (Mistral)",
      "openai-chat",
      choice({ content: [thinking("a", "b"), { type: "text", text: "c" }] }),
      { blocks: [{ type: "reasoning", text: "ab" }, text("c")] },
    ],
    [
      "the same in a stream",
      "openai-chat",
      stream(
        delta({ content: [thinking("a")] }),
        delta({ content: [thinking("b"), { type: "text", text: "c" }] }),
        delta({ content: "" }, "stop"),
      ),
      { blocks: [{ type: "reasoning", text: "ab" }, text("c")] },
    ],
    [
      "null as the text of a part",
      "openai-chat",
      choice({
        content: [
          { type: "text", text: "a" },
          { type: "text", text: null },
        ],
      }),
      { blocks: [text("a")] },
    ],
    ["an empty finish reason", "openai-chat", choice({ content: "a" }, ""), { stop_reason: "end_turn" }],
    [
      "Mistral's word for a full context",
      "openai-chat",
      choice({ content: "a" }, "model_length"),
      { stop_reason: "max_tokens" },
    ],
    [
      "Together's word for an end",
      "openai-chat",
      choice({ content: "a" }, "eos"),
      { stop_reason: "end_turn" },
    ],
    [
      "LM Studio's word for an end",
      "openai-chat",
      choice({ content: "a" }, "end"),
      { stop_reason: "end_turn" },
    ],
    [
      "one word for a call",
      "openai-chat",
      choice({ tool_calls: [{ id: "c", function: { name: "t" } }] }, "TOOL_CALL"),
      { stop_reason: "tool_use" },
    ],
    [
      "Gemini's word for a withheld image",
      "openai-chat",
      choice({ content: "a" }, "IMAGE_SAFETY"),
      { stop_reason: "refusal" },
    ],
    [
      "cached tokens beside the other counts (Moonshot)",
      "openai-chat",
      whole({
        choices: [{ message: { content: "a" }, finish_reason: "stop" }],
        usage: { prompt_tokens: 9, completion_tokens: 4, cached_tokens: 8 },
      }),
      { usage: { ...usage(9, 4), cache_read_tokens: 8 } },
    ],
    [
      "usage within a choice (Moonshot)",
      "openai-chat",
      stream({
        choices: [
          {
            delta: { content: "a" },
            finish_reason: "stop",
            usage: { prompt_tokens: 3, completion_tokens: 4 },
          },
        ],
      }),
      { usage: usage(3, 4) },
    ],
    [
      "usage in every chunk, and an empty one at the end",
      "openai-chat",
      stream(
        { ...delta({ content: "a" }), usage: { prompt_tokens: 3, completion_tokens: 1 } },
        { ...delta({}, "stop"), usage: { prompt_tokens: 3, completion_tokens: 4 } },
        { choices: [], usage: {} },
        { choices: null, usage: null },
      ),
      { usage: usage(3, 4) },
    ],
    [
      "blank events that keep the connection alive",
      "openai-chat",
      { chunks: ["data:\n\nevent: ping\ndata: \n\n", sse([delta({ content: "a" }, "stop")])] },
      { blocks: [text("a")] },
    ],
    ...["text/plain; charset=utf-8", ""].map((type): [string, HttpTarget["protocol"], Answer, object] => [
      `a stream that is declared as ${type || "nothing"}`,
      "openai-chat",
      { type, chunks: [": hello\n\n", sse([delta({ content: "a" }), delta({}, "stop")])] },
      { blocks: [text("a")] },
    ]),
    [
      "a whole answer as the only event of a stream",
      "openai-chat",
      stream({ choices: [{ message: { content: "a" }, finish_reason: "stop" }] }, "[DONE]"),
      { blocks: [text("a")] },
    ],
    [
      "a whole answer that is declared as a stream",
      "openai-chat",
      { chunks: json({ choices: [{ message: { content: "a" }, finish_reason: "stop" }] }) },
      { blocks: [text("a")] },
    ],
    [
      "a whole answer that is declared as a stream, after comments",
      "openai-chat",
      {
        chunks: [
          `: wait\n\n\n  ${json({ choices: [{ message: { content: "a" }, finish_reason: "stop" }] })}`,
        ],
      },
      { blocks: [text("a")] },
    ],
    [
      "null for what Anthropic leaves out",
      "anthropic",
      whole({
        content: [
          { type: "thinking", thinking: "b", signature: null },
          { type: "text", text: null },
          { type: "tool_use", id: null, name: "t", input: null },
        ],
        stop_reason: "tool_use",
      }),
      { blocks: [{ type: "reasoning", text: "b" }, text(""), called("call_1", "t", {}, "{}")] },
    ],
    [
      "a call in a turn that Anthropic's word for an end closes (claude-code-router in front of Gemini)",
      "anthropic",
      whole({ content: [{ type: "tool_use", id: "c", name: "t", input: {} }], stop_reason: "end_turn" }),
      { stop_reason: "tool_use", raw_stop_reason: "end_turn" },
    ],
    [
      "Anthropic's blocks under one index",
      "anthropic",
      stream(
        started(0, { type: "text", text: "" }),
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "a" } },
        stopped(0),
        started(0, { type: "tool_use", id: "c", name: "t", input: {} }),
        { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: "{}" } },
        stopped(0),
        { type: "message_stop" },
      ),
      { blocks: [text("a"), called("c", "t", {}, "{}")] },
    ],
    ...[
      [25, 0],
      [0, 25],
      [25, -1],
      [25, null],
    ].map(([first, last]): [string, HttpTarget["protocol"], Answer, object] => [
      `Anthropic's input tokens: ${first} at the beginning, ${last} at the end`,
      "anthropic",
      stream(
        { type: "message_start", message: { usage: { input_tokens: first, output_tokens: 1 } } },
        { type: "message_delta", delta: {}, usage: { input_tokens: last, output_tokens: 7 } },
        { type: "message_stop" },
      ),
      { usage: usage(25, 7) },
    ]),
    [
      "arguments as an object",
      "openai-responses",
      whole({ status: "completed", output: [item({ a: 1 })] }),
      { blocks: [called("c", "t", { a: 1 }, '{"a":1}')] },
    ],
    [
      "null as arguments",
      "openai-responses",
      stream(completed([item(null)])),
      { blocks: [called("c", "t", {}, "")] },
    ],
    [
      "items without an index, and a response without items",
      "openai-responses",
      stream({ type: "response.output_item.done", item: item("{}") }, completed(null)),
      { blocks: [called("c", "t", {}, "{}")] },
    ],
    [
      "arguments as null, as a text and as an object",
      "ollama",
      lined(
        ...[null, '{"a":1}', { a: 1 }].map((args) => ({
          message: { tool_calls: [{ id: "c", function: { name: "t", arguments: args } }] },
        })),
        { message: null, done: true, done_reason: "" },
      ),
      {
        blocks: [
          called("c", "t", {}, "{}"),
          called("call_1", "t", { a: 1 }, '{"a":1}'),
          called("call_2", "t", { a: 1 }, '{"a":1}'),
        ],
        stop_reason: "tool_use",
      },
    ],
  ])("%s (%s)", async (_, protocol, given, expected) => {
    expect(await turnOf(given, protocol)).toMatchObject(expected);
  });

  /** In pieces of 16 bytes a quadratic fold would take minutes. */
  const MANY = 200_000;
  const piece = "0123456789abcdef";
  test.each<[string, HttpTarget["protocol"], Answer]>([
    [
      "one document",
      "openai-chat",
      {
        type: "application/json",
        chunks: json({ choices: [{ message: { content: piece.repeat(640_000) } }] }),
      },
    ],
    [
      "text in small pieces",
      "openai-chat",
      { chunks: [sse([...Array(MANY).fill(delta({ content: piece })), delta({}, "stop")])] },
    ],
    [
      "arguments in small pieces, without an index, each with its name",
      "openai-chat",
      { chunks: [sse([...Array(MANY).fill(named("c", '{"a":[')), delta({}, "stop")])] },
    ],
    [
      "as many calls",
      "openai-chat",
      { chunks: [sse([...Array(MANY / 10).fill(named(undefined, "{}")), delta({}, "stop")])] },
    ],
    [
      "Anthropic's text in small pieces",
      "anthropic",
      {
        chunks: [
          sse([
            { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
            ...Array(MANY).fill({
              type: "content_block_delta",
              index: 0,
              delta: { type: "text_delta", text: piece },
            }),
            { type: "message_stop" },
          ]),
        ],
      },
    ],
  ])("10 MB and more: %s", async (_, protocol, given) => {
    const { blocks } = await turnOf(given, protocol);
    expect(JSON.stringify(blocks).length).toBeGreaterThan(1_000_000);
  });
});
