import { expect, test } from "vitest";
import type { Block, Message, ModelRequest } from "../../../src/engine/messages.ts";
import { openAiBody, openAiChat } from "../../../src/model/openai-chat.ts";
import { callIdSource, type WireTarget } from "../../../src/model/wire.ts";
import { TARGET } from "../../support/wire-target.ts";

const TOOL = { name: "look_up", description: "Looks up.", parameters: { type: "object", properties: {} } };

const request = (messages: Message[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  system: "",
  messages,
  tools: [],
  max_tokens: 512,
  json: false,
  ...more,
});
const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });
const parse = (answer: unknown) => openAiChat.parse(answer, TARGET, callIdSource([]));
const completion = (message: object, more: object = {}) => ({
  model: "m-1",
  choices: [{ index: 0, message, finish_reason: "stop", ...more }],
});

/** The turn of a stream of such deltas. */
function streamed(deltas: object[], finish = "stop") {
  const reader = openAiChat.stream(TARGET, {});
  for (const delta of deltas) reader.push({ data: JSON.stringify({ choices: [{ index: 0, delta }] }) });
  reader.push({ data: JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: finish }] }) });
  expect(reader.push({ data: "[DONE]" })).toBe(true);
  return parse(reader.answer());
}

test("system first, token field by provider, JSON mode only where the prompt speaks of JSON", () => {
  const plain = request([user("hi")], { system: "Be brief.", tools: [TOOL] });
  expect(openAiBody(plain, { ...TARGET, token_field: "max_completion_tokens" }, true)).toEqual({
    model: "m",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "hi" },
    ],
    max_completion_tokens: 512,
    tools: [{ type: "function", function: TOOL }],
    stream: true,
    stream_options: { include_usage: true },
  });
  const off = request([user("hi")], { tools: [TOOL], tool_choice: "none", json: true, json_as_text: true });
  expect(openAiBody(off, TARGET, false)).toEqual({
    model: "m",
    messages: [{ role: "user", content: "hi" }],
    max_tokens: 512,
    tools: [{ type: "function", function: TOOL }],
    tool_choice: "none",
  });
  const json = request([user("give me Json")], { json: true, json_as_text: true });
  expect(openAiBody(json, TARGET, false)).toMatchObject({ response_format: { type: "json_object" } });
  expect(openAiBody(json, { ...TARGET, json_mode: false }, false)).not.toHaveProperty("response_format");
});

test("a whole tool round goes back: raw arguments, one message per result, what the provider added to a call", () => {
  const turn: Block[] = [
    { type: "reasoning", text: "hm" },
    { type: "tool_call", id: "c1", name: "look_up", arguments: null, raw: "not json" },
    {
      type: "opaque",
      provider: "google",
      value: { call_id: "c1", extra_content: { google: { thought_signature: "s" } } },
    },
    { type: "opaque", provider: "anthropic", value: { type: "redacted_thinking", data: "d" } },
    { type: "tool_call", id: `chatcmpl-tool-${"0".repeat(32)}`, name: "look_up", arguments: {}, raw: "" },
  ];
  const messages: Message[] = [
    {
      role: "user",
      content: [
        { type: "text", text: "see" },
        { type: "image", media_type: "image/gif", data: "AA" },
      ],
    },
    { role: "assistant", content: turn },
    {
      role: "tool",
      results: [
        { call_id: "c1", name: "look_up", content: "one", is_error: true },
        { call_id: `chatcmpl-tool-${"0".repeat(32)}`, name: "look_up", content: "", is_error: false },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "output_text", text: "part A" },
        { type: "output_text", text: " B" },
      ],
    },
    { role: "assistant", content: [{ type: "reasoning", text: "only" }] },
    {
      role: "user",
      content: [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
    },
  ];
  const expected = [
    {
      role: "user",
      content: [
        { type: "text", text: "see" },
        { type: "image_url", image_url: { url: "data:image/gif;base64,AA" } },
      ],
    },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        {
          id: "c1",
          type: "function",
          function: { name: "look_up", arguments: "not json" },
          extra_content: { google: { thought_signature: "s" } },
        },
        { id: "call_x1", type: "function", function: { name: "look_up", arguments: "{}" } },
      ],
    },
    { role: "tool", tool_call_id: "c1", content: "one" },
    { role: "tool", tool_call_id: "call_x1", content: "" },
    { role: "assistant", content: "part A B" },
    { role: "user", content: "a\n\nb" },
  ];
  expect(openAiBody(request(messages), TARGET, false).messages).toEqual(expected);
  const deepseek = openAiBody(request(messages), { ...TARGET, reasoning_echo: true }, false).messages;
  expect(deepseek[1]).toMatchObject({ reasoning_content: "hm" });
  expect(deepseek[4]).not.toHaveProperty("reasoning_content");
});

