/** Queued mocks: how they are read, and which of them answers. */
import { describe, expect, it, test } from "vitest";
import type { Message } from "../../../../src/engine/messages.ts";
import { ERROR_CATEGORIES } from "../../../../src/errors/failure-class.ts";
import type { Mock } from "../../../../src/model/mock/mock.ts";
import { matchText, nextMock } from "../../../../src/model/mock/queue.ts";
import { readMockLines, readMocks } from "../../../../src/model/mock/read.ts";

const user = (...texts: string[]): Message => ({
  role: "user",
  content: texts.map((text) => ({ type: "text", text })),
});

describe("reading", () => {
  it("takes every field, a single mock, and null for what is absent", () => {
    const whole: Mock = {
      text: "t",
      tool_calls: [{ name: "look", arguments: { a: null } }, { name: "bare" }],
      match: "*x*",
      consume_match: true,
      input_tokens: 1,
      output_tokens: 0,
      cache_read_tokens: 2,
      cache_write_tokens: 3,
      thinking: "hm",
      thinking_summary: "h",
      stop_reason: "length",
      model: "m",
      error: { category: "rate_limit", message: "slow", retry_after_ms: 5 },
    };
    const given = [whole, { ...whole, text: null, error: { category: "auth", message: null } }];
    const { text: _, ...rest } = whole;
    expect(readMocks(given, "mocks")).toEqual({ mocks: [whole, { ...rest, error: { category: "auth" } }] });
    expect(readMocks({ text: "one" }, "mocks")).toEqual({ mocks: [{ text: "one" }] });
    const all = ERROR_CATEGORIES.map((category) => ({ error: { category } }));
    expect(readMocks(all, "mocks")).toEqual({ mocks: all });
  });

  it.each<[given: unknown, path: string, message: RegExp]>([
    [[{ error: { category: "bogus" } }], "m.0.error.category", /one of timeout, .*generic; got "bogus"/],
    [[{}, { error: {} }], "m.1.error.category", /one of timeout, .*; got nothing/],
    [[{ error: "auth" }], "m.0.error", /\{category, message, retry_after_ms\}; got "auth"/],
    [[{ txet: "t" }], "m.0.txet", /no field "txet"/],
    [[{ error: { category: "auth", why: 1 } }], "m.0.error.why", /no field "why"/],
    [[{ text: 5 }], "m.0.text", /must be text; got 5/],
    [[{ output_tokens: -1 }], "m.0.output_tokens", /at least 0; got -1/],
    [[{ output_tokens: 1.5 }], "m.0.output_tokens", /whole number; got 1.5/],
    [[{ tool_calls: [{ name: "" }] }], "m.0.tool_calls.0.name", /name of a tool/],
    [[{ tool_calls: [{ name: "a", arguments: "x" }] }], "m.0.tool_calls.0.arguments", /an object; got "x"/],
    [[{ match: "*".repeat(10_001) }], "m.0.match", /up to 10000 characters/],
    [["text"], "m.0", /must be an object; got "text"/],
    [{ tool_calls: ["ask"] }, "m.tool_calls.0", /must be \{name, arguments\}; got "ask"/],
    [{ text: [] }, "m.text", /must be text/],
    [Array.from({ length: 10_001 }, () => ({})), "m", /at most 10000/],
  ])("%j is refused at its path", (given, path, message) => {
    expect(readMocks(given, "m")).toEqual({
      faults: expect.arrayContaining([{ path, message: expect.stringMatching(message) }]),
    });
  });

  it("takes lines of a file, and names the one that is wrong", () => {
    expect(readMockLines('{"text":"a"}\n\n  {"text":"b"}\r\n')).toEqual({
      mocks: [{ text: "a" }, { text: "b" }],
    });
    const { faults } = { faults: [], ...readMockLines('{"text":"a"}\n{"text":\n{"error":{"category":"x"}}') };
    expect(faults.map(({ message }) => message.slice(0, 40))).toEqual([
      "line 2 is not JSON",
      expect.stringMatching(/^line 3\.error\.category must be one of/),
    ]);
  });
});

describe("which mock answers", () => {
  /** Answers of one call after another. */
  const run = (queue: Mock[], ...prompts: Message[][]): (string | null)[] => {
    let left: readonly Mock[] = queue;
    return prompts.map((messages) => {
      const next = nextMock(left, messages);
      left = next.queue;
      return next.answer?.text ?? null;
    });
  };
  const a = [user("a")];
  const plan = [user("the planner is here")];

  it.each<[string, Mock[], Message[][], (string | null)[]]>([
    ["in order, then none", [{ text: "1" }, { text: "2" }], [a, a, a], ["1", "2", null]],
    [
      "patterns that are used up, in order",
      [
        { text: "step 1", match: "*planner*", consume_match: true },
        { text: "step 2", match: "*planner*", consume_match: true },
      ],
      [plan, a, plan, plan],
      ["step 1", null, "step 2", null],
    ],
    [
      "a pattern that is not, every time",
      [{ text: "p", match: "*planner*" }],
      [plan, plan, plan],
      ["p", "p", "p"],
    ],
    [
      "one without a pattern before an earlier pattern",
      [{ text: "p", match: "*" }, { text: "first" }],
      [a, a],
      ["first", "p"],
    ],
    [
      "the first pattern that fits",
      [
        { text: "no", match: "b" },
        { text: "yes", match: "a" },
        { text: "late", match: "*" },
      ],
      [a],
      ["yes"],
    ],
    [
      "any message counts, each by itself",
      [{ text: "tool", match: "42" }],
      [
        [user("q"), { role: "tool", results: [{ call_id: "1", name: "t", content: "42", is_error: false }] }],
        [user("the answer is 42")],
      ],
      ["tool", null],
    ],
    ["all of them joined", [{ text: "joined", match: "a\nb*" }], [[user("a"), user("b c")]], ["joined"]],
    ["roles are no content", [{ text: "role", match: "*user*" }], [a], [null]],
  ])("%s", (_, queue, prompts, answers) => expect(run(queue, ...prompts)).toEqual(answers));

  it("leaves its queue unchanged", () => {
    const queue: Mock[] = [{ text: "1" }];
    nextMock(queue, a);
    expect(queue).toHaveLength(1);
  });
});

test("the text that is matched: contents joined by newlines", () => {
  const assistant: Message = {
    role: "assistant",
    content: [
      { type: "reasoning", text: "hidden" },
      { type: "output_text", text: "an" },
      { type: "output_text", text: "swer" },
    ],
  };
  expect(matchText([user("one", "two"), assistant])).toBe("one\ntwo\nanswer");
});
