/** Mocks answer calls through the same attempts, fallbacks and streams as providers. */
import { describe, expect, it, test } from "vitest";
import type { Message, ModelRequest } from "../../../../src/engine/messages.ts";
import { ERROR_CATEGORIES, failureClassOf } from "../../../../src/errors/failure-class.ts";
import { type CallOptions, callModel } from "../../../../src/model/call.ts";
import { callWithFallback } from "../../../../src/model/fallback.ts";
import { answering } from "../../../../src/model/mock/answering.ts";
import type { Mock, MockCall } from "../../../../src/model/mock/mock.ts";
import { RunMocks } from "../../../../src/model/mock/queue.ts";
import { mockTarget } from "../../../../src/model/mock/target.ts";
import { resolveTarget } from "../../../../src/model/providers.ts";
import { shippedModels } from "../../../../src/model/registry/registry.ts";
import { llmRetries } from "../../../../src/model/retry.ts";
import { failureOf } from "../../../support/failure.ts";
import { fakeClock } from "../../../support/fake-clock.ts";

const prompt = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });
const REQUEST: ModelRequest = {
  system: "be brief",
  messages: [prompt("hé")],
  tools: [{ name: "look", description: "", parameters: {} }],
  max_tokens: 9,
  json: false,
};
const ANTHROPIC = mockTarget("anthropic", "claude-3-haiku-20240307", shippedModels);

function mocked(queue: Mock[]) {
  const source = new RunMocks(queue);
  const calls: MockCall[] = [];
  const take: RunMocks["take"] = (call, digest) => {
    calls.push(call);
    return source.take(call, digest);
  };
  const clock = fakeClock();
  const options: CallOptions = {
    intercept: answering(take, "run"),
    retry: llmRetries(2, 2000),
    stream: true,
    timeout_ms: 5000,
    signal: new AbortController().signal,
    clock,
    fetch: () => expect.fail("a provider was asked"),
  };
  return { options, calls, clock };
}

test.each([
  ["queued", [{ text: "Done." }]],
  ["default", []],
])("a %s answer leaves a turn of the event loop to what waits", async (_, queue) => {
  const { options } = mocked(queue);
  let turned = false;
  setTimeout(() => {
    turned = true;
  }, 0);
  await callModel(REQUEST, ANTHROPIC, options);
  expect(turned).toBe(true);
});

test("a queued mock answers for any provider, without a key, past every gate", async () => {
  const image: Message = { role: "user", content: [{ type: "image", url: "https://e.example/a.png" }] };
  const request = {
    ...REQUEST,
    messages: [...REQUEST.messages, image],
    thinking: { mode: "adaptive" as const },
  };
  const full: Mock = {
    text: "a b  c",
    thinking: "let me",
    thinking_summary: "thought",
    tool_calls: [{ name: "look", arguments: { at: 1 } }, { name: "rest" }],
    model: "claude-x",
    stop_reason: "length",
    cache_read_tokens: 7,
  };
  const { options, calls } = mocked([full]);
  const heard: string[] = [];
  const turn = await callModel(request, ANTHROPIC, {
    ...options,
    onText: (text) => heard.push(text),
    onReasoning: (text) => heard.push(`<${text}>`),
    declared: { audio: true },
  });
  expect(turn).toEqual({
    blocks: [
      { type: "reasoning", text: "let me" },
      { type: "reasoning_summary", text: "thought" },
      { type: "output_text", text: "a b  c" },
      { type: "tool_call", id: "mock_call_1", name: "look", arguments: { at: 1 }, raw: '{"at":1}' },
      { type: "tool_call", id: "mock_call_2", name: "rest", arguments: {}, raw: "{}" },
    ],
    stop_reason: "max_tokens",
    raw_stop_reason: "length",
    usage: { input_tokens: 4, output_tokens: 30, cache_read_tokens: 7, cache_write_tokens: 0 },
    provider: "anthropic",
    model: "claude-x",
    warnings: [expect.objectContaining({ code: "answer_cut" })],
  });
  expect(heard).toEqual(["<let >", "<me>", "a ", "b ", " ", "c"]);
  const { messages, system, tools, thinking } = request;
  expect(calls).toEqual([{ messages, system, tools, thinking }]);
});

