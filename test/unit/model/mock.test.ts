import { expect, test } from "vitest";
import type { Message, ModelRequest, ToolDefinition } from "../../../src/engine/messages.ts";
import { ALL_OFF } from "../../../src/model/capabilities.ts";
import { answerAsMock } from "../../../src/model/mock.ts";

const TARGET = {
  provider: "mock",
  model: "mock",
  token_field: "max_tokens",
  json_mode: true,
  reasoning_echo: false,
  capabilities: ALL_OFF,
} as const;
const TOOL: ToolDefinition = {
  name: "greet",
  description: "",
  parameters: {
    type: "object",
    properties: {
      who: { type: "string" },
      times: { type: "integer" },
      loud: { type: "boolean" },
      tone: { type: "string", enum: ["warm", "cold"] },
      tags: { type: "array", items: { type: "string" } },
      extra: { type: "object" },
      unused: { type: "string" },
    },
    required: ["who", "times", "loud", "tone", "tags", "extra"],
  },
};
const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });
const request = (more: Partial<ModelRequest>): ModelRequest => ({
  system: "",
  messages: [user("Grüße an  alle")],
  tools: [],
  tool_choice: "auto",
  max_tokens: 1,
  json: false,
  ...more,
});
const answer = (more: Partial<ModelRequest>) => {
  const pieces: string[] = [];
  const turn = answerAsMock(request(more), TARGET, { onText: (text) => pieces.push(text) });
  const [block] = turn.blocks;
  return { turn, pieces, text: block?.type === "output_text" ? block.text : null };
};

test("calls the first tool once, with the prompt for required strings", () => {
  const { turn } = answer({ tools: [TOOL] });
  expect(turn).toMatchObject({ stop_reason: "tool_use", usage: { input_tokens: 16, output_tokens: 20 } });
  expect(turn.blocks).toMatchObject([
    {
      type: "tool_call",
      id: "call_1",
      name: "greet",
      arguments: { who: "Grüße an  alle", times: 0, loud: false, tone: "warm", tags: [], extra: {} },
    },
  ]);
  const results: Message = {
    role: "tool",
    results: [{ call_id: "call_1", name: "greet", content: "hello all", is_error: false }],
  };
  const after = answer({
    tools: [TOOL],
    messages: [user("hi there"), { role: "assistant", content: turn.blocks }, results],
  });
  expect(after.turn.stop_reason).toBe("end_turn");
  expect(after.text).toContain("hello all");
  expect(after.text).toContain("hi there");
});

test("tools off: a text with the word count and the first 100 characters, word by word", () => {
  const { turn, pieces, text } = answer({ tools: [TOOL], tool_choice: "none" });
  expect(text).toMatch(/3 words: Grüße an {2}alle$/);
  expect(pieces.join("")).toBe(text);
  expect(pieces.slice(-4)).toEqual(["Grüße ", "an ", " ", "alle"]);
  expect(turn.usage.output_tokens).toBe(30);
  expect(answer({ messages: [user("é".repeat(200))] }).text).toContain(`: ${"é".repeat(100)}`);
  expect(answer({ messages: [user("é".repeat(200))] }).text).not.toContain("é".repeat(101));
  expect(answer({ messages: [user("")] }).text).toMatch(/empty prompt/);
});

test("answers JSON where JSON is asked for", () => {
  expect(JSON.parse(answer({ json: true }).text ?? "")).toEqual({ words: 3, prompt: "Grüße an  alle" });
});
