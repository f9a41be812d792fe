/** Who pays for model calls, with the real ledger: hard limits under load, lost ends, and the pace of a provider. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { deploymentOf } from "../../src/deployment.ts";
import { type ModelRequest, type ModelTurn, NO_USAGE } from "../../src/engine/messages.ts";
import { ProviderUnreachable } from "../../src/errors/provider.ts";
import { HullError } from "../../src/errors.ts";
import { added, NO_FIGURES } from "../../src/llm/result.ts";
import type { CallEnd } from "../../src/model/admission.ts";
import type { Attempt } from "../../src/model/attempts.ts";
import { callModel } from "../../src/model/call.ts";
import { systemClock } from "../../src/model/clock.ts";
import { promptTokens } from "../../src/model/estimate.ts";
import type { Outcome } from "../../src/model/exchange.ts";
import { resolveTarget } from "../../src/model/providers.ts";
import { accountant, type Tariff } from "../../src/run/accounting.ts";
import { detachedContext, type RunContext } from "../../src/run/context.ts";
import { sendUsage } from "../../src/run/usage-batch.ts";
import type { LedgerRpc, Limits, Subject } from "../../src/session/ledger/rpc.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { bindings } from "./file-bindings.ts";
import { LOCAL } from "./served.ts";

afterEach(() => vi.restoreAllMocks());

/** A place to call from, of a tenant of its own unless one is named; `variables` in addition to those of local dev. */
function place(variables: Record<string, string> = {}, tenant: string = crypto.randomUUID()): RunContext {
  const env = Object.assign({}, bindings, LOCAL, variables);
  return detachedContext(
    deploymentOf(env),
    { tenant, requestId: "request-1", startedAt: Date.now() },
    () => {},
  );
}

/** The ledger's methods, as its callers see them. */
type Ledger = {
  [Name in keyof LedgerRpc]: LedgerRpc[Name] extends (...given: infer Given) => infer Answer
    ? (...given: Given) => Answer | Promise<Answer>
    : never;
};

/** Gives the deployment a ledger with these methods and no others. @param make is given the real one */
function replaceLedger(context: RunContext, make: (ledger: () => Ledger) => Partial<Ledger>): void {
  context.env.LEDGER = new Proxy(context.env.LEDGER, {
    get: (target, name) => {
      const value = Reflect.get(target, name).bind(target);
      return name === "get" ? (id: DurableObjectId) => make(() => value(id)) : value;
    },
  });
}

const ledger = ({ env, tenant }: RunContext) => env.LEDGER.get(env.LEDGER.idFromName(`tenant:${tenant}`));
const limit = (context: RunContext, limits: Partial<Limits>, scope = "tenant") =>
  ledger(context).putBudget(scope, {
    window: "total",
    max_cost: null,
    max_input_tokens: null,
    max_output_tokens: null,
    ...limits,
  });

const REQUEST: ModelRequest = {
  system: "",
  messages: [{ role: "user", content: [{ type: "text", text: "hello there" }] }],
  tools: [],
  max_tokens: 100,
  json: false,
};
const TARGET = resolveTarget({ provider: "mock", model: null }, () => undefined);
const TARIFF: Tariff = { price: () => ({ in: 1, out: 2 }), rpm: () => null, refusesUnpriced: () => false };
const SKILL = { skill: "cat", session: null, account: null };

/** One call of the mock model: 11 tokens in (its own count), 30 out. */
const call = (context: RunContext, { tariff = TARIFF, request = REQUEST } = {}) =>
  callModel(request, TARGET, {
    stream: false,
    timeout_ms: 5000,
    signal: new AbortController().signal,
    clock: systemClock,
    fetch,
    admit: accountant(context, SKILL, tariff).admit,
  });
const codeOf = (error: unknown) => (error instanceof HullError ? error.code : String(error));

