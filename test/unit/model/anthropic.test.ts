import { expect, test } from "vitest";
import type { Block, Message, ModelRequest } from "../../../src/engine/messages.ts";
import { anthropic } from "../../../src/model/anthropic.ts";
import { ALL_OFF } from "../../../src/model/capabilities.ts";
import { callIdSource } from "../../../src/model/wire.ts";

const TARGET = {
  provider: "anthropic",
  model: "claude-x",
  token_field: "max_tokens",
  json_mode: false,
  reasoning_echo: false,
  capabilities: ALL_OFF,
} as const;
const TOOL = {
  name: "look_up",
  description: "Looks up.",
  parameters: {
    type: "object",
    properties: { q: { type: "string" } },
    required: ["q"],
    additionalProperties: false,
  },
};

const request = (messages: Message[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  system: "",
  messages,
  tools: [],
  max_tokens: 100,
  json: false,
  ...more,
});
const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });
const body = (r: ModelRequest, stream = false) => anthropic.body(r, TARGET, stream);
const parse = (answer: unknown) => anthropic.parse(answer, TARGET, callIdSource([]));

test("system and tools are top-level; tools off keeps the definitions", () => {
  const r = request([user("hi")], { system: "Be brief.", tools: [TOOL], tool_choice: "none" });
  expect(body(r, true)).toEqual({
    model: "claude-x",
    max_tokens: 100,
    system: "Be brief.",
    messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
    tools: [{ name: "look_up", description: "Looks up.", input_schema: TOOL.parameters }],
    tool_choice: { type: "none" },
    stream: true,
  });
  expect(body(request([user("hi")]))).toEqual({
    model: "claude-x",
    max_tokens: 100,
    messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
  });
});

test("properties with names that Anthropic refuses are described in words", () => {
  const [q, top] = [{ type: "string" }, { type: "integer" }];
  const parameters = { ...TOOL.parameters, properties: { q, $top: top }, required: ["q", "$top"] };
  expect(body(request([user("hi")], { tools: [{ ...TOOL, parameters }] }))).toMatchObject({
    tools: [
      {
        description: `Looks up.\n\nFurther arguments: {"properties":{"$top":{"type":"integer"}},"required":["$top"]}`,
        input_schema: { type: "object", properties: { q }, required: ["q"], additionalProperties: true },
      },
    ],
  });
});

test("a call's arguments keep the digits of their numbers, streamed and whole", () => {
  const raw = '{"id":12345678901234567890}';
  const start = { type: "tool_use", id: "c", name: "look_up", input: {} };
  const events = [
    { type: "message_start", message: { usage: {} } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "Well." } },
    { type: "content_block_start", index: 1, content_block: start },
    { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: raw } },
    { type: "message_delta", delta: { stop_reason: "tool_use" } },
    { type: "message_stop" },
  ];
  const reader = anthropic.stream(TARGET, {});
  for (const event of events) reader.push({ data: JSON.stringify(event) });
  const text = `{"content":[{"type":"tool_use","id":"c","name":"look_up","input":{ "id": 12345678901234567890 }}]}`;
  for (const [answer, sent] of [
    [reader.answer(), reader.text?.()],
    [JSON.parse(text), text],
  ] as const) {
    const turn = anthropic.parse(answer, TARGET, callIdSource([]), sent);
    expect(turn.blocks.at(-1)).toMatchObject({ type: "tool_call", raw, arguments: JSON.parse(raw) });
    const back = body(request([user("x"), { role: "assistant", content: turn.blocks }]));
    expect(JSON.stringify(back)).toContain(`"input":${raw}`);
  }
});

