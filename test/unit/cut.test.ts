/** Texts that are cut never end or begin with half a character. */
import { expect, test } from "vitest";
import { short } from "../../src/console/text.ts";
import { firstOf, firstWords, lastOf, lastWords } from "../../src/cut.ts";
import { planCompaction } from "../../src/engine/agent/compaction.ts";
import { repeatHint } from "../../src/engine/agent/texts.ts";
import { shown } from "../../src/engine/fault.ts";
import { parseTextTurn } from "../../src/engine/text-tools/parse.ts";
import { callBlock } from "../../src/llm/anthropic-api/executed.ts";
import { parseErrorArguments } from "../../src/llm/blocks.ts";
import { shellCall } from "../../src/llm/openai-api/shell-items.ts";
import { providerWords } from "../../src/model/provider-document.ts";

const SMILE = "😀";
/** Its limits fall on each kind of unit, whether they are even or odd. */
const LONG = [SMILE.repeat(3000), `a${SMILE.repeat(3000)}`];

test.each<[string, string, string]>([
  ["the beginning", firstOf("a😀b", 2), "a"],
  ["the beginning with the pair", firstOf("a😀b", 3), "a😀"],
  ["nothing but half a pair", firstOf(SMILE, 1), ""],
  ["the end", lastOf("a😀b", 2), "b"],
  ["the end with the pair", lastOf("a😀b", 3), "😀b"],
  ["a text that fits", firstOf(SMILE, 2), SMILE],
  ["whole words", firstWords("no key sk-123", 10), "no key "],
  ["a word that ends there", firstWords('"no" key', 3), '"no'],
  ["words that fit", firstWords("no key", 6), "no key"],
  ["nothing but part of a word", firstWords("sk-123", 3), ""],
  ["words of other scripts", firstWords("键在😀sk-1", 5), "键在😀"],
  ["the last words", lastWords("sk-123 is no key", 13), " is no key"],
  ["the last words, from the beginning of one", lastWords("sk-123 is no key", 9), "is no key"],
  ["last words that fit", lastWords("sk-123", 6), "sk-123"],
  ["nothing but the end of a word", lastWords("sk-123", 3), ""],
  [
    "the beginning of a word that is too long for a secret",
    firstWords("x".repeat(5000), 2000),
    "x".repeat(2000),
  ],
  ["the end of a word that is too long for a secret", lastWords("x".repeat(5000), 2000), "x".repeat(2000)],
])("%s", (_, cut, wanted) => {
  expect(cut).toBe(wanted);
});

test.each<[string, (text: string) => string | undefined]>([
  ["a value in a message", shown],
  ["words of a provider", (message) => providerWords({ error: { message } }).provider_message],
  ["a text of the console", (text) => short(text, 80)],
])("%s", (_, cut) => {
  for (const text of LONG) {
    const piece = cut(text) ?? expect.fail("nothing is left");
    expect([piece.length < text.length, piece.isWellFormed()]).toEqual([true, true]);
  }
});

const KEY = "sk-canary-0123456789";
const call = (raw: string) => ({ type: "tool_call" as const, id: "c", name: "f", arguments: null, raw });

/** What a function shows of the key, if it cuts a text of words at any place within it. */
test.each<[string, number, (text: string) => unknown]>([
  ["unreadable arguments", 200, parseErrorArguments],
  ["an unreadable call in text", 200, (text) => parseTextTurn(`<tool_call>${text}</tool_call>`, []).errors],
  ["a repeated result", 120, (text) => repeatHint("f", 2, text)],
  ["a call for Anthropic's clients", 998, (text) => callBlock(call(text))],
  ["a call for OpenAI's clients", 998, (text) => shellCall(call(text), null)],
  [
    "the summary of a conversation",
    500,
    (text) => {
      const said = { role: "assistant" as const, content: [{ type: "output_text" as const, text }] };
      const options = { keep_first: 0, keep_last: 0 };
      return planCompaction([said], options, { mode: "manual", before: 0, strategy: "truncate" })?.summary;
    },
  ],
])("no part of a secret: %s", (_, most, cut) => {
  for (const before of [9, 15]) {
    const shown = JSON.stringify(cut(`${"w ".repeat(most)}`.slice(0, most - before) + KEY)) ?? "";
    expect(shown).toContain("w w");
    expect(shown).not.toContain("sk-ca");
  }
});