describe("hard limits", () => {
  it("200 concurrent calls on one budget never spend more than it, and the total is exact", async () => {
    const context = place();
    const max_cost = 2_000_000;
    await limit(context, { max_cost, max_output_tokens: 1e9 });
    const all = Array.from({ length: 200 }, () => call(context).then(() => "ok", codeOf));
    const watched: number[] = [];
    let done = false;
    const settled = Promise.all(all).finally(() => {
      done = true;
    });
    while (!done) {
      const { spent, reserved } = (await ledger(context).budget("tenant")) ?? expect.fail("no budget");
      watched.push(spent.cost + reserved.cost);
    }
    const outcomes = await settled;
    const passed = outcomes.filter((outcome) => outcome === "ok").length;
    expect(outcomes.filter((outcome) => outcome === "budget_exceeded")).toHaveLength(200 - passed);
    // A call takes 11 × 1000 + 30 × 2000 nano-USD, and holds at least 100 × 2000 while it is under way.
    expect(passed).toBeGreaterThanOrEqual(9);
    expect(Math.max(...watched)).toBeLessThanOrEqual(max_cost);
    expect(await ledger(context).budget("tenant")).toMatchObject({
      spent: { cost: passed * 71_000, input_tokens: passed * 11, output_tokens: passed * 30 },
      reserved: { cost: 0, input_tokens: 0, output_tokens: 0 },
    });
    expect(await ledger(context).total()).toMatchObject({ calls: passed, cost: passed * 71_000 });
  });

  it("calls one after the other use a budget up to its last whole call", async () => {
    const context = place();
    await limit(context, { max_output_tokens: 190 });
    const outcomes = [];
    for (let i = 0; i < 6; i++) outcomes.push(await call(context).then(() => "ok", codeOf));
    // 30 are spent by each; a call needs room for 100.
    expect(outcomes).toEqual(["ok", "ok", "ok", "ok", "budget_exceeded", "budget_exceeded"]);
  });

  it("a limit of cost lets calls of unknown price through, and counts them as such", async () => {
    const context = place();
    await limit(context, { max_cost: 0 });
    await call(context, { tariff: { ...TARIFF, price: () => null } });
    expect(await call(context).then(() => "ok", codeOf)).toBe("budget_exceeded");
    expect(await ledger(context).total()).toMatchObject({ calls: 1, unpriced_calls: 1, cost: 0 });
  });

  it("the first call that may write a cache reserves the dearer price of writing it", async () => {
    const context = place();
    await limit(context, { max_cost: 203_500 });
    const tariff = { ...TARIFF, price: () => ({ in: 1, out: 2, cache_write: 1.25 }) };
    const cached = { ...REQUEST, cache: true };
    expect(await call(context, { tariff, request: cached }).then(() => "ok", codeOf)).toBe("budget_exceeded");
    expect(await call(context, { tariff }).then(() => "ok", codeOf)).toBe("ok");
  });
});

it("a failed call releases its reservation before a fallback asks for its own", async () => {
  const context = place();
  await limit(context, { max_output_tokens: 100 });
  // It settles slowly.
  replaceLedger(context, (ledger) => ({
    policy: () => ledger().policy(),
    reserve: (request) => ledger().reserve(request),
    settle: async (call, charge) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return ledger().settle(call, charge);
    },
  }));
  const { admit } = accountant(context, SKILL, TARIFF);
  const first = await admit(REQUEST, TARGET, 1000);
  await first.settle({ turn: null, used: NO_USAGE, broken: [] });
  expect(await admit(REQUEST, TARGET, 1000).then(() => "ok", codeOf)).toBe("ok");
});

