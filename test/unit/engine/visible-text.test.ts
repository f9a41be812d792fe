import { describe, expect, it } from "vitest";
import { visibleText } from "../../../src/engine/visible-text.ts";

describe("visible text", () => {
  it.each([
    ["plain", "plain"],
    ["<think>secret</think>said", "said"],
    ["said <think>secret, never closed", "said"],
    ['a <tool_call>{"name":"x"}</tool_call> b', "a  b"],
    ['a <tool_call>{"name":"x","arguments":{"y":"</tool_call> <think>"}}</tool_call> b', "a  b"],
    ["ok <done>##DONE##</done>", "ok"],
    ['<tool_result name="x" id="1">\nraw\n</tool_result>\nafter', "after"],
    ["<assistant_prose>kept</assistant_prose>", "kept"],
    ["noise <user_response>one</user_response> more <user_response>two</user_response>", "one\n\ntwo"],
    ["<user_response>unfinished", "unfinished"],
    ["1 < 2 and <b>bold</b> stay", "1 < 2 and <b>bold</b> stay"],
    ['before\n\n```json\n{"mode":"plan","steps":[1]}\n```\nafter', "before\n\nafter"],
    ['{"mode":"plan","tasks":[]}\n\nafter', "after"],
    ['{"answer":42}', '{"answer":42}'],
    ["DONE", "DONE"],
  ])("%j shows %j", (text, shown) => {
    expect(visibleText(text)).toBe(shown);
  });

  it("a run's markers are removed where they stand alone, and at the very end", () => {
    const markers = ["##DONE##", "DONE", "PLAN_READY"];
    expect(visibleText("one\nDONE\ntwo DONE three ##DONE##", { markers })).toBe("one\ntwo DONE three");
    expect(visibleText("The move is DONE", { markers })).toBe("The move is DONE");
  });

  it("JSON that was asked for stays, whatever it looks like", () => {
    const plan = '{"mode":"a","plan":[]}';
    expect(visibleText(plan, { planner: false })).toBe(plan);
  });
});
