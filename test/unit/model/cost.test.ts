import { expect, test } from "vitest";
import type { ModelRequest } from "../../../src/engine/messages.ts";
import { checkBudgetOption, type Projection } from "../../../src/model/budget-option.ts";
import { nanoUsd, promptTokensOf } from "../../../src/model/cost.ts";
import { promptTokens, utf8Bytes } from "../../../src/model/estimate.ts";
import { readUsage } from "../../../src/model/usage.ts";

const usage = (input_tokens: number, output_tokens: number, read = 0, write = 0) => ({
  input_tokens,
  output_tokens,
  cache_read_tokens: read,
  cache_write_tokens: write,
});
const SONNET = { in: 3, out: 15, cache_read: 0.3, cache_write: 3.75 };

test.each([
  ["plain", usage(1000, 500), { in: 3, out: 15 }, false, 10_500_000],
  ["less than a nano-USD a token, rounded at the end", usage(3, 0), { in: 0.0003, out: 0 }, false, 1],
  ["cached within the input", usage(1000, 0, 250), { in: 2.5, out: 10, cache_read: 1.25 }, false, 2_187_500],
  ["cached in addition to the input", usage(100, 0, 900, 100), SONNET, true, 945_000],
  ["without a price for cached input", usage(1000, 0, 250), { in: 2.5, out: 10 }, false, 2_500_000],
  ["more cached than input, said to be within", usage(100, 0, 900), SONNET, false, 270_000],
])("nano-USD, %s", (_, tokens, price, excludesCached, expected) => {
  expect(nanoUsd(tokens, price, excludesCached)).toBe(expected);
});

test("a prompt is all of its tokens, wherever cached ones are counted", () => {
  expect([promptTokensOf(usage(100, 0, 900), true), promptTokensOf(usage(1000, 0, 900), false)]).toEqual([
    1000, 1000,
  ]);
});

test.each<[string, object, [number, number]]>([
  [
    "of OpenAI: reasoning within the completion",
    { total_tokens: 14, completion_tokens_details: { reasoning_tokens: 1 } },
    [12, 2],
  ],
  [
    "of xAI: reasoning in addition to the completion",
    { total_tokens: 331, completion_tokens_details: { reasoning_tokens: 317 } },
    [12, 319],
  ],
  ["of Gemini: reasoning in the total alone", { total_tokens: 331 }, [12, 319]],
  ["of Gemini: nothing but reasoning", { completion_tokens: 0, total_tokens: 72 }, [12, 60]],
  [
    "with reasoning and a cache",
    { total_tokens: 331, prompt_tokens_details: { cached_tokens: 4 } },
    [12, 319],
  ],
  [
    "of a server whose input leaves out cached tokens",
    { total_tokens: 54, prompt_tokens_details: { cached_tokens: 40 } },
    [12, 2],
  ],
  [
    "of a server that reports only a total",
    { prompt_tokens: undefined, completion_tokens: undefined, total_tokens: 54 },
    [0, 0],
  ],
  ["with less in total", { total_tokens: 3 }, [12, 2]],
])("the usage %s counts reasoning once, as output", (_, more, [input_tokens, output_tokens]) => {
  const said = { prompt_tokens: 12, completion_tokens: 2, ...more };
  expect(readUsage(said)).toMatchObject({ input_tokens, output_tokens });
});

test("the tokens of a compaction, which Anthropic leaves out of its counts, count as well", () => {
  const counts = {
    input_tokens: 10,
    output_tokens: 2,
    cache_read_input_tokens: 3,
    cache_creation_input_tokens: 4,
  };
  const iteration = (type: string, factor: number) => ({
    type,
    ...Object.fromEntries(Object.entries(counts).map(([key, count]) => [key, count * factor])),
  });
  const iterations = [
    iteration("compaction", 100),
    iteration("message", 1),
    iteration("advisor_message", 10_000),
  ];
  expect(readUsage({ ...counts, iterations })).toEqual({
    input_tokens: 1010,
    output_tokens: 202,
    cache_read_tokens: 303,
    cache_write_tokens: 404,
  });
});

test.each(["", "abc", "Größe", "日本語", "😀 a"])("bytes of %j", (text) => {
  expect(utf8Bytes(text)).toBe(new TextEncoder().encode(text).length);
});