describe("an attempt after one that cost tokens", () => {
  const half = (attempt: Attempt): Outcome => {
    attempt.sink.onText?.("x".repeat(40));
    const error = new ProviderUnreachable({ provider: "mock", model: "mock", cause: "cut" });
    return { ok: false, retry: true, error };
  };
  /** A call whose first attempts break off after 10 tokens; the mock model answers the next one. */
  async function broken(
    context: RunContext,
    attempts: number,
    { subject = SKILL, during = async () => {} }: { subject?: Subject; during?: () => Promise<unknown> } = {},
  ) {
    let asked = 0;
    const outcome = await callModel(REQUEST, TARGET, {
      stream: true,
      timeout_ms: 5000,
      signal: new AbortController().signal,
      clock: fakeClock(),
      fetch,
      admit: accountant(context, subject, TARIFF).admit,
      intercept: async (_request, _target, attempt) => {
        asked++;
        if (asked <= attempts) return half(attempt);
        await during();
        return null;
      },
    }).then(() => "ok", codeOf);
    return { asked, outcome };
  }
  const output = async (context: RunContext) => {
    const { spent, reserved } = (await ledger(context).budget("tenant")) ?? expect.fail("no budget");
    return [spent.output_tokens, reserved.output_tokens];
  };

  it("is reserved in addition to what the earlier ones took, and the end counts all of them", async () => {
    const context = place();
    await limit(context, { max_output_tokens: 120 });
    const held: number[][] = [];
    const during = async () => void held.push(await output(context));
    expect(await broken(context, 2, { during })).toEqual({ asked: 3, outcome: "ok" });
    expect(held).toEqual([[0, 120]]);
    expect(await output(context)).toEqual([50, 0]);
  });

  it("is not made if it would pass a hard limit: the call ends with the earlier fault", async () => {
    const context = place();
    await limit(context, { max_output_tokens: 119 });
    expect(await broken(context, 2)).toEqual({ asked: 2, outcome: "provider_unreachable" });
    await vi.waitFor(async () => expect(await output(context)).toEqual([20, 0]), 20_000);
    expect(await call(context).then(() => "ok", codeOf)).toBe("budget_exceeded");
  });

  it("is not made if the earlier ones and its prompt would pass a soft budget", async () => {
    const prompt = promptTokens(REQUEST);
    // The first attempt took its prompt and 10 tokens of output, each of which costs as much as two of the prompt.
    const costs = (prompt + 10 * 2 + prompt) * 1000;
    const asked = async (max_cost: number) => {
      const context = place();
      const subject = { ...SKILL, account: "caller:-" };
      await ledger(context).putAccount(subject.account, max_cost);
      return broken(context, 1, { subject });
    };
    expect(await asked(costs)).toEqual({ asked: 2, outcome: "ok" });
    expect(await asked(costs - 1)).toEqual({ asked: 1, outcome: "provider_unreachable" });
  });
});