test("a whole tool round goes back: thinking and own blocks unchanged, results in one user message", () => {
  const redacted: Block = {
    type: "opaque",
    provider: "anthropic",
    value: { type: "redacted_thinking", data: "x" },
  };
  const turn: Block[] = [
    { type: "reasoning", text: "", signature: "sig" },
    redacted,
    { type: "reasoning", text: "unsigned, of another provider" },
    { type: "opaque", provider: "google", value: { call_id: "c", extra_content: {} } },
    { type: "output_text", text: "  " },
    { type: "tool_call", id: "toolu_1", name: "look_up", arguments: { q: "x" }, raw: '{"q":"x"}' },
    { type: "tool_call", id: "functions.bad name:0", name: "bad name", arguments: null, raw: "{cut" },
  ];
  const results: Message = {
    role: "tool",
    results: [
      { call_id: "toolu_1", name: "look_up", content: "found", is_error: false },
      { call_id: "functions.bad name:0", name: "bad name", content: "", is_error: true },
    ],
  };
  const image: Message = {
    role: "user",
    content: [{ type: "image", media_type: "image/png", data: "AAAA" }],
  };
  const sent = body(
    request([
      image,
      { role: "assistant", content: turn },
      results,
      { role: "assistant", content: [] },
      user(" "),
    ]),
  );
  expect(sent).toMatchObject({
    messages: [
      {
        role: "user",
        content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } }],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "", signature: "sig" },
          { type: "redacted_thinking", data: "x" },
          { type: "tool_use", id: "toolu_1", name: "look_up", input: { q: "x" } },
          { type: "tool_use", id: "call_x1", name: "bad_name", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_1", content: "found" },
          { type: "tool_result", tool_use_id: "call_x1", is_error: true },
        ],
      },
      { role: "user", content: [{ type: "text", text: "(empty message)" }] },
    ],
  });
});

test("Hull sends no conversation without messages, and no blanks after an answer that it begins", () => {
  const said = (text: string): Message => ({ role: "assistant", content: [{ type: "output_text", text }] });
  expect(body(request([]))).toMatchObject({
    messages: [{ role: "user", content: [{ type: "text", text: "(empty message)" }] }],
  });
  expect(body(request([user("hi"), said("One "), user("go"), said("It is \n")]))).toMatchObject({
    messages: [{}, { content: [{ text: "One " }] }, {}, { content: [{ text: "It is" }] }],
  });
});

const JSON_TOOL = { name: "json_response", input_schema: { type: "object", additionalProperties: true } };
const list = { schema: { type: "array", items: {} }, strict: true };
test.each<[string, Partial<ModelRequest>, object]>([
  [
    "alone it is forced",
    { json: true },
    { tools: [JSON_TOOL], tool_choice: { type: "tool", name: "json_response" } },
  ],
  [
    "next to tools it is offered",
    { json: true, tools: [TOOL] },
    { tools: [{ name: "look_up" }, JSON_TOOL], tool_choice: { type: "auto" } },
  ],
  [
    "with thinking it is offered",
    { json: true, thinking: { mode: "adaptive" } },
    { tools: [JSON_TOOL], tool_choice: { type: "auto" } },
  ],
  [
    "a tool of that name stays",
    { json: true, tools: [{ ...TOOL, name: "json_response" }] },
    { tools: [{ name: "json_response", input_schema: TOOL.parameters }], tool_choice: { type: "auto" } },
  ],
  [
    "a schema that is no object is asked for in words",
    { json: true, schema: list },
    { system: expect.stringContaining('JSON Schema:\n{"type":"array","items":{}}'), tools: undefined },
  ],
  ["text is asked for", { json: true, json_as_text: true }, { tools: undefined, system: undefined }],
])("the JSON tool: %s", (_, more, expected) => {
  const sent: { [key: string]: unknown } = { ...body(request([user("hi")], more)) };
  expect({ ...sent, tools: sent.tools, system: sent.system }).toMatchObject(expected);
});

