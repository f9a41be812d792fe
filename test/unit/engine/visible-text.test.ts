import { describe, expect, it } from "vitest";
import { visibleText } from "../../../src/engine/visible-text.ts";
import { fc } from "../../support/property.ts";

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

  it("a partial text never shows text that the whole one hides, and only grows", () => {
    const pieces = fc.constantFrom(
      "<think>",
      "</think>",
      "secret",
      "said ",
      "<tool_call>",
      "</tool_call>",
      "1 < 2 ",
      "<b>",
      "\n",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join("");
        let before = "";
        for (let end = 0; end <= text.length; end++) {
          const shown = visibleText(text.slice(0, end), { partial: true, planner: false });
          expect(shown.startsWith(before)).toBe(true);
          before = shown;
        }
        expect(visibleText(text, { planner: false }).startsWith(before.trim())).toBe(true);
      }),
    );
  });
});