test.each([
  ["mistral", "some-model", ["call00001", "Ab3dEf9hI", "call00003", "call00002"]],
  ["openrouter", "mistralai/Mixtral-8x22b-instruct", ["call00001", "Ab3dEf9hI", "call00003", "call00002"]],
  ["openai", "gpt-5", ["call_aaaaaaaaaaaaaaaaaaaaaaaa", "Ab3dEf9hI", "call_1", "call00002"]],
])("%s's %s gets ids of calls that it accepts back", (provider, model, ids) => {
  const sentIds = ["call_aaaaaaaaaaaaaaaaaaaaaaaa", "Ab3dEf9hI", "call_1", "call00002"];
  const messages: Message[] = [
    {
      role: "assistant",
      content: sentIds.map((id) => ({ type: "tool_call", id, name: "look_up", arguments: {}, raw: "{}" })),
    },
    {
      role: "tool",
      results: sentIds.map((call_id) => ({ call_id, name: "look_up", content: "found", is_error: false })),
    },
  ];
  const [turn, ...results] = openAiBody(request(messages), { ...TARGET, provider, model }, false).messages;
  expect(turn).toMatchObject({ tool_calls: ids.map((id) => ({ id })) });
  expect(results).toMatchObject(ids.map((tool_call_id) => ({ role: "tool", tool_call_id })));
});

test("reasoning, text, refusal, calls and tokens have canonical forms", () => {
  const turn = parse({
    ...completion({
      content: [
        { type: "text", text: "part A" },
        { type: "text", text: " B" },
      ],
      reasoning: "hm",
      tool_calls: [
        {
          id: "c1",
          type: "function",
          function: { name: "a", arguments: '{"x":1}' },
          extra_content: { k: 1 },
        },
        { id: "c1", type: "function", function: { name: "b", arguments: { x: 2 } } },
        { function: { name: "c" } },
      ],
    }),
    usage: {
      prompt_tokens: 9,
      completion_tokens: 8,
      prompt_tokens_details: { cached_tokens: 7, cache_write_tokens: 6 },
    },
  });
  expect(turn).toEqual({
    blocks: [
      { type: "reasoning", text: "hm" },
      { type: "output_text", text: "part A B" },
      { type: "tool_call", id: "c1", name: "a", arguments: { x: 1 }, raw: '{"x":1}' },
      { type: "opaque", provider: "google", value: { call_id: "c1", extra_content: { k: 1 } } },
      { type: "tool_call", id: "call_1", name: "b", arguments: { x: 2 }, raw: '{"x":2}' },
      { type: "tool_call", id: "call_2", name: "c", arguments: {}, raw: "" },
    ],
    stop_reason: "tool_use",
    raw_stop_reason: "stop",
    usage: { input_tokens: 9, output_tokens: 8, cache_read_tokens: 7, cache_write_tokens: 6 },
    provider: "google",
    model: "m-1",
  });
  const refused = parse(completion({ content: null, refusal: "No." }));
  expect(refused).toMatchObject({ stop_reason: "refusal", raw_stop_reason: "stop" });
  expect(refused.blocks.filter((block) => block.type === "output_text")).toEqual([]);
  expect(parse(completion({ content: "ok", refusal: "" })).stop_reason).toBe("end_turn");
});

test.each([
  ["not json", null],
  ["null", null],
  ["[1]", null],
  ['"text"', null],
  ['{"a": "cut', null],
  ["", {}],
  [' {"a": [1]} ', { a: [1] }],
])("arguments %j are %j, streamed and whole", (raw, args) => {
  const call = { id: "c", function: { name: "t", arguments: raw } };
  const expected = [{ type: "tool_call", id: "c", name: "t", arguments: args, raw }];
  expect(parse(completion({ content: null, tool_calls: [call] })).blocks).toEqual(expected);
  expect(streamed([{ tool_calls: [{ index: 0, ...call }] }]).blocks).toEqual(expected);
});

test("a call that the token limit cut before its arguments is malformed", () => {
  const deltas = ["a", "b"].map((name, index) => ({ tool_calls: [piece(index, name, name, "")] }));
  expect(streamed(deltas, "length").blocks).toMatchObject([{ arguments: {} }, { arguments: null }]);
});

const piece = (
  index: number | undefined,
  id: string | undefined,
  name: string | undefined,
  text?: string,
) => ({
  ...(index === undefined ? {} : { index }),
  ...(id === undefined ? {} : { id }),
  function: { ...(name === undefined ? {} : { name }), ...(text === undefined ? {} : { arguments: text }) },
});

