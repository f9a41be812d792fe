/** Completion endpoints, against a real server. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { ModelRequest } from "../../../src/engine/messages.ts";
import { callModel } from "../../../src/model/call.ts";
import { llmRetries } from "../../../src/model/retry.ts";
import { target } from "../../fixtures/wires/fixture.ts";
import { failureOf } from "../../support/failure.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { type FakeProvider, startFakeProvider } from "../../support/fake-provider.ts";

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());
beforeEach(() => {
  fake.requests.length = 0;
});

const ENDPOINTS = {
  completions: "/v1/completions",
  "ollama-generate": "/api/generate",
} as const;

function complete(
  protocol: keyof typeof ENDPOINTS | null,
  { extra, ...request }: Partial<ModelRequest>,
  stream: boolean,
  heard: string[],
) {
  const completion_url = protocol === null ? null : fake.url + ENDPOINTS[protocol];
  const to = target(
    "openai",
    // Whose parameters the endpoint takes.
    protocol === "ollama-generate" ? "ollama" : "openai-chat",
    "m",
    { thinking: true },
    { url: `${fake.url}/v1/chat/completions`, completion_url, headers: { authorization: "Bearer k" } },
  );
  const chat: ModelRequest = {
    system: "",
    tools: [],
    json: false,
    max_tokens: 9,
    ...request,
    messages: [{ role: "user", content: [{ type: "text", text: "fill the gap" }] }],
    ...(extra === undefined ? {} : { extra }),
  };
  return callModel(chat, to, {
    stream,
    timeout_ms: 5000,
    retry: llmRetries(1, 1),
    signal: new AbortController().signal,
    clock: fakeClock(),
    fetch,
    onText: (text) => heard.push(text),
  });
}

const SAMPLING = { temperature: 0.5, top_k: 3, stop: ["\n"], seed: 1 };
const PREFIX = { completion: { prefix: "def f(" }, sampling: SAMPLING };
const GAP = { completion: { prefix: "def f(", suffix: "return x" }, sampling: SAMPLING };
const OPTIONS = { num_ctx: 32_768, min_p: 0.05, repeat_penalty: 1.05, num_predict: 9, ...SAMPLING };
const PARAMETERS = { max_tokens: 9, options: OPTIONS, keep_alive: "30m", stream: true };

test.each<[keyof typeof ENDPOINTS, Partial<ModelRequest>, object]>([
  [
    "completions",
    { ...GAP, extra: { best_of: 1 } },
    {
      prompt: "def f(",
      suffix: "return x",
      max_tokens: 9,
      temperature: 0.5,
      stop: ["\n"],
      seed: 1,
      best_of: 1,
    },
  ],
  ["ollama-generate", PREFIX, { prompt: "def f(", raw: true, ...PARAMETERS }],
  ["ollama-generate", GAP, { prompt: "def f(", suffix: "return x", ...PARAMETERS }],
])("%s: %j", async (protocol, request, body) => {
  const heard: string[] = [];
  for (const stream of [false, true]) {
    fake.script([{ status: 503 }, { text: ["x", "):"], stop: "length", usage: { input: 4, output: 2 } }]);
    expect(await complete(protocol, request, stream, heard)).toEqual({
      blocks: [{ type: "output_text", text: "x):" }],
      stop_reason: "max_tokens",
      raw_stop_reason: "length",
      usage: { input_tokens: 4, output_tokens: 2, cache_read_tokens: 0, cache_write_tokens: 0 },
      provider: "openai",
      model: "m",
      warnings: [
        ...(protocol === "completions" ? [expect.objectContaining({ option: "top_k" })] : []),
        expect.objectContaining({ code: "answer_cut" }),
      ],
    });
    const { messages: _, ...sent } = fake.requests.at(-1)?.body ?? { messages: [] };
    const marks = stream && protocol === "completions" ? { stream_options: { include_usage: true } } : {};
    const streams = stream ? { stream: true } : {};
    expect(sent).toEqual({ model: "m", ...body, ...streams, ...marks });
    expect(fake.requests.at(-1)?.headers.authorization).toBe("Bearer k");
  }
  expect(heard).toEqual(["x", "):"]);
});

test("a completion that is cut off, or of another shape, is a bad response", async () => {
  for (const protocol of ["completions", "ollama-generate"] as const) {
    fake.script([{ body: { ok: true } }, { text: ["x"], cut: true }]);
    for (const [stream, kind] of [
      [false, "terminal"],
      [true, "transient"],
    ] as const) {
      const error = await failureOf(complete(protocol, PREFIX, stream, []));
      expect(error.data).toMatchObject({ code: "provider_bad_response", members: { kind } });
    }
  }
});

test("a chat asks where there is no such endpoint, or where it takes no request of this model", async () => {
  fake.script([{ text: "x" }, { status: 404 }, { text: "y" }]);
  expect((await complete(null, PREFIX, false, [])).blocks).toEqual([{ type: "output_text", text: "x" }]);
  const heard: string[] = [];
  expect((await complete("completions", PREFIX, true, heard)).blocks).toEqual([
    { type: "output_text", text: "y" },
  ]);
  expect(heard).toEqual(["y"]);
  expect(fake.requests.map(({ path }) => path)).toEqual([
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/chat/completions",
  ]);
  expect(JSON.stringify(fake.requests[2]?.body)).toContain("fill the gap");
});

test.each(["completions", "ollama-generate"] as const)(
  "%s: what it has no place for is told",
  async (protocol) => {
    fake.script([{ text: "x" }]);
    const asked = {
      completion: { prefix: "a", system: "Be terse." },
      prefill: "b",
      thinking: { mode: "enabled" as const },
    };
    const { warnings = [] } = await complete(protocol, asked, false, []);
    const lost = warnings.filter(({ code }) => code === "option_ignored");
    // The provider's chat takes no prefill either, which is told first.
    expect(lost.map(({ option }) => option).toSorted()).toEqual(["prefill", "system", "thinking"]);
    expect(lost.map(({ message }) => message)).toContain(
      "openai/m: system was left out, since this provider completes the text without a conversation.",
    );
    expect(fake.requests.map(({ path }) => path)).toEqual([ENDPOINTS[protocol]]);
    expect(JSON.stringify(fake.requests)).not.toContain("Be terse.");
  },
);

test("a failure that may pass is retried at the same endpoint", async () => {
  fake.script([{ status: 503 }, { text: "x" }]);
  await complete("completions", PREFIX, false, []);
  expect(fake.requests.map(({ path }) => path)).toEqual(["/v1/completions", "/v1/completions"]);
});