describe("stop reasons", () => {
  it.each<[Mock, string, string | null]>([
    [{ text: "t" }, "end_turn", null],
    [{ tool_calls: [{ name: "look" }] }, "tool_use", null],
    [{ text: "t", stop_reason: "stop_sequence" }, "stop_sequence", "stop_sequence"],
    [{ text: "t", stop_reason: "weird" }, "other", "weird"],
  ])("%j: %s", async (mock, stop_reason, raw_stop_reason) => {
    const turn = await callModel(REQUEST, ANTHROPIC, mocked([mock]).options);
    expect(turn).toMatchObject({ stop_reason, raw_stop_reason, model: "mock" });
  });
});

test("failures are tried again at once, and each attempt is noted", async () => {
  const error = { category: "rate_limit" as const, retry_after_ms: 5 };
  const { options, calls, clock } = mocked([{ error }, { error }, { text: "at last" }]);
  const turn = await callModel(REQUEST, ANTHROPIC, options);
  expect(turn.blocks).toEqual([{ type: "output_text", text: "at last" }]);
  expect([calls.length, clock.waits]).toEqual([3, [0, 0]]);
});

test.each([...ERROR_CATEGORIES])("an error of the category %s keeps it", async (category) => {
  const transient = ["timeout", "rate_limit", "overloaded", "server_error", "transient_network"];
  const mock = { error: { category, message: "their words", retry_after_ms: 1500 } };
  const { options, calls } = mocked([mock, mock, mock]);
  const error = await failureOf(callModel(REQUEST, ANTHROPIC, options));
  const kind = transient.includes(category) ? "transient" : "terminal";
  expect(failureClassOf(error.data)).toMatchObject({ category, kind });
  expect(error.data.members).toMatchObject({ provider: "anthropic", model: ANTHROPIC.model });
  expect(JSON.stringify(error.operator)).toContain("their words");
  expect(calls).toHaveLength(kind === "transient" ? 3 : 1);
});

test("the message of a generic error identifies it", async () => {
  const mock: Mock = { error: { category: "generic", message: "prompt is too long: 9000 tokens" } };
  const error = await failureOf(callModel(REQUEST, ANTHROPIC, mocked([mock]).options));
  expect(error.data.members).toMatchObject({ reason: "context_overflow", offending_tokens: 9000 });
});

test("an empty answer is requested again, up to the retries", async () => {
  const { options, calls } = mocked([{ text: "" }, { text: "something" }]);
  expect((await callModel(REQUEST, ANTHROPIC, options)).blocks).toHaveLength(1);
  expect(calls).toHaveLength(2);
});

test("when used up, the default answers and no provider does; ids continue", async () => {
  const { options } = mocked([{ tool_calls: [{ name: "look" }] }]);
  const first = await callModel(REQUEST, ANTHROPIC, options);
  const messages: Message[] = [
    ...REQUEST.messages,
    { role: "assistant", content: first.blocks },
    { role: "tool", results: [{ call_id: "mock_call_1", name: "look", content: "x", is_error: false }] },
  ];
  const second = await callModel({ ...REQUEST, messages }, ANTHROPIC, options);
  expect(second.blocks).toMatchObject([{ type: "tool_call", id: "mock_call_2", name: "look" }]);
});

test("fallbacks: the primary's error, then the next provider's answer", async () => {
  const error = { category: "overloaded" as const };
  const { options } = mocked([{ error }, { error }, { error }, { text: "from b" }]);
  const resolve = ({ provider, model }: { provider: string; model: string | null }) =>
    mockTarget(provider, model, shippedModels);
  const [primary, next] = ["anthropic", "openai"].map((provider) => ({ provider, model: "m" }));
  if (primary === undefined || next === undefined) return expect.fail();
  const turn = await callWithFallback(() => REQUEST, primary, [next], { ...options, resolve });
  expect([turn.provider, turn.blocks]).toEqual(["openai", [{ type: "output_text", text: "from b" }]]);
});

