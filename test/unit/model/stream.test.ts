/** A streamed answer gives the same turn as an unstreamed one, however its bytes are cut. */

import { expect, test } from "vitest";
import { ProviderBadResponse } from "../../../src/errors/provider.ts";
import { anthropic } from "../../../src/model/anthropic.ts";
import { readFrames } from "../../../src/model/frames.ts";
import { ollama } from "../../../src/model/ollama.ts";
import { openAiChat } from "../../../src/model/openai-chat.ts";
import { openAiResponses } from "../../../src/model/openai-responses.ts";
import { readStream } from "../../../src/model/read-answer.ts";
import { callIdSource, type Sink } from "../../../src/model/wire.ts";
import { sse } from "../../fixtures/wires/fixture.ts";
import { cutAt } from "../../support/chunks.ts";
import { failureOf } from "../../support/failure.ts";
import { anthropicAnswer, openAiAnswer } from "../../support/fake-answers.ts";
import { ollamaAnswer } from "../../support/fake-completions.ts";
import { responsesAnswer } from "../../support/fake-responses.ts";
import type { FakeTurn } from "../../support/fake-turn.ts";
import { fc } from "../../support/property.ts";
import { TARGET } from "../../support/wire-target.ts";

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
  { name: "openai-responses", wire: openAiResponses, answer: responsesAnswer },
  { name: "ollama", wire: ollama, answer: ollamaAnswer },
];
const { signal } = new AbortController();

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function body(chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
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
  return (style.comments && !text.startsWith("{") ? [": hb", ...lines] : lines).join(
    // Lines of JSON end in no other way.
    text.startsWith("{") && style.newline === "\r" ? "\n" : style.newline,
  );
}

for (const { name, wire, answer } of PROTOCOLS) {
  test(`${name}: streamed = unstreamed for any turn and any chunk boundaries`, async () => {
    await fc.assert(
      fc.asyncProperty(
        turns,
        styles,
        fc.array(fc.nat(100_000), { maxLength: 30 }),
        async (turn, style, points) => {
          const sent = answer(turn, REQUEST);
          const text = sent.events.map((event) => dress(event.text, style)).join("");
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
          const reader = wire.stream(TARGET, sink);
          const document = await readStream(body(chunks), wire.framing, reader, TARGET, { signal });
          const streamed = wire.parse(document, TARGET, callIdSource([]));
          expect(streamed).toEqual(wire.parse(sent.whole, TARGET, callIdSource([])));
          const said = [turn.text].flat().join("");
          // Reasoning without any text is the answer as well.
          const alone = name === "openai-chat" && said === "" && turn.tool_calls?.length === 0;
          expect(heard).toEqual({ text: alone ? turn.reasoning : said, thought: turn.reasoning });
        },
      ),
      { numRuns: 150 },
    );
  });

  test(`${name}: a stream cut before its end is a network error, wherever it is cut`, async () => {
    const turn: FakeTurn = { text: ["one", "two"], tool_calls: [{ name: "a", arguments: { x: 1 } }] };
    const texts = answer(turn, REQUEST).events.map((event) => event.text);
    const last = texts.findIndex((text) =>
      /message_stop|"finish_reason":"|se.completed|"done":true/.test(text),
    );
    const whole = bytes(texts.slice(0, last).join(""));
    for (let end = 0; end <= whole.length; end += 37) {
      const reader = wire.stream(TARGET, {});
      const cut = body([whole.slice(0, end)]);
      const error = await failureOf(readStream(cut, wire.framing, reader, TARGET, { signal }));
      expect(error, `cut at ${end}`).toBeInstanceOf(ProviderBadResponse);
      expect(error.data.members).toMatchObject({ kind: "transient", reason: "network_error" });
    }
  });
}

test("an event without its closing blank line counts; caps end a stream", async () => {
  let framing: "sse" | "ndjson" = "sse";
  const read = async (text: string, limits = { max_event: 100, max_bytes: 1000 }) => {
    const data: string[] = [];
    const unusable = (reason: string) => new ProviderBadResponse({ provider: "p", reason });
    const options = { ...limits, framing, signal, unusable, cutOff: unusable };
    await readFrames(body(cutAt(bytes(text), [7, 50, 90])), options, (event) => data.push(event.data) > 2000);
    return data;
  };
  expect(await read("data: a\n\ndata: b")).toEqual(["a", "b"]);
  // llama.cpp's field for an error, cut in its name and in its value.
  for (const blanks of [38, 30]) {
    const long = "a".repeat(blanks);
    expect(await read(`data: ${long}\n\nerror: 1234567890\r\n\r\ndata: b`)).toEqual([
      long,
      "1234567890",
      "b",
    ]);
  }
  expect(await read("errors: 1\n\nerror: 2")).toEqual(["2"]);
  await expect(read(`data: ${"x".repeat(150)}`)).rejects.toThrow(/longer than 100 characters/);
  await expect(read("data: a\n\n".repeat(200))).rejects.toThrow(/longer than 1000 bytes/);
  framing = "ndjson";
  expect(await read('{"a":1}\r\n\n{"b":2}')).toEqual(['{"a":1}', '{"b":2}']);
  await expect(read("x".repeat(150))).rejects.toThrow(/longer than 100 characters/);
});

