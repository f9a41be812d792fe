/** Answers that no provider should give: each has a defined outcome, in time that grows with its length. */
import { createServer, type Server } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ModelTurn } from "../../../src/engine/messages.ts";
import { WIRES } from "../../../src/model/call.ts";
import { exchange } from "../../../src/model/exchange.ts";
import type { HttpTarget } from "../../../src/model/providers.ts";
import { request, sse, target } from "../../fixtures/wires/fixture.ts";

type Answer = { type?: string; status?: number; chunks: Iterable<string | Uint8Array>; dies?: boolean };

let answer: Answer = { chunks: [] };
let server: Server;
let url = "";
beforeAll(async () => {
  server = createServer(async (incoming, response) => {
    incoming.resume();
    const { type = "text/event-stream", status = 200, chunks, dies } = answer;
    response.writeHead(status, { "content-type": type });
    await pipeline(Readable.from(chunks), response, { end: false }).catch(() => undefined);
    if (dies) await new Promise((resolve) => setTimeout(resolve, 20));
    if (dies) response.destroy();
    else response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function ask(given: Answer, protocol: HttpTarget["protocol"] = "openai-chat") {
  answer = given;
  const to = target("openai", protocol, "m", {}, { url });
  const { signal } = new AbortController();
  return exchange(request("hi"), WIRES[protocol], to, { stream: true, signal, sink: {}, fetch, now: 0 });
}
async function turnOf(given: Answer, protocol?: HttpTarget["protocol"]): Promise<ModelTurn> {
  const outcome = await ask(given, protocol);
  return outcome.ok ? outcome.turn : expect.fail(outcome.error.message);
}

const delta = (change: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta: change, finish_reason: finish }],
});
const json = (value: unknown) => [JSON.stringify(value)];
function* endless(chunk: string): Generator<string> {
  for (;;) yield chunk;
}

describe("failures", () => {
  const network = { kind: "transient", reason: "network_error", category: "transient_network" };
  const unknown = { kind: "terminal", reason: "unknown", category: "generic" };
  test.each<[string, Answer, object, string]>([
    ["HTML", { type: "text/html", chunks: ["<html>Welcome</html>"] }, unknown, "content type"],
    [
      "HTML that says what is wrong",
      { type: "text/html", chunks: ["<h1>502 Bad Gateway</h1>"] },
      { kind: "transient", reason: "server_error", category: "server_error" },
      "content type",
    ],
    ["HTML as JSON", { type: "application/json", chunks: ["<html>"] }, unknown, "not valid JSON"],
    ["HTML as a stream", { chunks: ["<html>\n\n</html>\n\n"] }, network, "cut off"],
    [
      "a wrong content type",
      { type: "application/octet-stream", chunks: [sse(["[DONE]"])] },
      unknown,
      "content type",
    ],
    [
      "half a document",
      { type: "application/json", chunks: ['{"choices":[{"mess'] },
      network,
      "not valid JSON",
    ],
    ["half a frame", { chunks: ['data: {"choices":[{"del'] }, network, "cut off"],
    [
      "half a frame, then the connection breaks",
      { chunks: ['data: {"ch'], dies: true },
      network,
      "broke off",
    ],
    ["a frame that is not JSON", { chunks: ["data: {broken}\n\n"] }, unknown, "not JSON"],
    ["nothing", { chunks: [] }, network, "cut off"],
    [
      "an error under 200",
      { type: "application/json", chunks: json({ error: { message: "prompt is too long: 9 tokens" } }) },
      { kind: "terminal", reason: "context_overflow", offending_tokens: 9 },
      "error object",
    ],
    ["another document", { type: "application/json", chunks: json({ ok: true }) }, unknown, "choices"],
    ["no choice", { type: "application/json", chunks: json({ choices: [] }) }, unknown, "choices"],
    ["a number", { type: "application/json", chunks: ["7"] }, unknown, "not an answer of this protocol"],
    [
      "a deep document",
      { type: "application/json", chunks: [`${"[".repeat(1e5)}${"]".repeat(1e5)}`] },
      unknown,
      "JSON",
    ],
    [
      "a long event without end",
      { chunks: endless(`data: ${"x".repeat(65_536)}`) },
      unknown,
      "one of its events is longer",
    ],
    [
      "endless text",
      { chunks: endless(sse([delta({ content: "x".repeat(65_000) })])) },
      unknown,
      "longer than 16777216 characters",
    ],
    [
      "endless arguments",
      {
        chunks: endless(
          sse([delta({ tool_calls: [{ index: 0, function: { arguments: "x".repeat(65_000) } }] })]),
        ),
      },
      unknown,
      "longer than 16777216 characters",
    ],
    [
      "endless comments",
      { chunks: endless(`: ${"x".repeat(65_536)}\n`) },
      unknown,
      "longer than 134217728 bytes",
    ],
    [
      "an endless document",
      { type: "application/json", chunks: endless("x".repeat(65_536)) },
      unknown,
      "longer than 16777216 bytes",
    ],
  ])("%s", async (_, given, members, reason) => {
    const outcome = await ask(given);
    if (outcome.ok) return expect.fail("it succeeded");
    expect(outcome).toMatchObject({ retry: false, error: { code: "provider_bad_response" } });
    expect(outcome.error.data.detail).toContain(reason);
    expect(outcome.error.data.members).toMatchObject(members);
    expect(outcome.error.data.detail).not.toContain("Bad Gateway");
  });

  test("an error page under its own status says what is wrong to the operator only", async () => {
    const outcome = await ask({ type: "text/html", status: 502, chunks: ["<h1>Bad Gateway INNER</h1>"] });
    if (outcome.ok) return expect.fail("it succeeded");
    expect(outcome).toMatchObject({ retry: true, error: { code: "provider_error" } });
    expect(JSON.stringify(outcome.error.data)).not.toContain("INNER");
    expect(outcome.error.operator.provider_message).toContain("INNER");
  });
});

describe("what can be understood", () => {
  const named = (id: string | undefined, args: string) =>
    delta({ tool_calls: [{ id, function: { name: "t", arguments: args } }] });

  test("arguments that are no object stay readable and are never run", async () => {
    const turn = await turnOf({ chunks: [sse([named("c", "not json"), delta({}, "stop"), "[DONE]"])] });
    expect(turn.blocks).toEqual([
      { type: "tool_call", id: "c", name: "t", arguments: null, raw: "not json" },
    ]);
  });

  test("ids that repeat are made unique", async () => {
    const calls = [named("same", "{}"), named("same", "{}"), named("same", '{"a":1}')];
    const { blocks } = await turnOf({ chunks: [sse([...calls, delta({}, "stop")])] });
    const ids = blocks.map((block) => (block.type === "tool_call" ? block.id : ""));
    expect(ids).toEqual(["same", "call_1", "call_2"]);
  });

  /** In pieces of 16 bytes a quadratic fold would take minutes. */
  const MANY = 200_000;
  const piece = "0123456789abcdef";
  test.each<[string, HttpTarget["protocol"], Answer]>([
    [
      "one document",
      "openai-chat",
      {
        type: "application/json",
        chunks: json({ choices: [{ message: { content: piece.repeat(640_000) } }] }),
      },
    ],
    [
      "text in small pieces",
      "openai-chat",
      { chunks: [sse([...Array(MANY).fill(delta({ content: piece })), delta({}, "stop")])] },
    ],
    [
      "arguments in small pieces, without an index, each with its name",
      "openai-chat",
      { chunks: [sse([...Array(MANY).fill(named("c", '{"a":[')), delta({}, "stop")])] },
    ],
    [
      "as many calls",
      "openai-chat",
      { chunks: [sse([...Array(MANY / 10).fill(named(undefined, "{}")), delta({}, "stop")])] },
    ],
    [
      "Anthropic's text in small pieces",
      "anthropic",
      {
        chunks: [
          sse([
            { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
            ...Array(MANY).fill({
              type: "content_block_delta",
              index: 0,
              delta: { type: "text_delta", text: piece },
            }),
            { type: "message_stop" },
          ]),
        ],
      },
    ],
  ])("10 MB and more: %s", async (_, protocol, given) => {
    const { blocks } = await turnOf(given, protocol);
    expect(JSON.stringify(blocks).length).toBeGreaterThan(1_000_000);
  });
});
