import { expect, test } from "vitest";
import type { ModelRequest } from "../../../src/engine/messages.ts";
import { type CallOptions, callModel } from "../../../src/model/call.ts";
import { systemClock } from "../../../src/model/clock.ts";
import { resolveTarget } from "../../../src/model/providers.ts";
import type { AiBinding } from "../../../src/model/workers-ai.ts";
import { failureOf } from "../../support/failure.ts";

const REQUEST: ModelRequest = {
  system: "S",
  messages: [
    { role: "user", content: [{ type: "text", text: "hi" }] },
    { role: "assistant", content: [{ type: "tool_call", id: "c1", name: "t", arguments: {}, raw: "{}" }] },
    { role: "tool", results: [{ call_id: "c1", name: "t", content: "r", is_error: false }] },
  ],
  tools: [{ name: "t", description: "d", parameters: { type: "object", properties: {} } }],
  max_tokens: 9,
  json: false,
};
const TARGET = resolveTarget({ provider: "workers-ai", model: "@cf/x" }, () => undefined);

async function ask(run: AiBinding["run"] | undefined, more: Partial<CallOptions> = {}) {
  const heard: string[] = [];
  const turn = await callModel(REQUEST, TARGET, {
    stream: false,
    timeout_ms: 2000,
    signal: new AbortController().signal,
    clock: {
      ...systemClock,
      random: () => 0,
      sleep: (ms, signal) => systemClock.sleep(ms === 2000 ? ms : Math.min(ms, 20), signal),
    },
    fetch,
    onText: (text) => heard.push(text),
    ai: run && { run },
    ...more,
  });
  return { turn, heard };
}

const sse = (...data: unknown[]) =>
  new Blob(
    data.map((item) => `data: ${typeof item === "string" ? item : JSON.stringify(item)}\n\n`),
  ).stream();

const EXPECTED = {
  blocks: [
    { type: "output_text", text: "Hello" },
    { type: "tool_call", id: "call_1", name: "t", arguments: { x: 1 } },
  ],
  stop_reason: "tool_use",
  usage: { input_tokens: 5, output_tokens: 6 },
  provider: "workers-ai",
  model: "@cf/x",
};
const usage = { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 };

test("the chat shape goes in; both shapes of answer come out, whole and streamed", async () => {
  const legacyCall = { name: "t", arguments: { x: 1 } };
  const call = { type: "function", function: { name: "t", arguments: '{"x":1}' } };
  const message = { role: "assistant", content: "Hello", tool_calls: [call] };
  const answers = [
    { response: "Hello", tool_calls: [legacyCall], usage },
    { choices: [{ index: 0, message, finish_reason: "tool_calls" }], usage },
    sse({ response: "Hel" }, { response: "lo" }, { response: "", tool_calls: [legacyCall], usage }, "[DONE]"),
    sse(
      { choices: [{ index: 0, delta: { content: "Hel" } }] },
      { choices: [{ index: 0, delta: { content: "lo", tool_calls: [{ index: 0, ...call }] } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }], usage },
      "[DONE]",
    ),
  ];
  for (const answer of answers) {
    const stream = answer instanceof ReadableStream;
    const { turn, heard } = await ask(
      async (model, inputs) => {
        expect(model).toBe("@cf/x");
        expect(inputs).toMatchObject({ max_tokens: 9, tools: [{ type: "function" }] });
        expect(inputs).not.toHaveProperty("model");
        expect(inputs).not.toHaveProperty("stream_options");
        expect(JSON.stringify(inputs)).not.toContain("null");
        expect(inputs.stream).toBe(stream ? true : undefined);
        return answer;
      },
      { stream },
    );
    expect(turn).toMatchObject(EXPECTED);
    expect(heard).toEqual(stream ? ["Hel", "lo"] : []);
  }
});

