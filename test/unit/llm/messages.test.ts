import { describe, expect, it } from "vitest";
import type { Message } from "../../../src/engine/messages.ts";
import { messageJson, messageShape, readMessages } from "../../../src/llm/messages.ts";
import { readOptions } from "../../../src/llm/options.ts";
import { readThinking } from "../../../src/llm/thinking.ts";
import {
  emptyTranscript,
  transcriptShape,
  uuidV7,
  withMessages,
  withTurn,
} from "../../../src/llm/transcript.ts";
import type { JsonObject } from "../../../src/skill/manifest.ts";

const read = (list: unknown[]) => readMessages(list.map((item) => messageShape.parse(item)));

const conversation: Message[] = [
  { role: "user", content: [{ type: "text", text: "hi" }] },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "hm", signature: "sig" },
      { type: "output_text", text: "hello" },
      { type: "tool_call", id: "c1", name: "look", arguments: { a: 1 }, raw: '{"a":1}' },
      { type: "tool_call", id: "c2", name: "look", arguments: null, raw: "broken" },
      { type: "opaque", provider: "anthropic", value: { type: "redacted_thinking", data: "x" } },
    ],
  },
  {
    role: "tool",
    results: [
      { call_id: "c1", name: "look", content: "r1", is_error: false },
      { call_id: "c2", name: "look", content: "bad", is_error: true },
    ],
  },
  {
    role: "user",
    content: [
      { type: "text", text: "see" },
      { type: "image", url: "https://e.example/a.png" },
    ],
  },
];

describe("messages", () => {
  it("survive their public form, through JSON", () => {
    const shown: unknown[] = JSON.parse(JSON.stringify(conversation.flatMap(messageJson)));
    expect(read(shown).messages).toEqual(conversation);
  });

  it("are read from the forms that clients write", () => {
    const { system, messages } = read([
      { role: "system", content: "be brief" },
      { role: "user", content: "hi" },
      { role: "assistant", content: "", tool_calls: [{ id: "c1", name: "look", arguments: { a: 1 } }] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "c1", content: { found: 2 } },
          { type: "text", text: "so?" },
        ],
      },
      { role: "tool", tool_call_id: "c1", content: null },
      { role: "tool", tool_call_id: "c9", name: "told", content: "x", is_error: true },
    ]);
    expect(system).toEqual(["be brief"]);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user", "tool"]);
    expect(messages[2]).toEqual({
      role: "tool",
      results: [{ call_id: "c1", name: "look", content: '{\n  "found": 2\n}', is_error: false }],
    });
    expect(messages[4]).toEqual({
      role: "tool",
      results: [
        { call_id: "c1", name: "look", content: "null", is_error: false },
        { call_id: "c9", name: "told", content: "x", is_error: true },
      ],
    });
  });

  it.each<[unknown, JsonObject | null, string]>([
    [{ a: 1 }, { a: 1 }, '{"a":1}'],
    ['{"a": 1}', { a: 1 }, '{"a": 1}'],
    [" ", {}, " "],
    [undefined, {}, "{}"],
    ["[1]", null, "[1]"],
  ])("the arguments %j of a call are a text or a value; blank ones are none", (given, args, raw) => {
    const call = { id: "c1", name: "look", ...(given === undefined ? {} : { arguments: given }) };
    const { messages } = read([{ role: "assistant", tool_calls: [call] }]);
    expect(messages).toMatchObject([{ content: [{ type: "tool_call", arguments: args, raw }] }]);
  });

  it.each([
    [{ role: "user", content: [{ type: "image" }] }],
    [{ role: "user", content: [{ type: "image", url: "file:///etc/passwd" }] }],
    [{ role: "user", content: [{ type: "audio", url: "https://e.example/a.mp3" }] }],
  ])("media without usable bytes are refused: %j", (message) => {
    expect(() => read([message])).toThrow(/messages\.0/);
  });

  it("a data URL is bytes", () => {
    const { messages } = read([
      { role: "user", content: [{ type: "image", url: "data:Image/png;name=a;base64,AAAA" }] },
    ]);
    expect(messages[0]).toEqual({
      role: "user",
      content: [{ type: "image", media_type: "image/png", data: "AAAA" }],
    });
  });
});

