/** Each protocol's exchanges in the providers' own shapes, whole and in any pieces. */

import { describe, expect, test } from "vitest";
import type { ModelRequest, ModelTurn } from "../../../src/engine/messages.ts";
import { ProviderBadResponse } from "../../../src/errors/provider.ts";
import { HullError } from "../../../src/errors.ts";
import { WIRES } from "../../../src/model/call.ts";
import { withExtra } from "../../../src/model/extra.ts";
import { fitRequest } from "../../../src/model/fit.ts";
import type { HttpProtocol } from "../../../src/model/protocols.ts";
import { readStream } from "../../../src/model/read-answer.ts";
import { callIdSource } from "../../../src/model/wire.ts";
import { ANTHROPIC } from "../../fixtures/wires/anthropic.ts";
import type { Fixture } from "../../fixtures/wires/fixture.ts";
import { OLLAMA } from "../../fixtures/wires/ollama.ts";
import { OPENAI_CHAT } from "../../fixtures/wires/openai-chat.ts";
import { OPENAI_COMPATIBLE } from "../../fixtures/wires/openai-compatible.ts";
import { OPENAI_RESPONSES } from "../../fixtures/wires/openai-responses.ts";
import { cutAt } from "../../support/chunks.ts";
import { failureOf } from "../../support/failure.ts";
import { fc } from "../../support/property.ts";

const { signal } = new AbortController();
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The JSON of the body that a request becomes. */
function sent({ target }: Fixture, request: ModelRequest, stream: boolean): { [key: string]: unknown } {
  const fitted = fitRequest(request, target).request;
  const body = WIRES[target.protocol].body(fitted, target, stream);
  return JSON.parse(JSON.stringify(withExtra(body, fitted.extra, target)));
}

/** The pieces arrive one by one; `dies`: the connection breaks instead of ending. */
function arriving(pieces: readonly Uint8Array[], dies = false): ReadableStream<Uint8Array> {
  const left = [...pieces];
  return new ReadableStream({
    pull(controller) {
      const next = left.shift();
      if (next !== undefined) controller.enqueue(next);
      else if (dies) controller.error(new Error("connection reset"));
      else controller.close();
    },
  });
}

async function read({ target }: Fixture, body: ReadableStream<Uint8Array>, heard: string[] = []) {
  const wire = WIRES[target.protocol];
  const sink = {
    onText: (text: string) => void heard.push(`text ${text}`),
    onReasoning: (text: string) => void heard.push(`thought ${text}`),
  };
  const document = await readStream(body, wire.framing, wire.stream(target, sink), target, { signal });
  return wire.parse(document, target, callIdSource([]));
}

/** Other line ends, comments, and data over several lines: what the framing allows. */
const styles = fc.record({
  newline: fc.constantFrom("\n", "\r\n"),
  comments: fc.boolean(),
  spread: fc.boolean(),
});
function dressed(text: string, style: { newline: string; comments: boolean; spread: boolean }): string {
  if (!/^(event|data):/.test(text)) return text.replaceAll("\n", style.newline);
  const lines = text.split("\n").flatMap((line) => {
    if (!style.spread || !line.startsWith("data: {")) return [line];
    const pretty = JSON.stringify(JSON.parse(line.slice(6)), null, 1).split("\n");
    return pretty.map((part) => `data: ${part}`);
  });
  return lines
    .flatMap((line) => (style.comments && line === "" ? [": keep-alive", line] : [line]))
    .join(style.newline);
}

/** Text and reasoning as listeners hear them, joined. */
function spoken({ blocks }: ModelTurn) {
  const join = (...types: string[]) =>
    blocks.map((block) => (types.includes(block.type) && "text" in block ? block.text : "")).join("");
  return { text: join("output_text"), thought: join("reasoning", "reasoning_summary") };
}

