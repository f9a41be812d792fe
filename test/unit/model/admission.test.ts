/** Admission of model calls: when Hull asks for it, and what those who grant it learn, against a real server. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ModelRequest, NO_USAGE } from "../../../src/engine/messages.ts";
import { BudgetExceeded } from "../../../src/errors/budget.ts";
import { HullError } from "../../../src/errors.ts";
import type { Admit, CallEnd } from "../../../src/model/admission.ts";
import type { AttemptEntry } from "../../../src/model/attempts.ts";
import { type CallOptions, callModel } from "../../../src/model/call.ts";
import { systemClock } from "../../../src/model/clock.ts";
import { callWithFallback } from "../../../src/model/fallback.ts";
import { resolveTarget } from "../../../src/model/providers.ts";
import { llmRetries } from "../../../src/model/retry.ts";
import { failureOf } from "../../support/failure.ts";
import { fakeClock, handClock } from "../../support/fake-clock.ts";
import { type FakeProvider, startFakeProvider } from "../../support/fake-provider.ts";
import type { FakeTurn } from "../../support/fake-turn.ts";

const REQUEST: ModelRequest = {
  system: "",
  messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
  tools: [],
  max_tokens: 9,
  json: false,
};

let fake: FakeProvider;
// Each test has its own: a request that a test abandoned may arrive after its end, and would take a turn of the next one.
beforeEach(async () => {
  fake = await startFakeProvider();
});
afterEach(() => fake.close());

/** Grants admission, and records what it gets. @param further answers whether there may be a further attempt */
function clerk(
  refuse?: (model: string) => Error | undefined,
  further: () => Promise<HullError | null> = async () => null,
) {
  const notes: string[] = [];
  const ends: CallEnd[] = [];
  const admit: Admit = async (_request, { model }, timeoutMs) => {
    notes.push(`admit ${model} ${timeoutMs} after ${fake.requests.length}`);
    const refusal = refuse?.(model);
    if (refusal !== undefined) throw refusal;
    return {
      extend: async (taken) => {
        notes.push(
          `extend ${model} after ${JSON.stringify([taken.used.output_tokens, ...taken.broken.map(({ bytes }) => bytes)])}`,
        );
        return further();
      },
      turn: async () => void notes.push(`turn of ${model} after ${fake.requests.length}`),
      settle: async (end) => {
        ends.push(end);
        notes.push(`settle ${model}`);
      },
    };
  };
  return { notes, ends, admit };
}

const call = (admit: Admit, more: Partial<Parameters<typeof callWithFallback>[3]> = {}) => {
  const variables: Record<string, string> = { OPENAI_API_KEY: "o", OPENAI_BASE_URL: fake.url };
  const [first, second] = ["first", "second"].map((model) => ({ provider: "openai" as const, model }));
  return callWithFallback(() => REQUEST, first ?? expect.fail(), second === undefined ? [] : [second], {
    resolve: (target) => resolveTarget(target, (name) => variables[name]),
    stream: false,
    timeout_ms: 5000,
    signal: new AbortController().signal,
    clock: fakeClock(),
    fetch,
    admit,
    ...more,
  });
};

test("Hull asks for admission once per target, and for a turn before each attempt", async () => {
  const { notes, ends, admit } = clerk();
  fake.script([{ status: 503 }, { status: 503 }, { status: 503 }, { status: 503 }, { text: "ok" }]);
  await call(admit);
  expect(notes).toEqual([
    "admit first 5000 after 0",
    "turn of first after 0",
    "turn of first after 1",
    "turn of first after 2",
    "settle first",
    "admit second 5000 after 3",
    "turn of second after 3",
    "turn of second after 4",
    "settle second",
  ]);
  expect(ends).toMatchObject([
    { turn: null, broken: [] },
    { turn: { usage: { input_tokens: 10, output_tokens: 5 } } },
  ]);
});

test("without admission Hull sends nothing, also to no further target", async () => {
  const refusal = new BudgetExceeded({
    budget: "hard",
    scope: "tenant",
    window: "day",
    limit: "max_cost_usd",
    limit_value: 1,
    spent: 1,
    reserved: 0,
    requested: 0.5,
    resets_at: null,
  });
  const { notes, admit } = clerk(() => refusal);
  expect(await failureOf(call(admit))).toBe(refusal);
  expect([notes, fake.requests]).toEqual([["admit first 5000 after 0"], []]);
});

test("the end of a call that fails after an empty answer has the usage of that answer", async () => {
  const { ends, admit } = clerk();
  fake.script([{ text: [], usage: { input: 7, output: 3 } }, { status: 400 }]);
  await failureOf(call(admit, { retry: llmRetries(2, 0) }));
  expect(ends[0]).toMatchObject({ turn: null, used: { input_tokens: 7, output_tokens: 3 } });
});