test("a character that a stream cuts in two arrives whole", async () => {
  const answer = sse({ response: "a\ud83d" }, { response: "\ude00b" }, "[DONE]");
  const { heard } = await ask(async () => answer, { stream: true });
  expect(heard).toEqual(["a", "😀b"]);
});

test("digits that Workers AI streams as numbers are text, in both shapes of chunk, and in a whole answer", async () => {
  const chat = (content: unknown) => ({ choices: [{ index: 0, delta: { content } }] });
  const end = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
  const stream = { stream: true };
  for (const [answer, heard] of [
    [sse({ response: "$" }, { response: 0 }, { response: "." }, { response: 5 }, "[DONE]"), "$0.5"],
    [sse(chat("$"), chat(0), chat("."), chat(5), end, "[DONE]"), "$0.5"],
  ] as const) {
    const asked = await ask(async () => answer, stream);
    expect(asked.heard.join("")).toBe(heard);
    expect(asked.turn.blocks).toEqual([{ type: "output_text", text: heard }]);
  }
  for (const answer of [{ response: 0 }, { choices: [{ message: { content: 0 }, finish_reason: "stop" }] }]) {
    expect((await ask(async () => answer, { stream: false })).turn.blocks).toEqual([
      { type: "output_text", text: "0" },
    ]);
  }
});

test("options go in as the binding's schemas have them", async () => {
  const inputs: unknown[] = [];
  const schema = { schema: { type: "object" }, strict: true };
  const asked: ModelRequest = {
    ...REQUEST,
    json: true,
    schema,
    sampling: { temperature: 0.5, top_k: 3, stop: ["x"] },
    extra: { lora: "l" },
  };
  const turn = await callModel(asked, TARGET, {
    stream: false,
    timeout_ms: 2000,
    signal: new AbortController().signal,
    clock: systemClock,
    fetch,
    ai: {
      run: async (_, given) => {
        inputs.push(given);
        return { response: "{}" };
      },
    },
  });
  expect(inputs).toMatchObject([
    {
      temperature: 0.5,
      top_k: 3,
      lora: "l",
      response_format: { type: "json_schema", json_schema: { type: "object" } },
    },
  ]);
  expect(inputs[0]).not.toHaveProperty("stop");
  expect(turn.warnings).toMatchObject([{ code: "option_ignored", option: "stop" }]);
});

test.each([
  ["3040: Capacity temporarily exceeded, please try again.", "provider_rate_limited", 3],
  ["AiError: 5007: No such model @cf/x or task", "provider_rejected_request", 1],
  ["5018: The account is not allowed to access this model", "provider_auth_failed", 1],
  ["something else", "provider_error", 3],
])("binding error %s is %s after %i attempts", async (message, code, attempts) => {
  let runs = 0;
  const error = await failureOf(
    ask(async () => {
      runs++;
      throw new TypeError(message);
    }),
  );
  expect({ code: error.code, runs }).toEqual({ code, runs: attempts });
  expect(error.data.detail).not.toContain(message);
});

test("no binding and no base URL names both ways; a silent binding times out", async () => {
  const error = await failureOf(ask(undefined));
  expect(error.code).toBe("provider_not_configured");
  expect(error.data.members).toMatchObject({ variable: "WORKERS_AI_BASE_URL" });
  expect(error.message).toContain('[ai] with binding = "AI" in wrangler.toml');
  expect(error.message).not.toContain("Worker secret");
  expect(error.message).toMatch(/WORKERS_AI_BASE_URL/);
  const silent = await failureOf(ask(() => new Promise(() => undefined), { timeout_ms: 15 }));
  expect(silent.code).toBe("provider_timeout");
});

test("a caller who leaves before the call of the binding does not wait for it", async () => {
  const left = new AbortController();
  const intercept = async () => {
    left.abort();
    return null;
  };
  const error = await failureOf(ask(() => new Promise(() => undefined), { signal: left.signal, intercept }));
  expect(error.code).toBe("client_closed_request");
});
