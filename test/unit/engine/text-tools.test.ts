import { describe, expect, it } from "vitest";
import { asTextFormat, signature, textToolContract } from "../../../src/engine/text-tools/contract.ts";
import { parseTextTurn } from "../../../src/engine/text-tools/parse.ts";
import { fc } from "../../support/property.ts";

const TOOLS = ["read_file", "run"];
const call = (args: object) => ({ name: "read_file", arguments: args });

describe("tool calls in text", () => {
  it.each<[string, string, object[], number]>([
    [
      "as the contract asks",
      '<tool_call>{"name":"read_file","arguments":{"path":"a"}}</tool_call>',
      [call({ path: "a" })],
      0,
    ],
    [
      "with prose around",
      'First.\n<tool_call>{"name":"read_file","arguments":{}}</tool_call>\nThen.',
      [call({})],
      0,
    ],
    ["in function form", '<tool_call>read_file({"path":"a)"})</tool_call>', [call({ path: "a)" })], 1],
    [
      "with keys that have no quotes",
      '<tool_call>read_file({path: "{a: \\"b, c: ", in_$2 : [{x:1, "y": null}]})</tool_call>',
      [call({ path: '{a: "b, c: ', in_$2: [{ x: 1, y: null }] })],
      1,
    ],
    ["in angle brackets", '<read_file({"path":"a"})>', [call({ path: "a" })], 1],
    ["bare", 'read_file({"path":"a"})', [call({ path: "a" })], 1],
    ["after tool_code:", 'tool_code: read_file({"path":"a"})', [call({ path: "a" })], 1],
    ["fenced", '```json\n{"name":"read_file","arguments":{"path":"a"}}\n```', [call({ path: "a" })], 1],
    ["not closed", '<tool_call>{"name":"read_file","arguments":{"path":"a"}}', [call({ path: "a" })], 1],
    [
      "arguments as text",
      '<tool_call>{"name":"read_file","arguments":"{\\"path\\":\\"a\\"}"}</tool_call>',
      [call({ path: "a" })],
      0,
    ],
    [
      "with tags in its arguments",
      '<tool_call>{"name":"read_file","arguments":{"path":"</tool_call>"}}</tool_call> <think>no</think>\n<tool_call>{"name":"read_file","arguments":{"path":"<think>"}}</tool_call>',
      [call({ path: "</tool_call>" }), call({ path: "<think>" })],
      0,
    ],
    ["a fence that is no call", '```json\n{"name":"other","arguments":{}}\n```', [], 0],
    ["a value without quotes", "read_file({path: a})", [], 0],
    ["a name in prose", "I would read_file (maybe).", [], 0],
    ["inside reasoning", '<think><tool_call>{"name":"run","arguments":{}}</tool_call></think>no', [], 0],
  ])("%s", (_, text, calls, violations) => {
    const turn = parseTextTurn(text, TOOLS);
    expect(turn.calls).toEqual(calls);
    expect(turn.violations).toHaveLength(violations);
    expect(turn.errors).toEqual([]);
  });

  it("an earlier native call is written with all digits that its model sent", () => {
    const call = { type: "tool_call" as const, id: "1", name: "run", arguments: { id: 2 ** 53 } };
    const content = [{ ...call, raw: '{"id":9007199254740993}' }];
    expect(asTextFormat([{ role: "assistant", content }])).toMatchObject([
      { content: [{ text: '<tool_call>{"name":"run","arguments":{"id":9007199254740993}}</tool_call>' }] },
    ]);
  });

  it("a call in angle brackets leaves nothing of itself in the prose", () => {
    expect(parseTextTurn('Look.\n<read_file({"path":"a"})>', TOOLS).prose).toBe("Look.");
  });

  it("an unreadable call is an error, not a call", () => {
    const { calls, errors } = parseTextTurn("<tool_call>{broken</tool_call>", TOOLS);
    expect(calls).toEqual([]);
    expect(errors.join()).toContain("{broken");
  });

  it.each([
    '<tool_call>{"name":"run","arguments":{"id":12345678901234567890}}</tool_call>',
    '<tool_call>{"name":"run","arguments":"{\\"id\\":12345678901234567890}"}</tool_call>',
    'run({"id": 12345678901234567890})',
  ])("a number keeps its digits: %s", (text) => {
    const { calls, canonical } = parseTextTurn(text, TOOLS);
    const raw = '{"id":12345678901234567890}';
    expect(calls).toEqual([{ name: "run", arguments: JSON.parse(raw), raw }]);
    expect(canonical).toContain(`"arguments":${raw}`);
  });

  it("an unreadable call does not change the next one", () => {
    const good = '<tool_call>{"name":"run","arguments":{}}</tool_call>';
    const { calls, errors } = parseTextTurn(
      `<tool_call>{"name":"run","arguments":{"a": </tool_call>${good}`,
      TOOLS,
    );
    expect([calls, errors.length]).toEqual([[{ name: "run", arguments: {} }], 1]);
  });

  it("history keeps the canonical form, prose is what remains", () => {
    const turn = parseTextTurn(
      '<assistant_prose>Look.</assistant_prose>\nread_file({"path":"a"})\n<done>##DONE##</done>',
      TOOLS,
    );
    expect(turn.prose).toBe("Look.");
    expect(turn.done).toBe("##DONE##");
    expect(turn.canonical).toBe(
      '<assistant_prose>Look.</assistant_prose>\n<tool_call>{"name":"read_file","arguments":{"path":"a"}}</tool_call>\n<done>##DONE##</done>',
    );
    expect(parseTextTurn(turn.canonical, TOOLS)).toMatchObject({
      calls: turn.calls,
      violations: [],
      canonical: turn.canonical,
    });
  });

  it("any text is parsed in one way", () => {
    const piece = fc.constantFrom(
      "<tool_call>",
      "</tool_call>",
      '{"name":"run"',
      ',"arguments":{}}',
      "run(",
      "{",
      "})",
      "```json\n",
      "\n```",
      "<think>",
      "</think>",
      "tool_code: ",
      "x",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (parts) => {
        const { calls, canonical } = parseTextTurn(parts.join(""), TOOLS);
        expect(
          calls.every(({ name, arguments: args }) => typeof name === "string" && typeof args === "object"),
        ).toBe(true);
        expect(parseTextTurn(canonical, TOOLS).calls.length).toBeGreaterThanOrEqual(calls.length);
      }),
    );
  });
});

it("a tool is described as a declaration, required parameters first", () => {
  const tool = {
    name: "read_file",
    description: "Reads\na file",
    parameters: {
      type: "object",
      properties: {
        limit: { type: "integer" },
        path: { type: "string", description: "Where" },
        tags: { type: "array", items: { enum: ["a", "b"] } },
      },
      required: ["path"],
    },
  };
  expect(signature(tool)).toBe(
    '/** Reads a file */\nfunction read_file(args: { path: string /* Where */; limit?: number; tags?: ("a" | "b")[] }): string;',
  );
  const contract = textToolContract([tool], { sentinel: "##DONE##", examples: "EXAMPLE" });
  expect(contract).toContain("<done>##DONE##</done>");
  expect(contract).toContain("EXAMPLE");
  expect(textToolContract([tool])).not.toContain("<done>");
});
