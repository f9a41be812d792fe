/** A streamed answer gives the same turn as an unstreamed one, however its bytes are cut (agent-runtime.md Checks §3). */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ProviderBadResponse } from "../../../src/errors/provider.ts";
import { anthropic } from "../../../src/model/anthropic.ts";
import { ALL_OFF } from "../../../src/model/capabilities.ts";
import { readStream } from "../../../src/model/exchange.ts";
import { openAiChat } from "../../../src/model/openai-chat.ts";
import { sseEvents } from "../../../src/model/sse.ts";
import { callIdSource, type Sink } from "../../../src/model/wire.ts";
import { failureOf } from "../../support/failure.ts";
import { anthropicAnswer, openAiAnswer } from "../../support/fake-answers.ts";
import type { FakeTurn } from "../../support/fake-provider.ts";

const TARGET = {
  provider: "google",
  model: "m",
  token_field: "max_tokens",
  json_mode: true,
  reasoning_echo: false,
  capabilities: ALL_OFF,
} as const;
const REQUEST = {
  path: "/",
  headers: {},
  body: { model: "m", messages: [], stream_options: { include_usage: true } },
  text: "echo",
  at: 0,
  left: Promise.resolve(false),
};
const PROTOCOLS = [
  { name: "anthropic", wire: anthropic, answer: anthropicAnswer },
  { name: "openai-chat", wire: openAiChat, answer: openAiAnswer },
];

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function body(chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

function cutAt(data: Uint8Array, points: number[]): Uint8Array[] {
  const ends = [...new Set(points.map((point) => point % (data.length + 1)))].sort((a, b) => a - b);
  return [...ends, data.length].map((end, n) => data.slice(ends[n - 1] ?? 0, end));
}

const nonEmpty = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
/** What JSON can say: it has one zero only. */
const json = fc.jsonValue().map((value): unknown => JSON.parse(JSON.stringify(value)));
const turns: fc.Arbitrary<FakeTurn> = fc.record({
  text: fc.array(nonEmpty, { maxLength: 4 }),
  reasoning: nonEmpty,
  tool_calls: fc.array(
    fc.record({ name: fc.constantFrom("a", "b"), arguments: fc.dictionary(nonEmpty, json) }),
    { maxLength: 3 },
  ),
  usage: fc.record({ input: fc.nat(), output: fc.nat(), cache_read: fc.nat() }),
});
const styles = fc.record({
  newline: fc.constantFrom("\n", "\r\n", "\r"),
  comments: fc.boolean(),
  indent: fc.constantFrom(undefined, 1),
});

/** The same events in another dress: line ends, heartbeats, data over several lines. */
function dress(
  text: string,
  style: { newline: string; comments: boolean; indent: number | undefined },
): string {
  const lines = text.split("\n").flatMap((line) => {
    if (style.indent === undefined || !line.startsWith("data: {")) return [line];
    return JSON.stringify(JSON.parse(line.slice(6)), null, style.indent)
      .split("\n")
      .map((part) => `data: ${part}`);
  });
  return (style.comments ? [": hb", ...lines] : lines).join(style.newline);
}

for (const { name, wire, answer } of PROTOCOLS) {
  test(`${name}: streamed = unstreamed for any turn and any chunk boundaries`, async () => {
    await fc.assert(
      fc.asyncProperty(
        turns,
        styles,
        fc.array(fc.nat(100_000), { maxLength: 30 }),
        async (turn, style, points) => {
          const said = answer(turn, REQUEST);
          const text = said.events.map((event) => dress(event.text, style)).join("");
          const heard = { text: "", thought: "" };
          const sink: Sink = {
            onText: (piece) => {
              heard.text += piece;
            },
            onReasoning: (piece) => {
              heard.thought += piece;
            },
          };
          const chunks = cutAt(bytes(text), points);
          const signal = new AbortController().signal;
          const document = await readStream(body(chunks), wire.stream(TARGET, sink), "p", signal);
          const streamed = wire.parse(document, TARGET, callIdSource([]));
          expect(streamed).toEqual(wire.parse(said.whole, TARGET, callIdSource([])));
          expect(heard).toEqual({ text: [turn.text].flat().join(""), thought: turn.reasoning });
        },
      ),
      { numRuns: 150 },
    );
  });

  test(`${name}: a stream cut before its end is a bad response, wherever it is cut`, async () => {
    const turn: FakeTurn = { text: ["one", "two"], tool_calls: [{ name: "a", arguments: { x: 1 } }] };
    const texts = answer(turn, REQUEST).events.map((event) => event.text);
    const last = texts.findIndex((text) => /message_stop|"finish_reason":"/.test(text));
    const whole = bytes(texts.slice(0, last).join(""));
    for (let end = 0; end <= whole.length; end += 37) {
      const reading = readStream(
        body([whole.slice(0, end)]),
        wire.stream(TARGET, {}),
        "p",
        new AbortController().signal,
      );
      await expect(reading, `cut at ${end}`).rejects.toBeInstanceOf(ProviderBadResponse);
    }
  });
}

test("an event without its closing blank line counts; caps end a stream", async () => {
  const read = async (text: string, limits = { max_event: 100, max_bytes: 1000 }) => {
    const data: string[] = [];
    const broken = (reason: string) => new ProviderBadResponse({ provider: "p", reason });
    const signal = new AbortController().signal;
    for await (const event of sseEvents(body(cutAt(bytes(text), [7, 50, 90])), {
      ...limits,
      signal,
      broken,
    })) {
      data.push(event.data);
    }
    return data;
  };
  expect(await read("data: a\n\ndata: b")).toEqual(["a", "b"]);
  await expect(read(`data: ${"x".repeat(150)}`)).rejects.toThrow(/longer than 100 characters/);
  await expect(read("data: a\n\n".repeat(200))).rejects.toThrow(/longer than 1000 bytes/);
});

test("error events end the stream; their words go to the operator only", async () => {
  const streams = [
    {
      wire: anthropic,
      text: 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"SECRET"}}\n\n',
    },
    { wire: openAiChat, text: 'data: {"error":{"message":"SECRET","code":500}}\n\n' },
    { wire: openAiChat, text: 'event: error\ndata: {"message":"SECRET"}\n\n' },
  ];
  for (const { wire, text } of streams) {
    const signal = new AbortController().signal;
    const reading = readStream(body([bytes(text)]), wire.stream(TARGET, {}), "p", signal);
    const error = await failureOf(reading);
    expect(error).toBeInstanceOf(ProviderBadResponse);
    expect(JSON.stringify(error.data)).not.toContain("SECRET");
    expect(JSON.stringify(error.operator)).toContain("SECRET");
  }
});