describe("what a call took", () => {
  const cut = (bytes: number[]) => bytes.map((bytes) => ({ bytes, said: NO_USAGE }));
  const turn = (usage: Partial<ModelTurn["usage"]>, text = "", broken: number[] = []): CallEnd => ({
    broken: cut(broken),
    turn: {
      blocks: [{ type: "output_text", text }],
      stop_reason: "end_turn",
      raw_stop_reason: null,
      provider: "mock",
      model: "mock",
      usage: { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0, ...usage },
    },
  });
  const failed = (broken: number[], used = NO_USAGE): CallEnd => ({ turn: null, used, broken: cut(broken) });
  const saying = (bytes: number, said: Partial<ModelTurn["usage"]>): CallEnd => ({
    turn: null,
    used: NO_USAGE,
    broken: [{ bytes, said: { ...NO_USAGE, ...said } }],
  });
  const estimated = { calls: 1, estimated_calls: 1, input_tokens: 3 };

  it.each<[string, CallEnd, object]>([
    [
      "as the provider reports",
      turn({ input_tokens: 7, output_tokens: 3 }),
      { input_tokens: 7, cost: 13_000 },
    ],
    ["an estimate where it reports nothing", turn({}, "x".repeat(41)), { ...estimated, output_tokens: 11 }],
    ["nothing, where it failed before an answer", failed([]), { calls: 0, cost: 0 }],
    [
      "empty answers before the failure",
      failed([], { ...NO_USAGE, input_tokens: 7, output_tokens: 3 }),
      { estimated_calls: 0, input_tokens: 7, cost: 13_000 },
    ],
    ["prompt and text, where it broke off", failed([9]), { ...estimated, output_tokens: 3 }],
    [
      "each attempt that broke off, before an answer",
      turn({ input_tokens: 7, output_tokens: 3 }, "", [9, 5]),
      { calls: 1, estimated_calls: 1, input_tokens: 13, output_tokens: 8 },
    ],
    [
      "each attempt that broke off, before a failure",
      failed([9, 5]),
      { ...estimated, input_tokens: 6, output_tokens: 5 },
    ],
    [
      "the input that the provider reported at the beginning",
      saying(9, { input_tokens: 7, cache_read_tokens: 40, output_tokens: 1 }),
      { estimated_calls: 1, input_tokens: 7, cache_read_tokens: 40, prompt_tokens: 47, output_tokens: 3 },
    ],
    [
      "more output than arrived, where the provider reported so",
      saying(9, { input_tokens: 7, output_tokens: 50 }),
      { input_tokens: 7, output_tokens: 50 },
    ],
    ["the prompt, where it was given up unseen", failed([0]), { ...estimated, output_tokens: 0 }],
  ])("%s, reserved or not", async (_, end, expected) => {
    for (const limits of [null, { max_output_tokens: 1000 }]) {
      const context = place();
      if (limits !== null) await limit(context, limits);
      const admission = await accountant(context, SKILL, TARIFF).admit(REQUEST, TARGET, 1000);
      await admission.settle(end);
      await sendUsage(context);
      await vi.waitFor(async () => expect(await ledger(context).total()).toMatchObject(expected), 20_000);
      if (limits !== null) {
        expect((await ledger(context).budget("tenant"))?.reserved.output_tokens).toBe(0);
      }
    }
  });

  it("the share of the cache is that of the whole prompt, wherever a provider counts cached tokens", () => {
    const accounts = accountant(place(), SKILL, TARIFF);
    const ends = [
      turn({ input_tokens: 1000, output_tokens: 10, cache_read_tokens: 500 }),
      turn({ input_tokens: 500, output_tokens: 10 }),
    ];
    const shares = (["anthropic", "openai"] as const).map((provider) => {
      const target = resolveTarget({ provider, model: "m" }, () => "key");
      const figures = ends.flatMap((end) => accounts.reported(target, end) ?? []);
      return [...figures, figures.reduce(added, NO_FIGURES)].map(({ cache_hit_ratio }) => cache_hit_ratio);
    });
    expect(shares).toEqual([
      [1 / 3, 0, 1 / 4],
      [1 / 2, 0, 1 / 3],
    ]);
  });

  it("each attempt costs what its own prompt costs, which together may be in a dearer tier", async () => {
    const context = place();
    const price = () => ({ in: 1, out: 2, above: { tokens: 10, in: 100, out: 100 } });
    const admission = await accountant(context, SKILL, { ...TARIFF, price }).admit(REQUEST, TARGET, 1000);
    await admission.settle(turn({ input_tokens: 7, output_tokens: 3 }, "", [9, 5]));
    await sendUsage(context);
    const cost = async () => (await ledger(context).total()).cost;
    await vi.waitFor(async () => expect(await cost()).toBe(29_000), 20_000);
  });
});

describe("soft budgets", () => {
  it("a call that uses a budget up is answered, and reports that; the next one is refused", async () => {
    const context = place();
    const account = "caller:-";
    await ledger(context).putAccount(account, 10_000);
    const accounts = accountant(context, { ...SKILL, account }, TARIFF);
    const ask = () =>
      callModel(REQUEST, TARGET, {
        stream: false,
        timeout_ms: 5000,
        signal: new AbortController().signal,
        clock: systemClock,
        fetch,
        admit: accounts.admit,
      });
    expect(accounts.budgetExceeded).toBe(false);
    await ask();
    expect([accounts.budgetExceeded, await accounts.spentUsd()]).toEqual([true, 0.000071]);
    const error = await ask().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      data: {
        status: 402,
        members: {
          budget: "soft",
          scope: "caller",
          limit: "max_cost",
          limit_value: 0.00001,
          spent: 0.000071,
        },
      },
    });
  });
});

