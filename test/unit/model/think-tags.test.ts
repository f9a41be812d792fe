import { expect, test } from "vitest";
import { type Segment, splitThinking, thinkSplitter } from "../../../src/model/think-tags.ts";
import { fc } from "../../support/property.ts";

const text = (piece: string): Segment => ({ type: "text", text: piece });
const reasoning = (piece: string): Segment => ({ type: "reasoning", text: piece });

test.each<[string, Segment[]]>([
  ["plain <b> < think", [text("plain <b> < think")]],
  ["<think>a</think>b", [reasoning("a"), text("b")]],
  ["<think>\n a b \n</think>\n\nc ", [reasoning("a b"), text("c ")]],
  ["<think></think>\n\nno thought", [text("no thought")]],
  [
    "before <think>in</think> after <think>more",
    [text("before "), reasoning("in"), text("after "), reasoning("more")],
  ],
  ["<think>unclosed </thi", [reasoning("unclosed </thi")]],
  ["ends in <thin", [text("ends in <thin")]],
  ["<<think>a<</think></think>", [text("<"), reasoning("a<"), text("</think>")]],
  ["", []],
])("%j", (whole, segments) => {
  expect(splitThinking(whole)).toEqual(segments);
});

test("pieces of any size give the same as the whole", () => {
  const piece = fc.constantFrom("<think>", "</think>", "<", "think>", "</", " ", "\n", "a", "😀");
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 20 }),
      fc.array(fc.nat(), { maxLength: 12 }),
      (words, points) => {
        const whole = words.join("");
        const ends = [...points.map((point) => point % (whole.length + 1)), whole.length].sort(
          (a, b) => a - b,
        );
        const said = { text: "", reasoning: "" };
        const splitter = thinkSplitter({
          onText: (part) => {
            said.text += part;
          },
          onReasoning: (part) => {
            said.reasoning += part;
          },
        });
        for (const [n, end] of ends.entries()) splitter.push(whole.slice(ends[n - 1] ?? 0, end));
        splitter.end();
        const segments = splitThinking(whole);
        const joined = (type: Segment["type"]) =>
          segments.flatMap((segment) => (segment.type === type ? [segment.text] : [])).join("");
        expect(said).toEqual({ text: joined("text"), reasoning: joined("reasoning") });
      },
    ),
    { numRuns: 500 },
  );
});