test("interleaved thinking can be turned off, and on for unknown models", () => {
  const header = (asked: boolean | undefined, supported: boolean | null, thinks = true) => {
    const capabilities = { ...ALL_OFF, interleaved_thinking_supported: supported };
    const r = request([user("hi")], {
      ...(thinks ? { thinking: { mode: "adaptive" } } : {}),
      ...(asked === undefined ? {} : { interleaved_thinking: asked }),
    });
    return anthropic.headers?.(r, { ...TARGET, capabilities })["anthropic-beta"];
  };
  const beta = "interleaved-thinking-2025-05-14";
  expect([header(undefined, true), header(true, null)]).toEqual([beta, beta]);
  expect([header(undefined, null), header(false, true), header(undefined, true, false)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test("an image of a type that Anthropic does not take is refused before the call", () => {
  const bmp: Message = { role: "user", content: [{ type: "image", media_type: "image/bmp", data: "AA" }] };
  expect(() => body(request([bmp]))).toThrow(/image\/bmp/);
});

test("a document that is a text is sent as one; of others only PDF files", () => {
  const file = (media_type: string, data: string): Message => ({
    role: "user",
    content: [{ type: "document", filename: "a.csv", media_type, data }],
  });
  expect(body(request([file("text/csv", "w6ksMQ==")]))).toMatchObject({
    messages: [
      {
        content: [
          {
            type: "document",
            title: "a.csv",
            source: { type: "text", media_type: "text/plain", data: "é,1" },
          },
        ],
      },
    ],
  });
  expect(() => body(request([file("application/zip", "UEsDBA==")]))).toThrow(/application\/zip/);
  for (const data of ["/w==", "!!"]) expect(() => body(request([file("text/csv", data)]))).toThrow(/UTF-8/);
});

test("every kind of block has a canonical form", () => {
  const turn = parse({
    model: "claude-x-1",
    content: [
      { type: "thinking", thinking: "hm", signature: "s" },
      { type: "redacted_thinking", data: "d" },
      { type: "text", text: "part A" },
      { type: "server_tool_use", id: "srv", name: "web_search", input: { query: "q" } },
      { type: "text", text: " B" },
      { type: "tool_use", id: "t1", name: "a", input: { x: 1 } },
      { type: "tool_use", id: "t1", name: "b", input: null },
      { type: "tool_use", name: "c", input: {} },
    ],
    stop_reason: "tool_use",
    usage: {
      input_tokens: 3,
      output_tokens: 4,
      cache_read_input_tokens: 5,
      cache_creation_input_tokens: null,
    },
  });
  expect(turn).toEqual({
    blocks: [
      { type: "reasoning", text: "hm", signature: "s" },
      { type: "opaque", provider: "anthropic", value: { type: "redacted_thinking", data: "d" } },
      { type: "output_text", text: "part A" },
      {
        type: "opaque",
        provider: "anthropic",
        value: { type: "server_tool_use", id: "srv", name: "web_search", input: { query: "q" } },
      },
      { type: "output_text", text: " B" },
      { type: "tool_call", id: "t1", name: "a", arguments: { x: 1 }, raw: '{"x":1}' },
      { type: "tool_call", id: "call_1", name: "b", arguments: {}, raw: "{}" },
      { type: "tool_call", id: "call_2", name: "c", arguments: {}, raw: "{}" },
    ],
    stop_reason: "tool_use",
    raw_stop_reason: "tool_use",
    usage: { input_tokens: 3, output_tokens: 4, cache_read_tokens: 5, cache_write_tokens: 0 },
    provider: "anthropic",
    model: "claude-x-1",
  });
});

test.each([
  ["end_turn", "end_turn"],
  ["max_tokens", "max_tokens"],
  ["model_context_window_exceeded", "max_tokens"],
  ["stop_sequence", "stop_sequence"],
  ["pause_turn", "pause"],
  ["refusal", "refusal"],
  ["something_new", "other"],
  [null, "other"],
])("stop reason %s is %s", (raw, normal) => {
  const turn = parse({ content: [], stop_reason: raw });
  expect(turn).toMatchObject({ stop_reason: normal, raw_stop_reason: raw, model: "claude-x" });
});

test("the last call of a turn that the token limit cut is malformed; earlier ones are not", () => {
  const call = (id: string) => ({ type: "tool_use", id, name: "a", input: { path: "/" } });
  const turn = parse({ content: [call("t1"), call("t2")], stop_reason: "max_tokens" });
  expect(turn.blocks).toMatchObject([{ arguments: { path: "/" } }, { arguments: null }]);
});

test("an answer of another shape names the place, an error document gives nothing away", () => {
  expect(() => parse({ content: "text" })).toThrow(/its content is not as documented/);
  expect(() => parse({ content: [{ type: "text" }] })).toThrow(/its text is not as documented/);
  expect(() => parse([])).toThrow(/not an answer of this protocol/);
  expect(() => parse({ type: "error", error: { type: "api_error", message: "inner" } })).toThrow(
    /^Hull cannot use the answer of anthropic: it is an error object under a status of success\.$/,
  );
});