describe("transcripts", () => {
  let n = 0;
  const ids = () => uuidV7(1_700_000_000_000 + n++, "abababab-abab-4bab-abab-abababababab");
  it("hold a message or tool_result event per message, and what a turn adds", () => {
    const turn = {
      blocks: conversation[1]?.role === "assistant" ? conversation[1].content : [],
      stop_reason: "end_turn" as const,
      raw_stop_reason: "stop",
      usage: { input_tokens: 3, output_tokens: 4, cache_read_tokens: 0, cache_write_tokens: 0 },
      provider: "p",
      model: "m",
    };
    const start = withMessages(emptyTranscript(ids()), conversation.slice(0, 1), ids);
    const { id, events, messages } = withTurn(start, turn, ids);
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(events.map(({ kind, visibility }) => [kind, visibility])).toEqual([
      ["message", "public"],
      ["message", "public"],
      ["provider_payload", "internal"],
      ["private_reasoning", "private"],
    ]);
    expect(events[2]?.metadata).toMatchObject({ model: "m", input_tokens: 3, output_tokens: 4 });
    const again = transcriptShape.parse(JSON.parse(JSON.stringify({ ...start, messages })));
    expect(readMessages(again.messages).messages).toHaveLength(2);
    expect(new Set(events.map((event) => event.id)).size).toBe(events.length);
  });
});

describe("options", () => {
  const isProvider = (name: string) => name === "ollama";
  it.each<[Record<string, never> | object, string]>([
    [{ temprature: 1 }, "temperature"],
    [{ max_tokens: "5" }, "options.max_tokens"],
    [{ schema: "x" }, "must be an object"],
    [{ ollama: 5 }, "options.ollama"],
    [{ messages: [{ role: "nobody" }] }, "options.messages.0"],
    ...["loud", 3, [], { mode: "x" }, { budget_tokens: -1 }, { other: 1 }, { adaptive: true }].map(
      (thinking): [object, string] => [{ thinking }, "options.thinking: must be one of"],
    ),
  ])("%j is refused, naming %s", (given, named) => {
    const result = readOptions(JSON.parse(JSON.stringify(given)), isProvider);
    expect("faults" in result && result.faults.map(({ message }) => message).join()).toContain(named);
  });
  it.each([
    [1.001, 1001],
    [60, 60_000],
    [0.0004, 1],
  ])("a limit of %d s is %d whole ms", (seconds, ms) => {
    const result = readOptions({ timeout: seconds, idle_timeout: seconds }, isProvider);
    expect(result).toEqual({ options: { timeout_ms: ms, idle_timeout_ms: ms }, own: {} });
  });
  it("a provider's own part is kept apart, null counts as absent", () => {
    const result = readOptions({ model: null, top_k: 3, ollama: { num_ctx: 5 } }, isProvider);
    expect(result).toEqual({ options: { top_k: 3 }, own: { ollama: { num_ctx: 5 } } });
  });
});

describe("thinking", () => {
  it.each([
    [true, { mode: "enabled" }],
    ["on", { mode: "enabled" }],
    ["adaptive", { mode: "adaptive" }],
    ["high", { mode: "effort", level: "high" }],
    [{ budget_tokens: 2000 }, { mode: "enabled", budget_tokens: 2000 }],
    [
      { mode: "effort", level: "low" },
      { mode: "effort", level: "low" },
    ],
    [
      { mode: "effort", level: "low", adaptive: true },
      { mode: "effort", level: "low", adaptive: true },
    ],
    [false, null],
    ["off", null],
    [{ enabled: false }, null],
    [undefined, null],
  ])("%j means %j", (given, read) => {
    expect(readThinking(given)).toEqual(read);
  });
});
