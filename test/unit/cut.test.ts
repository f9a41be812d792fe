/** Texts that are cut never end or begin with half a character. */
import { expect, test } from "vitest";
import { short } from "../../src/console/text.ts";
import { firstOf, firstWords, lastOf, lastWords } from "../../src/cut.ts";
import { shown } from "../../src/engine/fault.ts";
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
