/** What the mock answers by itself, and how a demo with it ends. */
import { describe, expect, it, test } from "vitest";
import type { Message, ModelRequest, ToolDefinition } from "../../../../src/engine/messages.ts";
import { defaultTurn, type Manner } from "../../../../src/model/mock/default.ts";

const ASKED = { provider: "openai", model: "gpt-4o" };
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
const FILLED = { times: 0, loud: false, tone: "warm", tags: [], extra: {} };
const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });
const answered = (call_id: string): Message => ({
  role: "tool",
  results: [{ call_id, name: "greet", content: "hello all", is_error: false }],
});

const answer = (more: Partial<ModelRequest>, { asker = "run", seen = false }: Partial<Manner> = {}) => {
  const request = { system: "", messages: [user("Grüße an  alle")], tools: [], max_tokens: 1, json: false };
  const pieces: string[] = [];
  const turn = defaultTurn(
    { ...request, ...more },
    ASKED,
    { asker, seen },
    {
      onText: (text) => pieces.push(text),
    },
  );
  const [block] = turn.blocks;
  return { turn, block, pieces, text: block?.type === "output_text" ? block.text : null };
};

describe("the mock by itself", () => {
  it("calls the first tool with placeholders, and again after its answer", () => {
    const first = answer({ tools: [TOOL, { ...TOOL, name: "other" }] });
    const call = { type: "tool_call", id: "mock_call_1", name: "greet", arguments: { who: "", ...FILLED } };
    expect(first.turn).toMatchObject({ ...ASKED, blocks: [call], raw_stop_reason: null });
    expect(first.turn.usage).toMatchObject({ input_tokens: 16, output_tokens: 20 });
    const assistant: Message = { role: "assistant", content: first.turn.blocks };
    const messages = [user("hi"), assistant, answered("mock_call_1")];
    expect(answer({ tools: [TOOL], messages }).block).toMatchObject({ ...call, id: "mock_call_2" });
  });

  it("fills a number with the one next to 0 that its limits permit", () => {
    const properties = {
      dice: { type: "integer", minimum: 1 },
      more: { type: "integer", exclusiveMinimum: 0 },
      frost: { type: "number", maximum: -2.5 },
      any: { type: "integer", minimum: -5, maximum: 5 },
    };
    const tool = { ...TOOL, parameters: { type: "object", properties, required: Object.keys(properties) } };
    expect(answer({ tools: [tool] }).block).toMatchObject({
      arguments: { dice: 1, more: 1, frost: -2.5, any: 0 },
    });
  });

  it("calls the tool that is named, and passes over deferred ones", () => {
    const tools = [{ ...TOOL, name: "later", defer_loading: true }, TOOL, { ...TOOL, name: "other" }];
    expect(answer({ tools }).block).toMatchObject({ name: "greet" });
    expect(answer({ tools, tool_choice: { name: "other" } }).block).toMatchObject({ name: "other" });
  });

  it("calls a tool that is offered in text for a single call, and gives a run text", () => {
    const request = { tools_in_text: [TOOL] };
    expect(answer(request, { asker: "call" }).block).toMatchObject({ type: "tool_call", name: "greet" });
    expect(answer(request, { asker: "run" }).text).toMatch(/3 words/);
  });

  it.each<[string, Partial<ModelRequest>, RegExp]>([
    [
      "words and the first 100 characters",
      { tools: [TOOL], tool_choice: "none" },
      /3 words: Grüße an {2}alle$/,
    ],
    ["no half characters", { messages: [user("é😀".repeat(99))] }, / 1 word: (é😀){50}$/],
    ["an empty prompt", { messages: [user("")] }, /empty prompt\.$/],
    ["the done tag on demand", { system: "End with <done>…" }, /alle\n<done>##DONE##<\/done>$/],
    ["no sentinel of the prompt's", { messages: [user("say ##DONE## now")] }, /: say {2}now$/],
    ["JSON where JSON is asked for", { json: true }, /^\{"words":3,"prompt":"Grüße an {2}alle"\}$/],
  ])("%s", (_, request, text) => {
    const { turn, pieces, text: said } = answer(request);
    expect(said).toMatch(text);
    expect(pieces.join("")).toBe(said);
    expect(turn).toMatchObject({ stop_reason: "other", raw_stop_reason: null, usage: { output_tokens: 30 } });
  });

  it("streams a piece per blank, which it keeps", () => {
    expect(answer({}).pieces.slice(-4)).toEqual(["Grüße ", "an ", " ", "alle"]);
  });

  it("counts a cached prompt as written, then as read", () => {
    expect(answer({ cache: true }).turn.usage).toMatchObject({
      cache_write_tokens: 16,
      cache_read_tokens: 0,
    });
    const again = answer({ cache: true }, { seen: true }).turn.usage;
    expect(again).toMatchObject({ cache_write_tokens: 0, cache_read_tokens: 16 });
    expect(answer({}).turn.usage).toMatchObject({ cache_write_tokens: 0, cache_read_tokens: 0 });
  });
});

test("a demo: the tool gets the prompt, and the stream has its result", () => {
  const { turn } = answer({ tools: [TOOL] }, { asker: "demo" });
  const args = { who: "Grüße an  alle", ...FILLED };
  expect(turn).toMatchObject({ stop_reason: "tool_use", blocks: [{ arguments: args }] });
  const messages: Message[] = [
    user("hi there"),
    { role: "assistant", content: turn.blocks },
    answered("mock_call_1"),
  ];
  const after = answer({ tools: [TOOL], messages }, { asker: "demo" });
  expect(after.turn.stop_reason).toBe("end_turn");
  expect(after.text).toMatch(/hello all[\s\S]*hi there/);
});

test("a completion reports the number of characters of prefix and suffix", () => {
  const { turn } = answer({ completion: { prefix: "é😀", suffix: "abc" } });
  expect(turn).toMatchObject({ stop_reason: "end_turn", usage: { input_tokens: 9, output_tokens: 16 } });
  expect(JSON.stringify(turn.blocks)).toMatch(/\b2 characters.*\b3\b/);
});
