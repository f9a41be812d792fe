/** S112: further targets for a call whose first one is down. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { callWithFallback, type FallbackOptions } from "../../../src/model/fallback.ts";
import { resolveTarget } from "../../../src/model/providers.ts";
import { llmRetries } from "../../../src/model/retry.ts";
import type { ModelTarget } from "../../../src/skill/manifest.ts";
import { failureOf } from "../../support/failure.ts";
import { fakeClock, handClock } from "../../support/fake-clock.ts";
import { type FakeProvider, startFakeProvider } from "../../support/fake-provider.ts";
import type { FakeTurn } from "../../support/fake-turn.ts";

const TIMEOUT = 5000;
const PRIMARY: ModelTarget = { provider: "anthropic", model: "first" };
const SECOND: ModelTarget = { provider: "openai", model: "second" };
const UNSET: ModelTarget = { provider: "deepseek", model: "unset" };

let fake: FakeProvider;
// Each test has its own: a request that a test abandoned may arrive after its end, and would take a turn of the next one.
beforeEach(async () => {
  fake = await startFakeProvider();
});
afterEach(() => fake.close());

/** Answers by model, the same each time. */
function answers(byModel: Record<string, FakeTurn>): void {
  fake.script((request) => byModel[request.body.model] ?? {});
}

const ask = (primary: ModelTarget, fallbacks: ModelTarget[], more: Partial<FallbackOptions> = {}) => {
  const variables: Record<string, string> = {
    ANTHROPIC_API_KEY: "a",
    ANTHROPIC_BASE_URL: fake.url,
    OPENAI_API_KEY: "o",
    OPENAI_BASE_URL: fake.url,
  };
  const request = {
    system: "",
    messages: [{ role: "user" as const, content: [{ type: "text" as const, text: "hi" }] }],
    tools: [],
    max_tokens: 9,
    json: false,
  };
  return callWithFallback(() => request, primary, fallbacks, {
    resolve: (target) => resolveTarget(target, (name) => variables[name]),
    stream: true,
    timeout_ms: TIMEOUT,
    signal: new AbortController().signal,
    clock: fakeClock(),
    fetch,
    ...more,
  });
};
const models = () => fake.requests.map((request) => request.body.model);

test("after the last attempt on a primary that is down, the next target answers", async () => {
  answers({ first: { status: 503 }, second: { text: "from second", usage: { input: 3, output: 4 } } });
  const heard: string[] = [];
  const answer = await ask(PRIMARY, [UNSET, SECOND], { onText: (text) => heard.push(text) });
  expect(answer).toMatchObject({
    provider: "openai",
    usage: { input_tokens: 3, output_tokens: 4 },
  });
  expect(heard).toEqual(["from second"]);
  expect(models()).toEqual(["first", "first", "first", "second"]);
});

test("a timeout is followed by the next target, without another attempt on the first", async () => {
  const clock = handClock();
  fake.script([
    () => {
      clock.pass(1000);
      return { hang: true };
    },
    { text: "ok" },
  ]);
  const answer = await ask(PRIMARY, [SECOND], { timeout_ms: 1000, clock });
  expect(answer.provider).toBe("openai");
  expect(models()).toEqual(["first", "second"]);
});

test.each<[string, FakeTurn, string]>([
  ["a rejected request", { status: 400 }, "provider_rejected_request"],
  ["a refused key", { status: 401 }, "provider_auth_failed"],
  ["an answer that broke off after text", { text: ["half "], cut: true }, "provider_bad_response"],
])("%s is final", async (_, turn, code) => {
  answers({ first: turn });
  expect((await failureOf(ask(PRIMARY, [SECOND]))).code).toBe(code);
  expect(models()).toEqual(["first"]);
});

test("a timeout after text is final", async () => {
  answers({ first: { text: ["half "], hang: true } });
  const clock = handClock();
  const onText = (): void => clock.pass(1000);
  const error = await failureOf(ask(PRIMARY, [SECOND], { timeout_ms: 1000, clock, onText }));
  expect(error.code).toBe("provider_timeout");
  expect(models()).toEqual(["first"]);
});

test("a client that can discard text gets that of the next target, too", async () => {
  const seen: string[] = [];
  const options = {
    retry: llmRetries(1, 0),
    fallsBackAfter: () => true,
    onText: (text: string) => seen.push(text),
    onRestart: () => seen.push("restart"),
  };
  answers({ first: { text: ["half "], cut: true }, second: { text: "whole" } });
  expect((await ask(PRIMARY, [SECOND], options)).provider).toBe("openai");
  expect(seen).toEqual(["half ", "restart", "half ", "restart", "whole"]);
  answers({ first: { text: ["half "], cut: true }, second: { text: ["half "], cut: true } });
  const error = await failureOf(ask(PRIMARY, [SECOND], options));
  expect(error.data.members).toMatchObject({ provider: "anthropic" });
});

test("a client that can discard thoughts gets an event to do so before the next target is called, not for one without a key", async () => {
  const seen: string[] = [];
  const options = {
    fallsBackAfter: () => true,
    retry: llmRetries(0, 0),
    onReasoning: (text: string) => seen.push(text),
    onRestart: () => seen.push("restart"),
  };
  answers({ first: { reasoning: "hm", text: ["half "], cut: true }, second: { text: "whole" } });
  await failureOf(ask(PRIMARY, [UNSET], options));
  expect(seen).toEqual(["hm"]);
  answers({ first: { reasoning: "hm", cut: true }, second: { reasoning: "so", text: "whole" } });
  expect((await ask(PRIMARY, [UNSET, SECOND], options)).provider).toBe("openai");
  expect(seen).toEqual(["hm", "hm", "restart", "so"]);
});

test.each<[string, FakeTurn]>([
  ["thoughts", { reasoning: "hm", cut: true, text: [] }],
  ["a call", { tool_calls: [{ name: "find", arguments: { q: "x" } }], cut: true }],
])("%s that broke off are no text: the next target may answer", async (_, first) => {
  answers({ first, second: { text: "whole" } });
  expect((await ask(PRIMARY, [SECOND], { fallsBackAfter: () => true })).provider).toBe("openai");
});

test("if every target fails, the error is the primary's", async () => {
  for (const status of [500, 400]) {
    answers({ first: { status: 529 }, second: { status } });
    const error = await failureOf(ask(PRIMARY, [SECOND]));
    expect(error.data.members).toMatchObject({ provider: "anthropic", provider_status: 529 });
  }
});

test("a primary that is not configured is an error at once", async () => {
  const error = await failureOf(ask(UNSET, [SECOND]));
  expect(error.data).toMatchObject({
    code: "provider_not_configured",
    members: { variable: "DEEPSEEK_API_KEY" },
  });
  expect(models()).toEqual([]);
});