test("the log contains the tools of a text format too", async () => {
  const { options, calls } = mocked([{ text: "t" }]);
  const { tools } = REQUEST;
  await callModel({ ...REQUEST, tools: [], tools_in_text: tools }, ANTHROPIC, options);
  expect(calls[0]?.tools).toEqual(tools);
});

test("a prompt to be cached is remembered by the run", async () => {
  const { options } = mocked([]);
  const figures = async () => {
    const { usage } = await callModel({ ...REQUEST, cache: true }, ANTHROPIC, options);
    return [usage.cache_write_tokens, usage.cache_read_tokens];
  };
  expect([await figures(), await figures()]).toEqual([
    [3, 0],
    [0, 3],
  ]);
});

test("with nothing queued and nothing to mock, the provider gets the call", async () => {
  const { options } = mocked([]);
  const target = resolveTarget({ provider: "openai", model: "m" }, (name) =>
    name === "OPENAI_API_KEY" ? "key" : undefined,
  );
  const intercept = answering(() => ({ mock: null, otherwise: "provider", seen: false }), "run");
  let asked = 0;
  const fetch = () => {
    asked++;
    return Promise.resolve(Response.json({ choices: [{ message: { content: "real" } }] }));
  };
  const turn = await callModel(REQUEST, target, { ...options, intercept, fetch });
  expect([asked, turn.blocks]).toEqual([1, [{ type: "output_text", text: "real" }]]);
  const mock = await callModel({ ...REQUEST, tools: [] }, mockTarget("mock", null, shippedModels), {
    ...options,
    intercept,
  });
  expect(mock).toMatchObject({ provider: "mock", model: "mock", raw_stop_reason: null });
});

test("mocks that answer everything fail for unknown tools", async () => {
  const { options } = mocked([]);
  const take = () => ({ mock: null, otherwise: { error: "mocks.jsonl" }, seen: false });
  const intercept = answering(take, "run");
  const error = await failureOf(callModel(REQUEST, ANTHROPIC, { ...options, intercept }));
  expect(error.data).toMatchObject({ code: "mock_unmatched", status: 502 });
  expect(error.data.detail).toMatch(/mocks\.jsonl.*hé/);
});

test.each<[string, object]>([
  ["claude-opus-4-7", { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" }],
  ["gpt-5.4", { type: "tool_search", mode: "hosted", namespaces: ["ops"] }],
])("a provider's own tool search comes first among the tools of a call: %s", async (model, search) => {
  const { options, calls } = mocked([]);
  const deferred = { name: "hit", description: "", parameters: {}, defer_loading: true, namespace: "ops" };
  const tools = [...REQUEST.tools, deferred];
  const tool_search = { variant: "bm25" as const };
  const target = mockTarget("mock", model, shippedModels);
  await callModel({ ...REQUEST, tools, tool_search }, target, options);
  expect(calls[0]?.tools).toEqual([search, ...tools]);
});

test("completions: a queued mock, else the fixed text", async () => {
  const { options, calls } = mocked([{ text: "filled", match: "*hé*" }]);
  const completion = { prefix: "abc", suffix: "é" };
  const turn = await callModel({ ...REQUEST, completion }, ANTHROPIC, options);
  expect(turn).toMatchObject({ blocks: [{ text: "filled" }] });
  expect(calls).toHaveLength(1);
  const messages: ModelRequest["messages"] = [{ role: "user", content: [{ type: "text", text: "other" }] }];
  const other = await callModel({ ...REQUEST, messages, completion }, ANTHROPIC, options);
  expect(other).toMatchObject({
    blocks: [{ text: "Mock completion between 3 characters before and 1 after." }],
    stop_reason: "end_turn",
    usage: { input_tokens: 5, output_tokens: 16 },
  });
});
