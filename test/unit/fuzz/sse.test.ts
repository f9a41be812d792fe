/** Event streams of any bytes: the same in pieces, and never anything but a turn or a bad response. */

import { expect, test } from "vitest";
import { ProviderBadResponse } from "../../../src/errors/provider.ts";
import { HullError } from "../../../src/errors.ts";
import { anthropic } from "../../../src/model/anthropic.ts";
import { readFrames, type StreamEvent } from "../../../src/model/frames.ts";
import { ollama } from "../../../src/model/ollama.ts";
import { openAiChat } from "../../../src/model/openai-chat.ts";
import { openAiResponses } from "../../../src/model/openai-responses.ts";
import { readStream } from "../../../src/model/read-answer.ts";
import { callIdSource } from "../../../src/model/wire.ts";
import { cutAt, join } from "../../support/chunks.ts";
import { anthropicAnswer, openAiAnswer } from "../../support/fake-answers.ts";
import { ollamaAnswer } from "../../support/fake-completions.ts";
import { responsesAnswer } from "../../support/fake-responses.ts";
import { altered, fc } from "../../support/property.ts";
import { TARGET } from "../../support/wire-target.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const cuts = fc.array(fc.nat(), { maxLength: 15 });
const { signal } = new AbortController();

const stream = (chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> =>
  new Blob(chunks.map((c) => new Uint8Array(c))).stream();
/** Each piece arrives by itself. */
function inPieces(chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const left = [...chunks];
  return new ReadableStream({
    pull(controller) {
      const next = left.shift();
      if (next === undefined) controller.close();
      else controller.enqueue(next);
    },
  });
}

test("events do not depend on where the bytes are cut", async () => {
  const piece = fc.oneof(
    fc.constantFrom(
      "data: ",
      "data:",
      "event: ",
      "id: 1",
      "retry: 5",
      ":",
      "\n",
      "\n\n",
      "\r",
      "\r\n",
      "\uFEFF",
      "é",
      "😀",
    ),
    fc.string({ maxLength: 5 }),
  );
  const ends = fc.constantFrom("\n", "\r\n", "\r");
  const line = fc.tuple(
    fc.constantFrom("data: ", "data:", "event: ", "id: ", ":", "data", `data: ${"y".repeat(600)}`, '{"a":1}'),
    fc.string({ unit: fc.constantFrom("a", " ", ":", "é", "😀", "\ufeff"), maxLength: 5 }),
    ends,
  );
  const block = fc.tuple(fc.array(line, { minLength: 1, maxLength: 4 }), ends);
  const bodies = fc.oneof(
    fc.array(block, { maxLength: 6 }).map((blocks) => bytes(blocks.flat(3).join(""))),
    fc.array(piece, { maxLength: 30 }).map((pieces) => bytes(pieces.join(""))),
    fc.uint8Array({ maxLength: 80 }),
  );
  const unusable = (reason: string) => new ProviderBadResponse({ provider: "p", reason });
  type Framing = "sse" | "ndjson";
  const seen = { events: 0, unusable: 0 };
  const read = async (
    framing: Framing,
    body: ReadableStream<Uint8Array>,
  ): Promise<(StreamEvent | "unusable")[]> => {
    const events: (StreamEvent | "unusable")[] = [];
    const limits = { max_event: 1000, max_bytes: 10_000 };
    try {
      await readFrames(
        body,
        { framing, ...limits, signal, unusable, cutOff: unusable },
        ({ event, data }) => {
          events.push({ event, data });
          return false;
        },
      );
    } catch (error) {
      expect(error).toBeInstanceOf(ProviderBadResponse);
      events.push("unusable");
    }
    return events;
  };
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom<Framing>("sse", "ndjson"),
      bodies,
      cuts,
      async (framing, body, points) => {
        const whole = await read(framing, stream([body]));
        seen[whole.at(-1) === "unusable" ? "unusable" : "events"] += whole.length;
        expect(await read(framing, inPieces(cutAt(body, points)))).toEqual(whole);
      },
    ),
    { numRuns: 500 },
  );
  expect(seen.events).toBeGreaterThan(100);
  expect(seen.unusable).toBeGreaterThan(10);
});

const REQUEST = {
  path: "/",
  headers: {},
  body: { model: "m", messages: [], stream_options: { include_usage: true } },
  text: "echo",
  at: 0,
  left: Promise.resolve(false),
};
const TURN = { text: ["one", "two"], tool_calls: [{ name: "a", arguments: { x: [1, { y: "z" }] } }] };

for (const [name, wire, said] of [
  ["anthropic", anthropic, anthropicAnswer(TURN, REQUEST)],
  ["openai-chat", openAiChat, openAiAnswer(TURN, REQUEST)],
  ["openai-responses", openAiResponses, responsesAnswer(TURN, REQUEST)],
  ["ollama", ollama, ollamaAnswer(TURN, REQUEST)],
] as const) {
  const events = said.events.map((event) => event.text);
  const damage = fc.array(
    fc.tuple(
      fc.nat(),
      fc.nat(6),
      fc.constantFrom("", "0", '"', "}", "null", "[", "\n", "\0", "é", "-1", "{}"),
    ),
    {
      minLength: 1,
      maxLength: 4,
    },
  );
  /** Events left out, twice or out of order, then some bytes altered. */
  const streams = fc
    .tuple(
      fc.oneof(
        fc.constant(events),
        fc.shuffledSubarray(events),
        fc.array(fc.constantFrom(...events), { maxLength: 12 }),
      ),
      damage,
    )
    .map(([list, changes]) => altered(list.join(""), changes));

  test(`${name}: a damaged stream is a turn or a bad response, the same in pieces`, async () => {
    const seen = { turn: 0, bad: 0 };
    const outcome = async (chunks: Uint8Array[]): Promise<unknown> => {
      try {
        const reader = wire.stream(TARGET, {});
        const document = await readStream(inPieces(chunks), wire.framing, reader, TARGET, { signal });
        const turn = wire.parse(document, TARGET, callIdSource([]));
        seen.turn++;
        return turn;
      } catch (error) {
        if (!(error instanceof HullError)) throw error;
        seen.bad++;
        expect(error).toBeInstanceOf(ProviderBadResponse);
        return error.data;
      }
    };
    await fc.assert(
      fc.asyncProperty(streams, cuts, async (text, points) => {
        const body = bytes(text);
        expect(await outcome(cutAt(body, points))).toEqual(await outcome([join([body])]));
      }),
      { numRuns: 400 },
    );
    expect(Math.min(seen.turn, seen.bad)).toBeGreaterThan(20);
  });

  test(`${name}: a damaged document is a turn or a bad response`, () => {
    const text = JSON.stringify(said.whole);
    const seen = { turn: 0, bad: 0 };
    fc.assert(
      fc.property(damage, (changes) => {
        const damaged = altered(text, changes);
        let document: unknown;
        try {
          document = JSON.parse(damaged);
        } catch {
          fc.pre(false);
        }
        try {
          wire.parse(document, TARGET, callIdSource([]));
          seen.turn++;
        } catch (error) {
          expect(error).toBeInstanceOf(ProviderBadResponse);
          seen.bad++;
        }
      }),
      { numRuns: 400 },
    );
    expect(Math.min(seen.turn, seen.bad)).toBeGreaterThan(0);
  });
}
