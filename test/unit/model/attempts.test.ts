/** Retries of `POST /llm/*` and runs, and their time limits, against a real server. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FAILURES } from "../../../src/errors/failure-class.ts";
import { ProviderRateLimited } from "../../../src/errors/provider.ts";
import type { AttemptEntry } from "../../../src/model/attempts.ts";
import { type CallOptions, callModel } from "../../../src/model/call.ts";
import { type Clock, systemClock } from "../../../src/model/clock.ts";
import { callWithFallback } from "../../../src/model/fallback.ts";
import { ENDPOINTS, type HttpProtocol } from "../../../src/model/protocols.ts";
import type { HttpTarget } from "../../../src/model/providers.ts";
import { llmRetries } from "../../../src/model/retry.ts";
import { request, target } from "../../fixtures/wires/fixture.ts";
import { failureOf } from "../../support/failure.ts";
import { fakeClock, handClock } from "../../support/fake-clock.ts";
import { type FakeProvider, startFakeProvider } from "../../support/fake-provider.ts";
import type { FakeTurn } from "../../support/fake-turn.ts";

let fake: FakeProvider;
// Each test has its own: a request that a test abandoned may arrive after its end, and would take a turn of the next one.
beforeEach(async () => {
  fake = await startFakeProvider();
});
afterEach(() => fake.close());

const at = (protocol: HttpProtocol = "openai-chat"): HttpTarget => {
  const url = `${fake.url}${protocol === "ollama" ? "" : "/v1"}${ENDPOINTS[protocol].chat}`;
  return target(protocol === "ollama" ? "ollama" : "openai", protocol, "m", {}, { url });
};

const options = (more: Partial<CallOptions> = {}): CallOptions => ({
  stream: true,
  timeout_ms: 5000,
  retry: llmRetries(2, 2000),
  signal: new AbortController().signal,
  clock: fakeClock(() => 0),
  fetch,
  ...more,
});
const call = (more: Partial<CallOptions> = {}, to = at()) => callModel(request("hi"), to, options(more));
const textOf = ({ blocks }: Awaited<ReturnType<typeof call>>) =>
  blocks.map((block) => (block.type === "output_text" ? block.text : "")).join("");

describe("retries", () => {
  test("waits double four times, then stay; up to a fifth longer", async () => {
    for (const [random, waits] of [
      [0, [4000, 8000, 16_000, 32_000, 32_000]],
      [0.5, [4400, 8800, 17_600, 35_200, 35_200]],
    ] as const) {
      fake.script([{ status: 529 }, ...Array(4).fill({ status: 503 }), { text: "ok" }]);
      const clock = fakeClock(() => random);
      expect(textOf(await call({ clock, retry: llmRetries(5, 2000) }))).toBe("ok");
      expect(clock.waits).toEqual(waits);
    }
  });

  test.each<[string, FakeTurn, object, number]>([
    [
      "503 to the end",
      { status: 503 },
      { kind: "transient", reason: "server_error", category: "overloaded" },
      3,
    ],
    ["504", { status: 504 }, { kind: "transient", reason: "timeout" }, 3],
    ["400", { status: 400 }, { kind: "terminal", reason: "invalid_request" }, 1],
    ["409 is not known to pass", { status: 409 }, { kind: "terminal" }, 1],
    [
      "429 that speaks of the context",
      { status: 429, body: { error: { message: "context length is 8192, got 9000" } } },
      { kind: "terminal", reason: "context_overflow", offending_tokens: 9000, provider_status: 429 },
      1,
    ],
    [
      "an error under 200",
      { body: { error: { message: "Overloaded", type: "overloaded_error" } } },
      { kind: "transient", category: "overloaded" },
      3,
    ],
    [
      "an error in mid-stream",
      { raw_chunks: ['data: {"error":{"message":"upstream","code":502}}\n\n'] },
      { kind: "transient", category: "server_error" },
      3,
    ],
    ["a cut stream", { text: ["half "], cut: true }, { kind: "transient", reason: "network_error" }, 3],
    [
      "HTML",
      { body: "<p>hi</p>", headers: { "content-type": "text/html" } },
      { kind: "terminal", reason: "unknown" },
      1,
    ],
  ])("%s", async (_, turn, members, calls) => {
    fake.script(() => turn);
    const error = await failureOf(call());
    expect(error.data.members).toMatchObject({ provider: "openai", model: "m", ...members });
    expect(fake.requests).toHaveLength(calls);
  });

  test("a Retry-After is waited for to the ms, or fails at once", async () => {
    const clock = fakeClock(() => 0.9);
    fake.script([{ status: 429, headers: { "retry-after": "2" } }]);
    await call({ clock });
    expect(clock.waits).toEqual([2000]);
    fake.script([{ status: 429, headers: { "retry-after": "600" } }]);
    const error = await failureOf(call());
    expect(error.data.members).toMatchObject({ retry_after_ms: 600_000, category: "rate_limit" });
    fake.script([{ status: 429, headers: { "retry-after": "9" } }]);
    const late = await failureOf(call({ deadline_at: Date.UTC(2026, 0, 1) + 8000 }));
    expect(late.data.members).toMatchObject({ retry_after_ms: 9000 });
  });

  test("a stream that broke off is requested again, unless a client has seen some of it", async () => {
    const script = [{ text: ["half "], cut: true }, { text: "whole" }];
    fake.script(script);
    expect(textOf(await call())).toBe("whole");
    for (const listener of ["onText", "onReasoning"] as const) {
      fake.script([{ reasoning: "hm", text: ["half "], cut: true }, { text: "whole" }]);
      const error = await failureOf(call({ [listener]: () => undefined }));
      expect(error.data.members.reason).toBe("network_error");
    }
  });

  test("a client that can discard what it has seen gets an event to do so, once for each attempt that showed something", async () => {
    const seen: string[] = [];
    const listener = {
      onText: (text: string) => seen.push(text),
      onRestart: () => seen.push("restart"),
    };
    fake.script([{ text: ["half "], cut: true }, { status: 503 }, { text: "whole" }]);
    expect(textOf(await call(listener))).toBe("whole");
    expect(seen).toEqual(["half ", "restart", "whole"]);
    fake.script(() => ({ text: ["half "], cut: true }));
    seen.length = 0;
    await failureOf(call(listener));
    expect(seen).toEqual(["half ", "restart", "half ", "restart", "half "]);
  });

  test("a client keeps what it has seen if no further attempt gets its turn", async () => {
    const seen: string[] = [];
    const listener = {
      onText: (text: string) => seen.push(text),
      onRestart: () => seen.push("restart"),
    };
    fake.script([{ text: ["half "], cut: true }]);
    const late = new ProviderRateLimited({
      provider: "openai",
      failure: FAILURES.rate_limit,
      retry_after_s: 60,
    });
    expect(await failureOf(call({ ...listener, turn: () => Promise.reject(late) }))).toBe(late);
    expect(seen).toEqual(["half "]);
  });

  test("Hull asks again after an empty answer that cost tokens, and returns the last one", async () => {
    const entries: AttemptEntry[] = [];
    fake.script([
      { text: [], usage: { input: 7, output: 3 } },
      { text: "ok", usage: { input: 7, output: 2 } },
    ]);
    const answer = await call({ log: (entry) => entries.push(entry) });
    expect([textOf(answer), answer.usage]).toMatchObject(["ok", { input_tokens: 14, output_tokens: 5 }]);
    expect(entries).toMatchObject([{ event: "empty_completion_retry", attempt: 1, retry_in_ms: 4000 }]);
    fake.script(() => ({ text: [] }));
    const empty = await call();
    expect(empty).toMatchObject({ blocks: [], warnings: [{ code: "empty_completion" }] });
    expect(fake.requests).toHaveLength(5);
    fake.script([{ text: [], usage: { output: 0 } }, { text: "never" }]);
    const free = await call();
    expect(free).toMatchObject({ blocks: [], warnings: [{ code: "empty_completion" }] });
  });

  test.each<[HttpTarget["protocol"], FakeTurn, string | undefined, RegExp]>([
    ["openai-chat", { refusal: "Never." }, "model_refused", /: Never\.$/],
    ["openai-responses", { refusal: "Never." }, "model_refused", /: Never\.$/],
    ["anthropic", { text: [], refusal: "Never." }, "model_refused", /\(refusal\): Never\.$/],
    ["openai-chat", { text: "Hal", stop: "content_filter" }, "model_refused", /\(content_filter\)\.$/],
    ["openai-chat", { text: [], stop: "PROHIBITED_CONTENT" }, "model_refused", /\(PROHIBITED_CONTENT\)\.$/],
    ["openai-chat", { text: "Hal", stop: "length" }, "answer_cut", /\(length\)\.$/],
    [
      "anthropic",
      { text: "Hal", stop: "model_context_window_exceeded" },
      "answer_cut",
      /window_exceeded\)\.$/,
    ],
    ["ollama", { text: "Hal", stop: "length" }, "answer_cut", /\(length\)\.$/],
    ["openai-chat", { text: "Hal", stop: "insufficient_system_resource" }, "answer_cut", /_resource\)\.$/],
    ["anthropic", { text: "Hal", stop: "pause_turn" }, undefined, /^$/],
    ["anthropic", { text: "Whole.", stop: "stop_sequence" }, undefined, /^$/],
  ])("a warning says that an answer is not whole: %s %j", async (protocol, turn, code, message) => {
    fake.script(() => turn);
    for (const stream of [false, true]) {
      const [warning, ...more] = (await call({ stream }, at(protocol))).warnings ?? [];
      expect([warning?.code, more]).toEqual([code, []]);
      expect(warning?.message ?? "").toMatch(message);
    }
  });

  test("Hull asks Ollama's native endpoint once more after an empty answer, at no cost", async () => {
    for (const retry of [undefined, llmRetries(0, 2000)]) {
      const clock = fakeClock();
      fake.script([{ text: [], reasoning: "hm" }, { text: "ok" }]);
      expect(textOf(await call({ clock, retry }, at("ollama")))).toBe("ok");
      expect(clock.waits).toEqual([0]);
      fake.script([{ text: [] }, { text: [] }, { text: "never" }]);
      expect((await call({ retry }, at("ollama"))).blocks).toEqual([]);
    }
  });
});

describe("limits", () => {
  const WORDS = [..."slowly but surely"];

  test("the timeout is for one attempt, and a timed-out attempt is retried", async () => {
    const clock = handClock();
    const late = (ms: number) => (): FakeTurn => {
      clock.pass(ms);
      return { hang: true };
    };
    fake.script([late(1000), late(1000), { text: "ok" }]);
    expect(textOf(await call({ timeout_ms: 1000, clock }))).toBe("ok");
    fake.script(late(400));
    const error = await failureOf(call({ timeout_ms: 400, clock }));
    expect(error.data).toMatchObject({
      code: "provider_timeout",
      members: { kind: "transient", category: "timeout", timeout_ms: 400 },
    });
    expect(fake.requests).toHaveLength(6);
  });

  test.each([
    ["a stream that flows longer than a timeout_ms that only a default sets is not cut", { timeout_ms: 800 }],
    ["a slow stream is not cut by the limit of its silence", { timeout_ms: 5000, idle_timeout_ms: 200 }],
  ])("%s", async (_, limits) => {
    const clock = handClock();
    let heard = "";
    fake.script([
      {
        text: WORDS,
        // The time of a silence that is not too long, after the client has received what came before.
        paced: async (delta) => {
          await expect.poll(() => heard.length).toBe(delta);
          clock.pass(150);
        },
      },
    ]);
    const onOutput = (text: string): void => {
      heard += text;
    };
    const turn = await call({ ...limits, onOutput, clock, retry: llmRetries(0, 1) });
    expect(textOf(turn)).toBe(WORDS.join(""));
  });

  test.each([
    ["attempt", llmRetries(1, 1), 2],
    ["call", undefined, 1],
  ])("a stream that continues to flow ends by a timeout_ms that the %s sets", async (_, retry, calls) => {
    const clock = handClock();
    fake.script(() => ({ text: WORDS, paced: () => Promise.resolve(clock.pass(150)) }));
    const slow = call({ timeout_ms: 800, idle_timeout_ms: 5000, whole: true, clock, retry });
    const { data } = await failureOf(slow);
    expect(data).toMatchObject({
      code: "provider_timeout",
      detail: "openai gave no whole answer within 800 ms.",
      members: { category: "timeout", timeout_ms: 800 },
    });
    expect(fake.requests).toHaveLength(calls);
  });

  test("a stalled stream ends by its own limit", async () => {
    const clock = handClock();
    fake.script(() => ({ text: ["a"], hang: true }));
    const onOutput = (): void => clock.pass(400);
    const stalled = call({ idle_timeout_ms: 400, onOutput, clock, retry: llmRetries(1, 1) });
    const error = await failureOf(stalled);
    expect(error.data.detail).toBe("The stream of openai was silent for 400 ms.");
    expect(fake.requests).toHaveLength(2);
    for (const { left } of fake.requests) expect(await left).toBe(true);
  });

  test("a client that leaves while a retry waits makes no further call", async () => {
    const client = new AbortController();
    fake.script(() => ({ status: 503 }));
    const sleep: Clock["sleep"] = (ms, signal) => {
      queueMicrotask(() => client.abort());
      return systemClock.sleep(ms, signal);
    };
    const error = await failureOf(call({ clock: { ...systemClock, sleep }, signal: client.signal }));
    expect(error.code).toBe("client_closed_request");
    expect(fake.requests).toHaveLength(1);
  });
});

test("a fallback may follow any failure if its caller says so", async () => {
  fake.script([{ status: 400 }, { text: "second" }]);
  const turn = await callWithFallback(
    () => request("hi"),
    { provider: "openai", model: "a" },
    [{ provider: "openai", model: "b" }],
    { ...options(), resolve: ({ model }) => ({ ...at(), model: model ?? "" }), fallsBackAfter: () => true },
  );
  expect(textOf(turn)).toBe("second");
});

test("warnings come with the turn", async () => {
  fake.script([{ text: "ok" }]);
  const asked = request("hi", { sampling: { top_k: 1 }, cache: true });
  const turn = await callModel(asked, at(), options());
  expect(turn.warnings?.map(({ option }) => option)).toEqual(["top_k", "cache"]);
  expect(fake.requests[0]?.body).not.toHaveProperty("top_k");
  expect(await call()).not.toHaveProperty("warnings");
});