test("the end of a call has the text of each attempt that broke off", async () => {
  const { ends, admit } = clerk();
  const terms = { stream: true, retry: llmRetries(2, 0) };
  fake.script([{ text: ["half "], cut: true }, { status: 503 }, { text: "whole" }]);
  await call(admit, terms);
  fake.script([{ text: ["half "], cut: true }, { text: ["Grö"], cut: true }, { status: 400 }]);
  await failureOf(call(admit, { ...terms, onRestart: () => {} }));
  expect(ends.slice(0, 2)).toMatchObject([
    { turn: { usage: { input_tokens: 10, output_tokens: 5 } }, broken: [{ bytes: 5 }] },
    { turn: null, broken: [{ bytes: 5 }, { bytes: 4 }] },
  ]);
});

const event = (type: string, data: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
const chunk = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
const BEGUN = event("message_start", {
  message: { usage: { input_tokens: 7, cache_read_input_tokens: 90, output_tokens: 1 } },
});
const BLOCK = event("content_block_start", {
  index: 0,
  content_block: { type: "tool_use", id: "t", name: "find", input: {} },
});
const ARGUMENTS = event("content_block_delta", {
  index: 0,
  delta: { type: "input_json_delta", partial_json: '{"q":' },
});
const OVERLOADED = event("error", { error: { type: "overloaded_error", message: "Overloaded" } });
const CHUNK = { usage: { prompt_tokens: 7, completion_tokens: 3 } };

test.each<[string, "anthropic" | "openai", FakeTurn, object[]]>([
  [
    "Anthropic's input and the reasoning",
    "anthropic",
    { reasoning: "Hm, hm.", text: ["half "], usage: { input: 70 }, cut: true },
    [{ bytes: 12, said: { input_tokens: 70, output_tokens: 1 } }],
  ],
  [
    "a call's arguments",
    "anthropic",
    { raw_chunks: [BEGUN, BLOCK, ARGUMENTS], cut: true },
    [{ bytes: 5, said: { input_tokens: 7, cache_read_tokens: 90 } }],
  ],
  [
    "the text before its failure",
    "anthropic",
    { raw_chunks: [BEGUN, OVERLOADED] },
    [{ bytes: 0, said: { input_tokens: 7 } }],
  ],
  [
    "usage in the chunks",
    "openai",
    { raw_chunks: [chunk({ ...CHUNK, choices: [{ delta: { reasoning_content: "Hm." } }] })], cut: true },
    [{ bytes: 3, said: { input_tokens: 7, output_tokens: 3 } }],
  ],
  [
    "the usage of an answer of another shape",
    "openai",
    { body: { ...CHUNK, choices: "none" } },
    [{ bytes: 0, said: { output_tokens: 3 } }],
  ],
  ["nothing of an error", "openai", { body: { error: { message: "no" }, choices: null } }, []],
])(
  "an attempt without a whole answer counts the usage that its provider reported, and what arrived: %s",
  async (...row) => {
    const [, provider, turn, broken] = row;
    const { ends, admit } = clerk();
    const variables: Record<string, string> = {
      OPENAI_API_KEY: "o",
      OPENAI_BASE_URL: fake.url,
      ANTHROPIC_API_KEY: "a",
      ANTHROPIC_BASE_URL: fake.url,
    };
    fake.script([turn]);
    const resolve = () => resolveTarget({ provider, model: "first" }, (name) => variables[name]);
    await failureOf(call(admit, { stream: true, resolve, fallsBackAfter: () => false }));
    expect(ends).toMatchObject([{ turn: null, broken }]);
  },
);

test("Hull asks for admission of a further attempt only after one with a text or usage", async () => {
  const { notes, ends, admit } = clerk();
  fake.script([
    { status: 503 },
    { text: ["half "], cut: true },
    { status: 503 },
    { text: [], usage: { input: 7, output: 3 } },
    { text: "whole" },
  ]);
  await call(admit, { stream: true, retry: llmRetries(4, 0) });
  expect(notes.filter((note) => note.startsWith("extend"))).toEqual([
    "extend first after [0,5]",
    "extend first after [3,5]",
  ]);
  expect(ends).toMatchObject([
    { turn: { usage: { input_tokens: 17, output_tokens: 8 } }, broken: [{ bytes: 5 }] },
  ]);
});

test("an attempt that ran into its own time limit counts its prompt, also if another one follows", async () => {
  const { ends, admit } = clerk();
  const clock = handClock();
  const late = (): FakeTurn => {
    clock.pass(1000);
    return { hang: true };
  };
  fake.script([late, { text: "ok" }]);
  await call(admit, { retry: llmRetries(1, 0), timeout_ms: 1000, clock });
  expect(ends).toMatchObject([{ turn: {}, broken: [{ bytes: 0 }] }]);
});

const NEVER = {
  budget: "option",
  limit: "max_cost_usd",
  limit_value: 0,
  projected_cost_usd: 1,
  session_cost_usd: 0,
  projected_input_tokens: 1,
  projected_output_tokens: 1,
  provider: "openai",
  model: "second",
} as const;

const FAULT: [FakeTurn, Partial<CallEnd>, RegExp] = [
  { text: ["half "], cut: true },
  { turn: null, broken: [{ bytes: 5, said: NO_USAGE }] },
  /^provider_bad_response, then nobody$/,
];

test.each<[string, FakeTurn, Partial<CallEnd>, string | RegExp, Error, string]>([
  ["its fault", ...FAULT, new BudgetExceeded(NEVER), "budget_exceeded"],
  [
    "its empty answer",
    { text: [], usage: { input: 7, output: 3 } },
    { broken: [] },
    "empty_completion",
    new BudgetExceeded(NEVER),
    "budget_exceeded",
  ],
  ["its fault, since the ledger is out of reach", ...FAULT, new TypeError("connection lost"), "internal"],
])("the call ends with the earlier attempt if a further one is refused: %s", async (...row) => {
  const [_, turn, end, shown, refusal, refused] = row;
  const further = async () => (refusal instanceof HullError ? refusal : Promise.reject(refusal));
  const { ends, admit } = clerk(undefined, further);
  fake.script([turn]);
  const entries: AttemptEntry[] = [];
  const log = (entry: AttemptEntry) => void entries.push(entry);
  const options = { stream: true, retry: llmRetries(2, 0), fallsBackAfter: () => false, log };
  const answer = await call(admit, options).then(
    ({ warnings }) => warnings?.[0]?.code,
    (error) => `${error.code}, then nobody`,
  );
  expect(answer).toMatch(shown);
  expect([ends, fake.requests]).toMatchObject([[end], [{}]]);
  expect(entries).toMatchObject([{ attempt: 1, retry_in_ms: null, refused }]);
});

/** Attempts that broke off after so many bytes, of which the provider said nothing. */
const cut = (...bytes: number[]) => bytes.map((bytes) => ({ bytes, said: NO_USAGE }));
const gone = new AbortController();
test.each<[string, FakeTurn, Partial<CallOptions>, Partial<CallEnd>]>([
  ["a refusal of the provider", { status: 400 }, {}, { broken: [] }],
  ["a stream that dies after text", { text: ["Grö", "ße"], cut: true }, { stream: true }, { broken: cut(7) }],
  ["a time limit", { hang: true }, { timeout_ms: 60, clock: systemClock }, { broken: cut(0) }],
  [
    "a client that leaves in mid-stream",
    { text: ["one "], hang: true },
    { stream: true, signal: gone.signal, onText: () => gone.abort() },
    { broken: cut(4) },
  ],
  ["a client that has left before", {}, { signal: AbortSignal.abort() }, { broken: [] }],
])("%s: the error reports what is known", async (_, turn, options, expected) => {
  const { ends, admit } = clerk((model) => (model === "second" ? new BudgetExceeded(NEVER) : undefined));
  fake.script([turn]);
  await failureOf(call(admit, options));
  expect(ends).toEqual([{ turn: null, used: NO_USAGE, ...expected }]);
});

test("a client that leaves while the call waits for a turn ends it like other calls", async () => {
  const client = new AbortController();
  const ends: CallEnd[] = [];
  const admit: Admit = async () => ({
    extend: async () => null,
    turn: async ({ signal, clock }) => {
      setTimeout(() => client.abort(), 20);
      await clock.sleep(60_000, signal);
    },
    settle: async (end) => void ends.push(end),
  });
  const error = await failureOf(call(admit, { signal: client.signal, clock: systemClock }));
  expect([error.code, fake.requests]).toEqual(["client_closed_request", []]);
  expect(ends).toEqual([{ turn: null, used: NO_USAGE, broken: [] }]);
});

test("the wait for the first turn is not the provider's time", async () => {
  const clock = handClock();
  const admit: Admit = async () => ({
    extend: async () => null,
    turn: async () => clock.pass(1200),
    settle: async () => {},
  });
  fake.script([{ text: "ok" }]);
  const turn = await call(admit, { timeout_ms: 1000, clock });
  expect(turn.blocks).toEqual([{ type: "output_text", text: "ok" }]);
});

test("a call that its target cannot take has a span, but asks for no approval", async () => {
  const known = resolveTarget({ provider: "openai", model: "m" }, () => "key");
  const blind = { ...known, capabilities: { ...known.capabilities, vision: false } };
  const { notes, admit } = clerk();
  const failed = await failureOf(
    callModel(REQUEST, blind, {
      declared: { vision: true },
      stream: false,
      timeout_ms: 5000,
      signal: new AbortController().signal,
      clock: fakeClock(),
      fetch,
      admit,
      traced: async (_, { model }, next) => {
        notes.push(`span of ${model}`);
        return next();
      },
    }),
  );
  expect(failed.code).toBe("capability_missing");
  expect(notes).toEqual(["span of m"]);
});
