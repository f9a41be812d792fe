/** Attempts, waits, failures and limits of one call against a real server. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ModelRequest } from "../../../src/engine/messages.ts";
import { DeadlineExceeded } from "../../../src/errors/run.ts";
import type { AttemptEntry } from "../../../src/model/attempts.ts";
import { type CallOptions, callModel } from "../../../src/model/call.ts";
import { systemClock } from "../../../src/model/clock.ts";
import { resolveTarget } from "../../../src/model/providers.ts";
import { failureOf } from "../../support/failure.ts";
import { fakeClock, handClock } from "../../support/fake-clock.ts";
import { type FakeProvider, NOBODY, startFakeProvider } from "../../support/fake-provider.ts";
import { until } from "../../support/runner.ts";

const TIMEOUT = 5000;
const REQUEST: ModelRequest = {
  system: "",
  messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
  tools: [],
  max_tokens: 77,
  json: false,
};

let fake: FakeProvider;
// Each test has its own: a request that a test abandoned may arrive after its end, and would take a turn of the next one.
beforeEach(async () => {
  fake = await startFakeProvider();
});
afterEach(() => fake.close());

function targetAt(url: string, provider: string = "openai") {
  const base = `${provider.toUpperCase()}_BASE_URL`;
  const env = (name: string) =>
    name === base ? url : name === `${provider.toUpperCase()}_API_KEY` ? "key" : undefined;
  return resolveTarget({ provider, model: "m" }, env);
}

const call = (options: Partial<CallOptions> = {}, provider?: string, messages = REQUEST.messages) =>
  callModel({ ...REQUEST, messages }, targetAt(fake.url, provider), {
    stream: false,
    timeout_ms: TIMEOUT,
    signal: new AbortController().signal,
    clock: fakeClock(),
    fetch,
    ...options,
  });

const answerText = (turn: Awaited<ReturnType<typeof call>>) =>
  turn.blocks.map((block) => (block.type === "output_text" ? block.text : "")).join("");

test("half a surrogate pair, which no provider accepts, does not reach one", async () => {
  const written = String.raw`\ud83d \\ud83d 😀`;
  fake.script([{ text: "a" }]);
  await call({}, "anthropic", [
    { role: "user", content: [{ type: "text", text: `${written}\ud83d` }] },
    {
      role: "assistant",
      content: [{ type: "tool_call", id: "c", name: "f", arguments: { "\ude00": "\ude00" }, raw: "" }],
    },
  ]);
  const [user, assistant] = fake.requests[0]?.body.messages ?? [];
  expect(user?.content).toEqual([{ type: "text", text: `${written}\ufffd` }]);
  expect(assistant?.content).toEqual([
    { type: "tool_use", id: "c", name: "f", input: { "\ufffd": "\ufffd" } },
  ]);
});

test.each<[string, string, string]>([
  ["anthropic", "/v1/messages", "max_tokens"],
  ["openai", "/v1/chat/completions", "max_completion_tokens"],
  ["xai", "/v1/chat/completions", "max_tokens"],
  ["google", "/v1beta/openai/chat/completions", "max_tokens"],
  ["deepseek", "/v1/chat/completions", "max_tokens"],
])(
  "%s: the call goes to the configured base, streamed and whole (S86, S87)",
  async (provider, path, field) => {
    fake.script([{ text: ["a ", "b"] }, { text: ["a ", "b"] }]);
    const heard: string[] = [];
    for (const stream of [false, true]) {
      const turn = await call({ stream, onText: (text) => heard.push(text) }, provider);
      expect(answerText(turn)).toBe("a b");
      expect(turn).toMatchObject({ provider, model: "m", usage: { input_tokens: 10, output_tokens: 5 } });
    }
    expect(heard).toEqual(["a ", "b"]);
    for (const request of fake.requests) {
      expect(request.path).toBe(path);
      expect(request.headers[provider === "anthropic" ? "x-api-key" : "authorization"]).toMatch(/key$/);
      expect(request.body).toMatchObject({ model: "m", [field]: 77 });
      expect(Object.keys(request.body).filter((key) => key.startsWith("max_"))).toEqual([field]);
    }
  },
);

describe("attempts", () => {
  test.each([408, 409, 429, 500, 502, 503, 504, 529])("%i is tried again, twice (S89)", async (status) => {
    fake.script([{ status }, { status }, { text: "ok" }]);
    const clock = fakeClock();
    expect(answerText(await call({ clock }))).toBe("ok");
    expect(clock.waits).toEqual([250, 500]);
    fake.script([{ status }, { status }, { status }, { text: "too late" }]);
    expect((await failureOf(call())).status).toBe(status === 429 ? 429 : 502);
    expect(fake.requests).toHaveLength(6);
  });

  test.each([429, 503])("%i that speaks of the context is final, and no rate limit", async (status) => {
    fake.script(() => ({ status, body: { error: { message: "prompt is too long" } } }));
    const error = await failureOf(call());
    expect(error.data).toMatchObject({
      code: "provider_rejected_request",
      members: { provider_status: status },
    });
    expect(fake.requests).toHaveLength(1);
  });

  test("waits carry a jitter of half their length either way", async () => {
    for (const [random, waits] of [
      [0, [125, 250]],
      [0.999, [374.75, 749.5]],
    ] as const) {
      fake.script([{ status: 503 }, { status: 503 }]);
      const clock = fakeClock(() => random);
      await call({ clock });
      expect(clock.waits).toEqual(waits);
    }
  });

  test("Retry-After replaces the wait, as seconds and as a date (S88)", async () => {
    const clock = fakeClock();
    const date = new Date(clock.now() + 3000).toUTCString();
    fake.script([
      { status: 429, headers: { "retry-after": "2" } },
      { status: 503, headers: { "retry-after": date } },
    ]);
    await call({ clock });
    expect(clock.waits).toEqual([2000, 1000]);
  });

  test("so does, without a Retry-After, the pause that Google asks for in its document (S88)", async () => {
    const clock = fakeClock();
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "2.5s" }];
    const body = [{ error: { code: 429, message: "quota", details } }];
    fake.script([
      { status: 429, body },
      { status: 429, headers: { "retry-after": "1" }, body },
    ]);
    await call({ clock });
    expect(clock.waits).toEqual([2500, 1000]);
  });

  test.each<[string, string, Partial<CallOptions>]>([
    ["over 30 s", "31", { timeout_ms: 90_000, clock: fakeClock() }],
    ["past the timeout", "6", {}],
    ["past the deadline", "2", { deadline_at: Date.UTC(2026, 0, 1) + 1500 }],
    ["of more digits than a number has", "9".repeat(400), {}],
  ])("Retry-After %s fails at once (S88)", async (_, seconds, options) => {
    fake.script([{ status: 429, headers: { "retry-after": seconds } }]);
    const error = await failureOf(call(options));
    const retry_after_s = Math.min(Number(seconds), 2 ** 31);
    expect(error.data).toMatchObject({ code: "provider_rate_limited", retry_after_s });
    expect(fake.requests).toHaveLength(1);
  });

  test("a refused connection is tried three times; the log has each attempt", async () => {
    const entries: AttemptEntry[] = [];
    const options = {
      stream: false,
      timeout_ms: TIMEOUT,
      signal: new AbortController().signal,
      clock: fakeClock(),
      fetch,
      log: (entry: AttemptEntry) => entries.push(entry),
    };
    const error = await failureOf(callModel(REQUEST, targetAt(NOBODY), options));
    expect(error.code).toBe("provider_unreachable");
    expect(error.data.detail).not.toContain(NOBODY.slice("http://".length));
    expect(entries.map((entry) => entry.retry_in_ms)).toEqual([250, 500, null]);
    expect(entries[0]).toMatchObject({
      provider: "openai",
      attempt: 1,
      cause: expect.stringContaining("ECONNREFUSED"),
    });
  });

  test("no attempt follows once text was passed on", async () => {
    fake.script([{ text: ["half "], cut: true }, { text: "whole" }]);
    const heard: string[] = [];
    const error = await failureOf(call({ stream: true, onText: (text) => heard.push(text) }));
    expect(error.code).toBe("provider_bad_response");
    expect(heard).toEqual(["half "]);
    expect(fake.requests).toHaveLength(1);
  });
});

describe("failures (S92, S94)", () => {
  const secret = { error: { message: `inner${" x".repeat(1500)}`, type: "bad_thing", code: 7 } };
  test.each<[number, string, number, object]>([
    [400, "provider_rejected_request", 502, { provider_status: 400, provider_type: "bad_thing" }],
    [404, "provider_rejected_request", 502, { provider_status: 404 }],
    [418, "provider_rejected_request", 502, { provider_status: 418 }],
    [401, "provider_auth_failed", 502, { provider_status: 401, variable: "OPENAI_API_KEY" }],
    [402, "provider_auth_failed", 502, { provider_status: 402 }],
    [403, "provider_auth_failed", 502, { provider_status: 403 }],
    [429, "provider_rate_limited", 429, {}],
    [501, "provider_error", 502, { provider_status: 501 }],
    [529, "provider_error", 502, { provider_status: 529 }],
    [302, "provider_redirect_refused", 502, { provider_status: 302 }],
  ])("%i is %s, the provider's words stay inside", async (status, code, own, members) => {
    const turn = { status, body: secret, headers: { location: `${fake.url}/v1/chat/completions` } };
    fake.script(() => turn);
    const entries: AttemptEntry[] = [];
    const error = await failureOf(call({ log: (entry) => entries.push(entry) }));
    expect(error.data).toMatchObject({ code, status: own, members: { provider: "openai", ...members } });
    expect(JSON.stringify(error.data)).not.toContain("inner");
    const { detail } = error.data;
    expect(/Check the model's name, \S+, and the provider's address\.$/.test(String(detail))).toBe(
      status === 404,
    );
    if (status === 302) return;
    expect(error.operator.provider_message).toMatch(/^inner( x){997} $/);
    expect(entries[0]?.provider_message).toBe(error.operator.provider_message);
    if (status === 429) expect(error.data.retry_after_s).toBe(5);
  });

  test.each([
    [
      "Google's list around the document",
      [{ error: { message: "m", status: "INVALID_ARGUMENT" } }],
      "INVALID_ARGUMENT",
    ],
    ["a type that is prose", { error: { message: "m", type: "do not show this" } }, undefined],
    ["text", "plain words", undefined],
  ])("error document: %s", async (_, body, type) => {
    fake.script([{ status: 400, body }]);
    const error = await failureOf(call());
    expect(error.data.members.provider_type).toBe(type);
    expect(error.operator.provider_message).toMatch(/^(m|plain words)$/);
  });

  test.each(["API key not valid. Please pass a valid API key.", "Incorrect API key provided."])(
    "400 with the words %j is a failure of the key, as Google and xAI answer",
    async (message) => {
      fake.script([{ status: 400, body: [{ error: { code: 400, message, status: "INVALID_ARGUMENT" } }] }]);
      const { data } = await failureOf(call());
      expect(data).toMatchObject({ code: "provider_auth_failed", members: { variable: "OPENAI_API_KEY" } });
    },
  );

  const bad = [
    ["cut JSON", { body: '{"choices": [{"mess' }],
    ["a body cut on the wire", { text: "x".repeat(50), cut: true }],
    ["an error object under 200", { body: { error: { message: "inner" } } }],
    ["HTML", { body: "<html>", headers: { "content-type": "text/html" } }],
    ["another document", { body: { ok: true } }],
  ] as const;
  for (const stream of [false, true]) {
    test.each(bad)(`%s is a bad response and not tried again, stream: ${stream}`, async (_, turn) => {
      fake.script([turn]);
      const error = await failureOf(call({ stream }));
      expect(error.data).toMatchObject({ code: "provider_bad_response", status: 502 });
      expect(error.data.detail).not.toContain("inner");
      expect(fake.requests).toHaveLength(1);
    });
  }

  test("an answer over 16 MiB is a bad response", async () => {
    fake.script([{ text: "x".repeat(17 * 1024 * 1024) }]);
    expect((await failureOf(call())).data.detail).toMatch(/longer than 16777216 bytes/);
  });
});

test("a provider that ignores or forces streaming is understood", async () => {
  const document = { choices: [{ message: { content: "whole" }, finish_reason: "stop" }] };
  const heard: string[] = [];
  fake.script([
    { body: document },
    { raw_chunks: ['data: {"choices":[{"delta":{"content":"sse"}}]}\n\n', "data: [DONE]\n\n"] },
  ]);
  expect(answerText(await call({ stream: true, onText: (text) => heard.push(text) }))).toBe("whole");
  expect(answerText(await call({ onText: (text) => heard.push(text) }))).toBe("sse");
  expect(heard).toEqual(["whole"]);
});

test("UTF-8 cut inside a character on the wire arrives whole", async () => {
  const data = Buffer.from(
    'data: {"choices":[{"delta":{"content":"Größe 😀"}}]}\r\n\r\ndata: [DONE]\r\n\r\n',
  );
  const raw_chunks = Array.from(data, (byte) => Uint8Array.of(byte));
  fake.script([{ raw_chunks }]);
  expect(answerText(await call({ stream: true }))).toBe("Größe 😀");
});

test("an emoji that a server cuts into two pieces arrives whole", async () => {
  const piece = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
  const heard: string[] = [];
  const raw_chunks = [piece("a\ud83d"), piece("\ude00b"), piece("\ud83d"), "data: [DONE]\n\n"];
  fake.script([{ raw_chunks }]);
  const turn = await call({ stream: true, onText: (text) => heard.push(text) });
  expect([heard, answerText(turn)]).toEqual([["a", "😀b", "\ud83d"], "a😀b\ud83d"]);
});

test.each([
  [1e308, 0],
  [1_000_000_001, 0],
  [1_000_000_000, 1_000_000_000],
  [-1, 0],
  [1.5, 1],
])("a count of %d tokens is %d", async (input, input_tokens) => {
  fake.script([{ text: "a", usage: { input, output: 2 } }]);
  expect((await call()).usage).toMatchObject({ input_tokens, output_tokens: 2 });
});

describe("limits", () => {
  test.each([
    ["before the answer", { hang: true }, false],
    ["in mid-stream", { text: ["one "], hang: true }, true],
  ])("a provider silent %s times out once (S90)", async (_, turn, stream) => {
    const clock = handClock();
    const pass = (): void => clock.pass(500);
    fake.script([
      () => {
        if (!stream) pass();
        return turn;
      },
    ]);
    const error = await failureOf(call({ stream, timeout_ms: 500, clock, onOutput: pass }));
    expect(error.data).toMatchObject({ code: "provider_timeout", status: 504, members: { timeout_ms: 500 } });
    expect(fake.requests).toHaveLength(1);
    expect(await fake.requests[0]?.left).toBe(true);
  });

  test.each([
    ["before the answer", { hang: true }, false],
    ["in mid-stream", { text: ["one "], hang: true }, true],
  ])("a client that leaves %s takes the provider's connection along", async (_, turn, stream) => {
    fake.script([turn, turn]);
    for (const [reason, code] of [
      [undefined, "client_closed_request"],
      [new DeadlineExceeded({ timeout_ms: 1, during: "a model call" }), "deadline_exceeded"],
    ] as const) {
      const client = new AbortController();
      const failing = failureOf(call({ stream, signal: client.signal, onText: () => client.abort(reason) }));
      if (!stream) {
        const asked = fake.requests.length;
        await until(
          () => fake.requests.length,
          (count) => count > asked,
        );
        client.abort(reason);
      }
      expect((await failing).code).toBe(code);
      expect(await fake.requests.at(-1)?.left).toBe(true);
    }
  });

  test("a client that has left already makes no call", async () => {
    expect((await failureOf(call({ signal: AbortSignal.abort() }))).code).toBe("client_closed_request");
    expect(fake.requests).toHaveLength(0);
  });

  test("deltas are passed on as they arrive (S80)", async () => {
    const seen: string[] = [];
    const paced = (delta: number) =>
      until(
        () => seen.length,
        (count) => count === delta,
      );
    fake.script([{ text: ["a", "b", "c", "d"], paced }]);
    await call({ stream: true, clock: systemClock, onText: (text) => void seen.push(text) });
    expect(seen).toEqual(["a", "b", "c", "d"]);
  });
});