test.each([
  [
    "by index, interleaved",
    [
      [piece(0, "c0", "a", ""), piece(1, "c1", "b", "")],
      [piece(1, undefined, undefined, '{"y":'), piece(0, undefined, undefined, '{"x":1}')],
      [piece(1, undefined, undefined, "2}")],
    ],
    ["c0", "c1"],
  ],
  [
    "no index, whole calls at once",
    [[piece(undefined, "c0", "a", '{"x":1}')], [piece(undefined, "c1", "b", '{"y":2}')]],
    ["c0", "c1"],
  ],
  [
    "no index, arguments in pieces",
    [
      [piece(undefined, "c0", "a", '{"x"')],
      [piece(undefined, undefined, undefined, ":1}")],
      [piece(undefined, "c1", "b", '{"y":2}')],
    ],
    ["c0", "c1"],
  ],
  [
    "index 0 for all, ids tell them apart",
    [[piece(0, "c0", "a", '{"x":1}')], [piece(0, "c1", "b", '{"y":2}')]],
    ["c0", "c1"],
  ],
  [
    "id and name repeated in each piece",
    [[piece(0, "c0", "a", '{"x"')], [piece(0, "c0", "a", ":1}")], [piece(1, "c1", "b", '{"y":2}')]],
    ["c0", "c1"],
  ],
  [
    "no ids at all",
    [[piece(undefined, undefined, "a", '{"x":1}')], [piece(undefined, undefined, "b", '{"y":2}')]],
    ["call_1", "call_2"],
  ],
  [
    "one id for both",
    [[piece(undefined, "same", "a", '{"x":1}')], [piece(undefined, "same", "b", '{"y":2}')]],
    ["same", "call_1"],
  ],
  ["empty ids", [[piece(0, "", "a", '{"x":1}')], [piece(1, "", "b", '{"y":2}')]], ["call_1", "call_2"]],
])("streamed calls: %s", (_, deltas, ids) => {
  const turn = streamed(deltas.map((tool_calls) => ({ tool_calls })));
  expect(turn.stop_reason).toBe("tool_use");
  expect(turn.blocks).toMatchObject([
    { type: "tool_call", id: ids[0], name: "a", arguments: { x: 1 } },
    { type: "tool_call", id: ids[1], name: "b", arguments: { y: 2 } },
  ]);
});

test("a signature that comes in a piece of its own stays with its call", () => {
  const turn = streamed([
    { tool_calls: [piece(undefined, "c0", "a", "{}")] },
    { tool_calls: [{ extra_content: { google: { thought_signature: "s" } } }] },
  ]);
  expect(turn.blocks[1]).toEqual({
    type: "opaque",
    provider: "google",
    value: { call_id: "c0", extra_content: { google: { thought_signature: "s" } } },
  });
});

test.each([
  ["length", "max_tokens"],
  ["content_filter", "refusal"],
  ["STOP", "end_turn"],
  ["insufficient_system_resource", "other"],
])("finish reason %s is %s", (raw, normal) => {
  expect(parse(completion({ content: "x" }, { finish_reason: raw }))).toMatchObject({
    stop_reason: normal,
    raw_stop_reason: raw,
  });
});

test("made-up ids never repeat one of the conversation", () => {
  const history: Message[] = [
    {
      role: "assistant",
      content: [{ type: "tool_call", id: "call_1", name: "a", arguments: {}, raw: "{}" }],
    },
  ];
  const answer = completion({ content: null, tool_calls: [{ id: "call_1", function: { name: "a" } }] });
  expect(openAiChat.parse(answer, TARGET, callIdSource(history)).blocks).toMatchObject([{ id: "call_2" }]);
});

test("reasoning that is in its details only is passed on as well", () => {
  const details = [{ type: "reasoning.summary", summary: "Plan.", index: 0 }];
  const expected = { type: "reasoning", text: "Plan.", native: { provider: "google", value: details } };
  expect(parse(completion({ content: "x", reasoning_details: details })).blocks[0]).toEqual(expected);
  const pieces = ["Pl", "an."].map((summary) => ({ reasoning_details: [{ ...details[0], summary }] }));
  expect(streamed([...pieces, { content: "x" }]).blocks[0]).toEqual(expected);
});

test("a client's own name for the effort does not appear next to OpenRouter's member for it", () => {
  const at = (variant: WireTarget["variant"]): WireTarget => ({ ...TARGET, ...(variant ? { variant } : {}) });
  const thinking = { mode: "effort", level: "high" } as const;
  const extra = { reasoning_effort: "xhigh" };
  const passthrough = { protocol: "openai-chat" as const, body: extra, tools: [], headers: {} };
  const router = at("openrouter");
  expect(openAiBody(request([], { thinking }), router, false)).toMatchObject({
    reasoning: { effort: "high" },
  });
  for (const more of [{ extra }, { passthrough }])
    expect(openAiBody(request([], { thinking, ...more }), router, false)).not.toHaveProperty("reasoning");
});
