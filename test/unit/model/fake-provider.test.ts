/** The fake provider proves something only if the vendors' own clients read its answers. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FakeProvider, startFakeProvider } from "../../support/fake-provider.ts";

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const TURN = {
  text: ["Grüße ", "aus ", "Köln"],
  tool_calls: [
    { id: "call_a", name: "look_up", arguments: { city: "Köln", days: [1, 2] } },
    { id: "call_b", name: "now", arguments: {} },
  ],
  usage: { input: 12, output: 7, cache_read: 3 },
};

test("Anthropic's client reads messages, whole and streamed", async () => {
  const client = new Anthropic({ apiKey: "k", baseURL: fake.url, maxRetries: 0 });
  const params = {
    model: "claude-x",
    max_tokens: 64,
    messages: [{ role: "user" as const, content: "hi" }],
  };
  fake.script([
    { ...TURN, reasoning: "hm" },
    { ...TURN, reasoning: "hm" },
  ]);
  const whole = await client.messages.create(params);
  const deltas: string[] = [];
  const streamed = await client.messages
    .stream(params)
    .on("text", (text) => deltas.push(text))
    .finalMessage();
  expect(deltas).toEqual(TURN.text);
  for (const message of [whole, streamed]) {
    expect(message.content).toMatchObject([
      { type: "thinking", thinking: "hm", signature: "sig:hm" },
      { type: "text", text: "Grüße aus Köln" },
      { type: "tool_use", id: "call_a", name: "look_up", input: { city: "Köln", days: [1, 2] } },
      { type: "tool_use", id: "call_b", name: "now", input: {} },
    ]);
    expect(message.stop_reason).toBe("tool_use");
    expect(message.usage).toMatchObject({ input_tokens: 12, output_tokens: 7, cache_read_input_tokens: 3 });
  }
});

test("OpenAI's client reads completions, whole and streamed", async () => {
  const client = new OpenAI({ apiKey: "k", baseURL: `${fake.url}/v1`, maxRetries: 0 });
  const params = { model: "gpt-x", messages: [{ role: "user" as const, content: "hi" }] };
  fake.script([TURN, TURN]);
  const whole = await client.chat.completions.create(params);
  const runner = client.chat.completions.stream({ ...params, stream_options: { include_usage: true } });
  const deltas: string[] = [];
  runner.on("content", (delta) => deltas.push(delta));
  const streamed = await runner.finalChatCompletion();
  expect(deltas.filter((delta) => delta !== "")).toEqual(TURN.text);
  for (const completion of [whole, streamed]) {
    expect(completion.choices[0]).toMatchObject({
      finish_reason: "tool_calls",
      message: {
        content: "Grüße aus Köln",
        tool_calls: [
          { id: "call_a", function: { name: "look_up", arguments: '{"city":"Köln","days":[1,2]}' } },
          { id: "call_b", function: { name: "now", arguments: "{}" } },
        ],
      },
    });
    expect(completion.usage).toMatchObject({ prompt_tokens: 12, completion_tokens: 7 });
  }
});

test("OpenAI's client reads responses, whole and streamed", async () => {
  const client = new OpenAI({ apiKey: "k", baseURL: `${fake.url}/v1`, maxRetries: 0 });
  const params = { model: "gpt-x", input: "hi" };
  const turn = { ...TURN, reasoning: "hm", searches: [{ query: "look", found: ["look_up"] }] };
  fake.script([turn, turn, { text: ["a"], stop: "max_output_tokens" }, { refusal: "no" }, { text: "back" }]);
  const whole = await client.responses.create(params);
  const deltas: string[] = [];
  const stream = client.responses.stream(params);
  stream.on("response.output_text.delta", ({ delta }) => deltas.push(delta));
  const streamed = await stream.finalResponse();
  expect(deltas).toEqual(TURN.text);
  for (const response of [whole, streamed]) {
    expect(response.output).toMatchObject([
      { type: "reasoning", summary: [{ text: "hm" }], encrypted_content: "enc:hm" },
      { type: "tool_search_call", execution: "server", arguments: { query: "look" } },
      { type: "tool_search_output", tools: [{ type: "function", name: "look_up" }] },
      { type: "message", content: [{ type: "output_text", text: "Grüße aus Köln" }] },
      { type: "function_call", call_id: "call_a", arguments: '{"city":"Köln","days":[1,2]}' },
      { type: "function_call", call_id: "call_b", name: "now" },
    ]);
    expect(response).toMatchObject({ status: "completed", output_text: "Grüße aus Köln" });
    expect(response.usage).toMatchObject({ input_tokens: 12, input_tokens_details: { cached_tokens: 3 } });
  }
  const cut = await client.responses.stream(params).finalResponse();
  expect(cut).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
  const refused = await client.responses.create(params);
  expect(refused.output).toMatchObject([{ content: [{ type: "refusal", refusal: "no" }] }]);
  const input = [{ role: "user" as const, content: [{ type: "input_text" as const, text: "echo me" }] }];
  await client.responses.create({ ...params, input });
  expect((await client.responses.create({ ...params, input })).output_text).toBe("echo me");
});

test("OpenAI's client reads completions, whole and streamed", async () => {
  const client = new OpenAI({ apiKey: "k", baseURL: `${fake.url}/v1`, maxRetries: 0 });
  const params = { model: "gpt-x", prompt: "say this back" };
  expect((await client.completions.create(params)).choices[0]?.text).toBe("say this back");
  fake.script([{ text: ["a ", "b"], stop: "length" }]);
  const pieces: string[] = [];
  for await (const chunk of await client.completions.create({ ...params, stream: true })) {
    pieces.push(...chunk.choices.map(({ text, finish_reason }) => `${text}|${finish_reason}`));
  }
  expect(pieces).toEqual(["a |null", "b|null", "|length"]);
});

test("Anthropic's client reads searches for tools", async () => {
  const client = new Anthropic({ apiKey: "k", baseURL: fake.url, maxRetries: 0 });
  const messages = [{ role: "user" as const, content: "hi" }];
  const turn = { searches: [{ id: "srvtoolu_1", query: "look", found: ["look_up"] }], text: "found" };
  fake.script([turn, turn]);
  const params = { model: "claude-x", max_tokens: 9, messages };
  const whole = await client.messages.create(params);
  for (const message of [whole, await client.messages.stream(params).finalMessage()]) {
    expect(message.content).toMatchObject([
      { type: "server_tool_use", id: "srvtoolu_1", input: { query: "look" } },
      { type: "tool_search_tool_result", content: { tool_references: [{ tool_name: "look_up" }] } },
      { type: "text", text: "found" },
    ]);
  }
});

test("errors arrive as the clients' own error classes; an empty script echoes", async () => {
  fake.script([{ status: 429, headers: { "retry-after": "3" } }, { status: 400 }, { cut: true }]);
  const anthropic = new Anthropic({ apiKey: "k", baseURL: fake.url, maxRetries: 0 });
  const openai = new OpenAI({ apiKey: "k", baseURL: `${fake.url}/v1`, maxRetries: 0 });
  const messages = [{ role: "user" as const, content: "say this back" }];
  const ask = () => anthropic.messages.create({ model: "m", max_tokens: 1, messages });
  await expect(ask()).rejects.toBeInstanceOf(Anthropic.RateLimitError);
  await expect(openai.chat.completions.create({ model: "m", messages })).rejects.toBeInstanceOf(
    OpenAI.BadRequestError,
  );
  await expect(ask()).rejects.toThrow();
  expect((await ask()).content).toMatchObject([{ type: "text", text: "say this back" }]);
});