describe("the rate of a provider", () => {
  it.each<[string, Record<string, string>, Tariff, number | null]>([
    ["a variable", { HULL_RATE_LIMIT_MOCK: "1" }, TARIFF, null],
    ["the model registry", {}, { ...TARIFF, rpm: () => 1 }, null],
    ["the tenant, whatever else is set", { HULL_RATE_LIMIT_MOCK: "9" }, { ...TARIFF, rpm: () => 9 }, 1],
  ])(
    "set by %s: the second call waits, no error; another tenant's does not",
    async (_, variables, tariff, own) => {
      const clock = fakeClock();
      const now = vi.spyOn(Date, "now").mockImplementation(() => clock.now());
      const context = place(variables);
      if (own !== null) await ledger(context).putRpm("mock", own);
      const turn = async (context: RunContext, until = Number.POSITIVE_INFINITY) => {
        const admission = await accountant(context, SKILL, tariff).admit(REQUEST, TARGET, 1000);
        return admission.turn({ clock, signal: new AbortController().signal, until });
      };
      await turn(context);
      expect(clock.waits).toEqual([]);
      await turn(context);
      const waited = clock.waits.reduce((sum, wait) => sum + wait, 0);
      expect(waited).toBeGreaterThanOrEqual(60_000);
      expect(waited).toBeLessThanOrEqual(61_000);
      const before = clock.waits.length;
      if (own === null) await turn(place(variables));
      // A call that cannot begin in time fails at once.
      const late = await turn(context, clock.now() + 30_000).catch((error: unknown) => error);
      expect(late).toMatchObject({ data: { code: "provider_rate_limited", members: { provider: "mock" } } });
      expect(clock.waits).toHaveLength(before);
      now.mockRestore();
    },
  );

  it("is requested nowhere if none is set", async () => {
    const context = place();
    const asked = vi.fn();
    replaceLedger(context, (ledger) => ({
      policy: () => ledger().policy(),
      takeTurn: asked,
      record: (id, charges) => ledger().record(id, charges),
    }));
    await call(context);
    expect(asked).not.toHaveBeenCalled();
  });
});

describe("an isolate's memory of a tenant", () => {
  it("is read again during a call after 5 s, and before one after a minute", async () => {
    const context = place();
    const work: Promise<unknown>[] = [];
    const known = { ...context, background: (promise: Promise<unknown>) => void work.push(promise) };
    const start = Date.now();
    const now = vi.spyOn(Date, "now").mockReturnValue(start);
    await call(known);
    await Promise.all(work.splice(0));
    await limit(context, { max_output_tokens: 0 });
    now.mockReturnValue(start + 4000);
    await call(known);
    now.mockReturnValue(start + 6000);
    await call(known);
    await Promise.all(work.splice(0));
    expect(await call(known).then(() => "ok", codeOf)).toBe("budget_exceeded");
    await ledger(context).deleteBudget("tenant");
    now.mockReturnValue(start + 70_000);
    expect(await call(known).then(() => "ok", codeOf)).toBe("ok");
  });
});

describe("the end of a call, though the ledger", () => {
  it.each([
    ["rejects it", "without limits", null],
    ["loses its answer", "without limits", null],
    ["rejects it", "of a limit", 1000],
    ["loses its answer", "of a limit", 1000],
  ])("%s at first, counts once: %s", async (fault, _, max_output_tokens) => {
    const context = place();
    if (max_output_tokens !== null) await limit(context, { max_output_tokens });
    const work: Promise<unknown>[] = [];
    const known = { ...context, background: (promise: Promise<unknown>) => void work.push(promise) };
    let faults = 0;
    const faulty = async <Answer>(ask: () => Answer | Promise<Answer>): Promise<Answer> => {
      if (faults++ > 0) return ask();
      if (fault === "loses its answer") await ask();
      throw Object.assign(new Error("Durable Object is overloaded."), { overloaded: true, retryable: true });
    };
    replaceLedger(context, (ledger) => ({
      policy: () => ledger().policy(),
      reserve: (request) => ledger().reserve(request),
      record: (...given) => faulty(() => ledger().record(...given)),
      settle: (...given) => faulty(() => ledger().settle(...given)),
    }));
    await call(known);
    while (work.length > 0) await work.shift();
    const { calls, output_tokens } = await ledger(place({}, context.tenant)).total();
    expect([faults, calls, output_tokens]).toEqual([2, 1, 30]);
  });
});