const REQUEST: ModelRequest = {
  system: "1234",
  messages: [],
  tools: [],
  max_tokens: 1,
  json: false,
};
const user = (...content: (ModelRequest["messages"][number] & { role: "user" })["content"]) => ({
  messages: [{ role: "user" as const, content }],
});
test.each<[string, Partial<ModelRequest>, number]>([
  ["the system text", {}, 1],
  ["tools", { tools: [{ name: "t", description: "", parameters: {} }] }, 13],
  ["a message", user({ type: "text", text: "12345678" }), 3],
  [
    "an image, whatever its bytes",
    user({ type: "image", media_type: "image/png", data: "x".repeat(1e6) }),
    1601,
  ],
  [
    "a document, by its bytes",
    user({ type: "document", media_type: "application/pdf", data: "x".repeat(4000) }),
    1001,
  ],
  [
    "calls, their results and the schema",
    {
      messages: [
        {
          role: "assistant",
          content: [{ type: "tool_call", id: "1", name: "look", arguments: {}, raw: "{}ab" }],
        },
        { role: "tool", results: [{ call_id: "1", name: "look", content: "12345678", is_error: false }] },
      ],
      schema: { schema: { a: 1 }, strict: true },
    },
    7,
  ],
])("an estimate counts %s", (_, request, expected) => {
  expect(promptTokens({ ...REQUEST, ...request })).toBe(expected);
});

const CALL: Projection = {
  provider: "anthropic",
  model: "claude-sonnet-4",
  price: SONNET,
  refusesUnpriced: true,
  input_tokens: 1000,
  max_tokens: null,
  session_cost_usd: 0.5,
};
const thrownBy = (option: Parameters<typeof checkBudgetOption>[0], call: Partial<Projection>) => {
  try {
    checkBudgetOption(option, { ...CALL, ...call });
    return null;
  } catch (error) {
    return error;
  }
};

test.each([
  ["no limit", {}, {}],
  ["output without max_tokens is not projected", { max_cost_usd: 0.003 }, {}],
  ["a max_tokens below max_output_tokens", { max_output_tokens: 50 }, { max_tokens: 20 }],
  [
    "an unknown price checks no cost where it is allowed",
    { max_cost_usd: 0, total_budget_usd: 0 },
    { price: null, refusesUnpriced: false },
  ],
])("budget option, %s", (_, option, call) => {
  expect(thrownBy(option, call)).toBeNull();
});

test.each(["max_cost_usd", "total_budget_usd"])(
  "budget option: an unknown price is refused under %s",
  (limit) => {
    expect(thrownBy({ [limit]: 1 }, { price: null })).toMatchObject({
      data: { code: "price_unknown", status: 402, members: { limit, model: "claude-sonnet-4" } },
    });
  },
);

test.each([
  ["max_cost_usd", { max_cost_usd: 0.0029 }, {}, { projected_cost_usd: 0.003, projected_output_tokens: 0 }],
  ["max_cost_usd", { max_cost_usd: 0.004 }, { max_tokens: 100 }, { projected_cost_usd: 0.0045 }],
  ["max_cost_usd", { max_cost_usd: 0.004, max_output_tokens: 100 }, {}, { projected_output_tokens: 100 }],
  ["total_budget_usd", { total_budget_usd: 0.502 }, {}, { session_cost_usd: 0.5 }],
  ["max_input_tokens", { max_input_tokens: 999 }, { price: null }, { projected_cost_usd: 0 }],
  ["max_output_tokens", { max_output_tokens: 50 }, { max_tokens: 51 }, { projected_output_tokens: 51 }],
])("budget option: %s is passed by %j", (limit, option, call, members) => {
  expect(thrownBy(option, call)).toMatchObject({
    data: {
      code: "budget_exceeded",
      status: 402,
      members: {
        kind: "terminal",
        reason: "budget_exceeded",
        category: "budget_exceeded",
        budget: "option",
        limit,
        limit_value: Object.values(option)[0],
        projected_input_tokens: 1000,
        provider: "anthropic",
        model: "claude-sonnet-4",
        ...members,
      },
    },
  });
});