/** The compiler requires exchanges of every protocol. */
const FIXTURES: Record<HttpProtocol, Fixture[]> = {
  anthropic: ANTHROPIC,
  "openai-chat": [...OPENAI_CHAT, ...OPENAI_COMPATIBLE],
  "openai-responses": OPENAI_RESPONSES,
  ollama: OLLAMA,
};

describe.each(Object.values(FIXTURES).flat())("$target.protocol: $name", (fixture) => {
  const { request, target } = fixture;

  test("the request", () => {
    const { warnings } = fitRequest(request, target);
    expect(warnings.map((warning) => warning.option)).toEqual(fixture.warnings);
    expect(warnings.every(({ message }) => message.includes(target.model))).toBe(true);
    const wire = WIRES[target.protocol];
    const streams = wire.framing === "ndjson";
    expect(sent(fixture, request, streams)).toEqual(fixture.body);
    expect(wire.headers?.(fitRequest(request, target).request, target) ?? {}).toEqual(fixture.headers ?? {});
    const marks = target.protocol === "openai-chat" ? { stream_options: { include_usage: true } } : {};
    expect(sent(fixture, request, true)).toEqual({ ...fixture.body, stream: true, ...marks });
  });

  test("the whole answer", () => {
    const turn = WIRES[target.protocol].parse(fixture.whole, target, callIdSource([]));
    expect(turn).toEqual(fixture.turn);
  });

  test("the streamed answer in any pieces", async () => {
    await fc.assert(
      fc.asyncProperty(styles, fc.array(fc.nat(), { maxLength: 40 }), async (style, points) => {
        const heard: string[] = [];
        const data = bytes(dressed(fixture.stream, style));
        expect(await read(fixture, arriving(cutAt(data, points)), heard)).toEqual(fixture.turn);
        const said = (kind: string) =>
          heard.flatMap((piece) => (piece.startsWith(kind) ? [piece.slice(kind.length + 1)] : [])).join("");
        expect({ text: said("text"), thought: said("thought") }).toEqual(spoken(fixture.turn));
      }),
      { numRuns: 60 },
    );
  });

  test("a stream that ends or dies too early is a network error", async () => {
    const data = bytes(fixture.stream);
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.boolean(), async (at, dies) => {
        const body = arriving([data.slice(0, at % data.length)], dies);
        const outcome = await read(fixture, body).catch((error: unknown) => error);
        if (!(outcome instanceof HullError)) {
          // The missing part contained nothing more.
          expect(outcome).toMatchObject({ blocks: fixture.turn.blocks });
          return;
        }
        expect(outcome).toBeInstanceOf(ProviderBadResponse);
        expect(outcome.data.members).toMatchObject({ kind: "transient", category: "transient_network" });
      }),
      { numRuns: 60 },
    );
  });

  test("the turn goes back unchanged", () => {
    const [question, ...rest] = request.messages;
    const again: ModelRequest = {
      ...request,
      messages: [
        ...(question === undefined ? [] : [question, ...rest]),
        {
          role: "assistant",
          content: fixture.turn.blocks,
        },
      ],
    };
    delete again.prefill;
    const lists = Object.values(sent(fixture, again, false)).filter(Array.isArray);
    expect(lists.map((list) => list.slice(-fixture.back.length))).toContainEqual(fixture.back);
  });
});

test("a response that failed says what kind of failure it is", async () => {
  const [fixture] = OPENAI_RESPONSES;
  if (fixture === undefined) return expect.fail("no fixture");
  const error = { code: "rate_limit_exceeded", message: "rate_limit: slow down" };
  const failed = { ...fixture.whole, status: "failed", error, output: [] };
  const event = `data: ${JSON.stringify({ type: "response.failed", response: failed })}\n\n`;
  const failure = await failureOf(read(fixture, arriving([bytes(event)])));
  expect(failure.data).toMatchObject({
    code: "provider_bad_response",
    members: { kind: "transient", category: "rate_limit" },
  });
  expect(failure.data.detail).not.toContain("slow down");
});