test("a stream that begins a second message ends the call; one that repeats its beginning does not", async () => {
  const begun = (id: string) => ({ type: "message_start", message: { id } });
  const block = { type: "content_block_start", index: 0, content_block: { type: "text", text: "a" } };
  const read = (...events: object[]) =>
    readStream(body([bytes(sse(events))]), "sse", anthropic.stream(TARGET, {}), TARGET, { signal });
  const stop = { type: "message_stop" };
  expect(await read(begun("m"), begun("m"), block, stop)).toMatchObject({ content: [{ text: "a" }] });
  const error = await failureOf(read(begun("m"), block, begun("n"), block, stop));
  expect(error.data).toMatchObject({
    code: "provider_bad_response",
    members: { kind: "transient", reason: "network_error" },
  });
});

test("the end of Anthropic's message adds its reason, its container and its counts, but no 0 for a known count", async () => {
  const container = { id: "container_1", expires_at: "2030-01-01T00:00:00Z" };
  const stop_details = { type: "refusal", category: null };
  const events = [
    { type: "message_start", message: { id: "m", usage: { input_tokens: 5, output_tokens: 1 } } },
    {
      type: "message_delta",
      delta: { stop_reason: "refusal", stop_details, container },
      usage: { input_tokens: 0, output_tokens: 7, cache_read_input_tokens: null },
    },
    { type: "message_stop" },
  ];
  const reader = anthropic.stream(TARGET, {});
  expect(await readStream(body([bytes(sse(events))]), "sse", reader, TARGET, { signal })).toEqual({
    id: "m",
    content: [],
    stop_reason: "refusal",
    stop_details,
    container,
    usage: { input_tokens: 5, output_tokens: 7 },
  });
});

test("error events end the stream; their words go to the operator only", async () => {
  const streams = [
    {
      wire: anthropic,
      text: 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"SECRET"}}\n\n',
    },
    { wire: openAiChat, text: 'data: {"error":{"message":"SECRET","code":500}}\n\n' },
    { wire: openAiChat, text: 'event: error\ndata: {"message":"SECRET"}\n\n' },
    { wire: openAiResponses, text: 'data: {"type":"error","code":"server_error","message":"SECRET"}\n\n' },
    { wire: ollama, text: '{"error":"SECRET"}\n' },
  ];
  for (const { wire, text } of streams) {
    const reader = wire.stream(TARGET, {});
    const error = await failureOf(readStream(body([bytes(text)]), wire.framing, reader, TARGET, { signal }));
    expect(error).toBeInstanceOf(ProviderBadResponse);
    expect(JSON.stringify(error.data)).not.toContain("SECRET");
    expect(JSON.stringify(error.operator)).toContain("SECRET");
  }
});

test("Ollama's calls keep the digits of their numbers, streamed and whole", () => {
  const raws = ['{"id":1}', '{"id":12345678901234567890,"of":[9007199254740993]}'];
  const calls = raws.map((raw) => `{"function":{"name":"look_up","arguments":${raw}}}`);
  const line = (list: readonly string[], done: boolean) =>
    `{"message":{"tool_calls":[${list}]},"done":${done}}`;
  const [first = "", second = ""] = calls;
  const reader = ollama.stream(TARGET, {});
  // The second line's call is the first of its line.
  expect(reader.push({ data: line([first], false) })).toBe(false);
  expect(reader.push({ data: line([second], true) })).toBe(true);
  const whole = line(calls, true);
  for (const [answer, sent] of [
    [reader.answer(), reader.text?.()],
    [JSON.parse(whole), whole],
  ] as const) {
    const turn = ollama.parse(answer, TARGET, callIdSource([]), sent);
    expect(turn.blocks).toMatchObject(
      raws.map((raw) => ({ type: "tool_call", raw, arguments: JSON.parse(raw) })),
    );
  }
});
