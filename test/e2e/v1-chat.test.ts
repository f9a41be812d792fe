/** `POST /v1/chat/completions` and `GET /v1/models`; the client is OpenAI's own SDK, unmodified. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";

const { hull, fake } = await commonHull({
  "a/SKILL.md": "---\nname: a\ndescription: Test.\nprovider: openai\nmodel: gpt-4o\n---\nAnswer in rhymes.\n",
  "b/SKILL.md":
    "---\nname: b\ndescription: Test.\nprovider: anthropic\nmodel: claude-opus-4-6\nmax_tokens: 16384\n---\nAnswer in prose.\n",
});

const client = new OpenAI({ apiKey: "any", baseURL: `${hull.url}/v1`, maxRetries: 0 });
const CLAUDE = "claude-opus-4-6";
const GPT = "gpt-4o";
const WEATHER: OpenAI.ChatCompletionTool = {
  type: "function",
  function: {
    name: "weather",
    description: "Tells the weather.",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};
const messages: OpenAI.ChatCompletionMessageParam[] = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "Hello?" },
];
const sent = (n = 0): Record<string, unknown> => ({ ...fake.requests[n]?.body });

describe("a chat completion", () => {
  test("of a model of OpenAI's protocol keeps the members that other protocols cannot express", async () => {
    fake.script([{ text: "Hi.", usage: { input: 9, output: 2, cache_read: 4 } }]);
    const body = {
      model: GPT,
      messages,
      user: "u1",
      logit_bias: { "5": 1 },
      max_completion_tokens: 50,
      seed: 7,
      store: true,
      metadata: { team: "a" },
      service_tier: "default" as const,
    };
    const answer = await client.chat.completions.create({ ...body, parallel_tool_calls: false });
    expect(sent()).toEqual({ ...body, parallel_tool_calls: false });
    expect(answer).toMatchObject({
      object: "chat.completion",
      choices: [
        { index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hi.", refusal: null } },
      ],
      usage: {
        prompt_tokens: 9,
        completion_tokens: 2,
        total_tokens: 11,
        prompt_tokens_details: { cached_tokens: 4 },
      },
    });
  });

  test("of Anthropic's model goes out in its protocol, tools and results too", async () => {
    fake.script([{ text: "Warm.", usage: { input: 10, output: 2, cache_read: 5 } }]);
    const { data, response } = await client.chat.completions
      .create({
        model: CLAUDE,
        max_tokens: 60,
        stop: "END",
        user: "u1",
        tools: [WEATHER],
        tool_choice: { type: "function", function: { name: "weather" } },
        messages: [
          ...messages,
          {
            role: "assistant",
            content: null,
            tool_calls: [
              { id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } },
            ],
          },
          { role: "tool", tool_call_id: "c1", content: "29 °C" },
        ],
      })
      .withResponse();
    expect(sent()).toMatchObject({
      model: CLAUDE,
      max_tokens: 60,
      system: "Be brief.",
      stop_sequences: ["END"],
      tools: [{ name: "weather", input_schema: { type: "object" } }],
      tool_choice: { type: "tool", name: "weather" },
      messages: [
        { role: "user", content: [{ type: "text", text: "Hello?" }] },
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "c1", name: "weather", input: { city: "Rome" } }],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "29 °C" }] },
      ],
    });
    expect(data.choices[0]?.message.content).toBe("Warm.");
    // Anthropic counts cached tokens separately from the others.
    expect(data.usage).toMatchObject({ prompt_tokens: 15, total_tokens: 17 });
    expect(response.headers.get("x-hull-ignored")).toBe("user");
  });

  test.each([GPT, CLAUDE])("streams its whole answer: %s", async (model) => {
    const turn = {
      text: ["One ", "two."],
      tool_calls: [{ id: "call_1", name: "weather", arguments: { city: "Rome" } }],
      usage: { input: 5, output: 6 },
    };
    fake.script([turn, turn]);
    const body = { model, messages, tools: [WEATHER] };
    const whole = await client.chat.completions.create(body);
    const stream = client.chat.completions.stream({ ...body, stream_options: { include_usage: true } });
    const usages: unknown[] = [];
    stream.on("chunk", (chunk) => usages.push(chunk.usage));
    const streamed = await stream.finalChatCompletion();
    expect(new Set(usages.slice(0, -1))).toEqual(new Set([null]));
    const [one, two] = [whole.choices[0], streamed.choices[0]];
    expect(two?.message.content).toBe("One two.");
    expect(one?.message.content).toBe("One two.");
    expect(two?.message.tool_calls).toMatchObject(one?.message.tool_calls ?? []);
    expect([one?.finish_reason, two?.finish_reason]).toEqual(["tool_calls", "tool_calls"]);
    expect(streamed.usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 6 });
  });

  test("has strict tools where the provider has them", async () => {
    const strict: OpenAI.ChatCompletionTool = {
      type: "function",
      function: { ...WEATHER.function, strict: true },
    };
    const ignored = [];
    for (const model of [GPT, CLAUDE]) {
      const response = await client.chat.completions
        .create({ model, messages, tools: [strict] })
        .asResponse();
      ignored.push(response.headers.get("x-hull-ignored"));
    }
    expect(ignored).toEqual([null, "tools.strict"]);
    expect(sent()).toMatchObject({ tools: [strict] });
  });

  test("has no log probabilities, and warns of it", async () => {
    for (const model of [GPT, CLAUDE]) {
      const body = { model, messages, logprobs: true, top_logprobs: 2, user: "u1" };
      const { data, response } = await client.chat.completions.create(body).withResponse();
      expect(response.headers.get("x-hull-ignored")).toMatch(/logprobs, top_logprobs$/);
      expect(data.choices[0]?.logprobs).toBeNull();
    }
    expect(sent()).toMatchObject({ user: "u1" });
    expect(sent()).not.toHaveProperty("logprobs");
  });

  test("asks for JSON by a schema", async () => {
    fake.script([{ text: '{"n":1}' }]);
    const schema = { type: "object", properties: { n: { type: "integer" } } };
    const response_format = {
      type: "json_schema" as const,
      json_schema: { name: "n", strict: true, schema },
    };
    await client.chat.completions.create({ model: GPT, messages, response_format });
    expect(sent()).toMatchObject({
      response_format: { type: "json_schema", json_schema: { strict: true, schema } },
    });
  });

  test.each([false, true])(
    "has the JSON that Claude gives by Hull's tool as its text: streamed %s",
    async (stream) => {
      fake.script([
        { text: "Here it is.", tool_calls: [{ name: "json_response", arguments: { n: 1 } }] },
        { text: '{"n":2}' },
      ]);
      const schema = { type: "object", properties: { n: { type: "integer" } } };
      const json_schema = { name: "n", strict: true, schema };
      const body = {
        model: CLAUDE,
        messages,
        response_format: { type: "json_schema" as const, json_schema },
      };
      const ask = () =>
        stream
          ? client.chat.completions.stream(body).finalChatCompletion()
          : client.chat.completions.create(body);
      for (const content of ['{"n":1}', '{"n":2}']) {
        const { choices } = await ask();
        expect(choices[0]).toMatchObject({ finish_reason: "stop", message: { content } });
        expect(choices[0]?.message).not.toHaveProperty("tool_calls.0");
      }
      expect(sent()).toMatchObject({ tool_choice: { type: "tool", name: "json_response" } });
    },
  );

  test.each([
    [GPT, false],
    [GPT, true],
    ["skill/a", false],
    ["skill/a", true],
  ])(
    "of %s ends with stop after a refusal, and with content_filter after a filter: streamed %s",
    async (model, stream) => {
      fake.script([{ refusal: "I will not." }, { text: "Half", stop: "content_filter" }]);
      const body = { model, messages };
      const ask = async () => {
        if (stream) return (await client.chat.completions.stream(body).finalChatCompletion()).choices[0];
        const { data, response } = await client.chat.completions.create(body).withResponse();
        expect(response.headers.get("x-hull-warnings")).toBe("model_refused");
        return data.choices[0];
      };
      expect(await ask()).toMatchObject({ finish_reason: "stop", message: { refusal: "I will not." } });
      expect(await ask()).toMatchObject({ finish_reason: "content_filter", message: { content: "Half" } });
    },
  );

  test.each([GPT, "skill/a"])("of %s that is cut has its warnings, and so has its stream", async (model) => {
    fake.script(Array.from({ length: 3 }, () => ({ text: ["Ha", "lf"], stop: "length" as const })));
    const warnings = [{ code: "answer_cut", message: expect.any(String) }];
    const body = { model, messages };
    expect(await client.chat.completions.create(body)).toMatchObject({ warnings });
    const ends: object[] = [];
    for await (const chunk of await client.chat.completions.create({ ...body, stream: true }))
      if (chunk.choices[0]?.finish_reason === "length") ends.push(chunk);
    expect(ends).toMatchObject([{ warnings }]);
    const last = client.chat.completions.stream(body).finalChatCompletion();
    expect((await last).choices[0]).toMatchObject({ finish_reason: "length", message: { content: "Half" } });
  });

  test("an effort that only OpenAI names reaches its models unchanged, and others as the nearest level", async () => {
    fake.script([{ text: "So." }, { text: "So." }, { text: "So." }]);
    const asked = (model: string, reasoning_effort: "minimal" | "high") =>
      client.chat.completions.create({ model, messages, reasoning_effort }).asResponse();
    const own = await asked("gpt-5.4", "minimal");
    expect([sent().reasoning_effort, own.headers.get("x-hull-ignored")]).toEqual(["minimal", null]);
    const other = await asked(CLAUDE, "minimal");
    expect(sent(1)).toMatchObject({ output_config: { effort: "low" } });
    expect(other.headers.get("x-hull-ignored")).toBe("reasoning_effort");
    const known = await asked(CLAUDE, "high");
    expect(sent(2)).toMatchObject({ output_config: { effort: "high" } });
    expect(known.headers.get("x-hull-ignored")).toBeNull();
  });

  test.each([CLAUDE, "skill/b"])("of %s keeps thinking that its provider wants back", async (model) => {
    fake.script([
      { text: "So.", reasoning: "hm", tool_calls: [{ id: "toolu_1", name: "weather", arguments: {} }] },
    ]);
    const body = { model, messages, tools: [WEATHER], reasoning_effort: "high" as const };
    const first = await client.chat.completions.create(body);
    const message = first.choices[0]?.message;
    expect(message).toMatchObject({ reasoning_content: "hm" });
    const back: OpenAI.ChatCompletionMessageParam[] = message === undefined ? [] : [message];
    const result = { role: "tool" as const, tool_call_id: "toolu_1", content: "29" };
    await client.chat.completions.create({ ...body, messages: [...messages, ...back, result] });
    expect(sent(1)).toMatchObject({ thinking: { type: "adaptive" } });
    const [, said] = fake.requests[1]?.body.messages ?? [];
    expect(said?.content).toMatchObject([
      { type: "thinking", thinking: "hm" },
      { type: "text" },
      { type: "tool_use" },
    ]);
    // A client that leaves it out continues without thinking.
    const calls = message?.tool_calls ?? [];
    const bare = { role: "assistant" as const, content: "So.", tool_calls: calls };
    await client.chat.completions.create({ ...body, messages: [...messages, bare, result] });
    expect(sent(2)).not.toHaveProperty("thinking");
  });
});

describe("what goes wrong", () => {
  test("has the SDK's classes and members", async () => {
    fake.script([{ status: 429, headers: { "retry-after": "40" } }]);
    const limited = await client.chat.completions.create({ model: GPT, messages }).catch((e: unknown) => e);
    expect(limited).toBeInstanceOf(OpenAI.RateLimitError);
    const many = await client.chat.completions
      .create({ model: GPT, messages, n: 2 })
      .catch((e: unknown) => e);
    expect(many).toBeInstanceOf(OpenAI.BadRequestError);
    expect(many).toMatchObject({ code: "invalid_request", param: "n", requestID: expect.any(String) });
    expect(fake.requests).toHaveLength(1);
  });

  test("after the first event is an event", async () => {
    fake.script([{ text: ["One ", "two"], cut: true }]);
    const stream = client.chat.completions.stream({ model: GPT, messages });
    await expect(stream.finalChatCompletion()).rejects.toBeInstanceOf(OpenAI.APIError);
  });
});

test("models are listed for both vendors' clients, skills among them", async () => {
  const listed = [];
  for await (const model of client.models.list()) listed.push(model);
  expect(listed.map(({ id }) => id)).toEqual(
    expect.arrayContaining(["skill/a", "claude-haiku-4-5-20251001"]),
  );
  expect(await client.models.retrieve("skill/a")).toMatchObject({ object: "model", owned_by: "hull" });
  // A model of a provider that is set up need not be in the list.
  expect(listed.map(({ id }) => id)).not.toContain("gpt-4o");
  expect(await client.models.retrieve("gpt-4o")).toMatchObject({ id: "gpt-4o", owned_by: "openai" });
  for (const id of ["none", "skill/none", "meta/llama-4"])
    await expect(client.models.retrieve(id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  const anthropic = new Anthropic({ apiKey: "any", baseURL: hull.url });
  const [first] = (await anthropic.models.list()).data;
  expect(first).toMatchObject({ type: "model", display_name: expect.any(String) });
  // Anthropic's lists have pages, in both directions.
  const ids = listed.map(({ id }) => id);
  const walked = async (params: Anthropic.ModelListParams) => {
    const pages: string[][] = [];
    for await (const page of (await anthropic.models.list(params)).iterPages())
      pages.push(page.data.map(({ id }) => id));
    return pages;
  };
  const forward = await walked({ limit: 5 });
  expect([forward.flat(), forward[0]]).toEqual([ids, ids.slice(0, 5)]);
  expect(await walked({ limit: 2, after_id: ids.at(-4) ?? "" })).toEqual([ids.slice(-3, -1), ids.slice(-1)]);
  expect(await walked({ limit: 2, before_id: ids[3] ?? "" })).toEqual([ids.slice(1, 3), ids.slice(0, 1)]);
  expect(await walked({ limit: 1000 })).toEqual([ids]);
  const faults: [Anthropic.ModelListParams, RegExp][] = [
    [{ limit: 0 }, /limit must be a whole number from 1 to 1000/],
    [{ after_id: "none" }, /after_id names no model/],
    [{ before_id: "none" }, /before_id names no model/],
    [{ before_id: ids[0] ?? "", after_id: ids[0] ?? "" }, /one of the two/],
  ];
  for (const [params, words] of faults) await expect(anthropic.models.list(params)).rejects.toThrow(words);
});
