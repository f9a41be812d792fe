/**
 * Who pays for model calls: reserves before a call, settles after it, and paces calls to a provider. A tenant without
 * budgets and rates never waits.
 */
import { type ModelRequest, NO_USAGE, totalUsage, type Usage } from "../engine/messages.ts";
import { usdOf } from "../engine/usd.ts";
import { BudgetExceeded, PriceUnknown } from "../errors/budget.ts";
import type { HullError } from "../errors.ts";
import type { CallFigures } from "../llm/result.ts";
import { memo, memoNamed } from "../memo.ts";
import type { Admission, Admit, CallEnd, Taken } from "../model/admission.ts";
import { excludesCachedTokens, nanoUsd, type PriceOf, priceAt, promptTokensOf } from "../model/cost.ts";
import { bytesOfBlocks, promptTokens, tokensOfBytes } from "../model/estimate.ts";
import type { ResolvedTarget } from "../model/providers.ts";
import type { ModelPrice, ModelRegistry } from "../model/registry/definition.ts";
import { cacheFigures, costOf, priceOf, refusesUnpriced } from "../model/registry/price.ts";
import { isSilent, tokenCounts } from "../model/usage.ts";
import type { Charge, Refusal, ReserveRequest, Spend, Subject } from "../session/ledger/rpc.ts";
import type { RunContext } from "./context.ts";
import { askTenant } from "./ledger.ts";
import { configuredRpm, type RpmOf, waitForTurn } from "./provider-rate.ts";
import { askWithPolicy, policyOf, tellLedger } from "./tenant-policy.ts";
import { noteCharge, sendUsage } from "./usage-batch.ts";

/**
 * The ledger counts a call as lost this long after the call's own time limit, in ms. This is more than the longest wait
 * for a turn. If the call ends even later, the lost amount stays counted.
 */
const LOST_AFTER_MS = 120_000;

/** Prices and rates in the model registry. */
export interface Tariff {
  price: PriceOf;
  rpm: RpmOf;
  /** Whether a cost limit refuses the provider's models that have no known price. */
  refusesUnpriced: (provider: string) => boolean;
}

/** Only a search of all prices shows that a name has no price. */
const price = memoNamed(priceOf);

/** Prices and rates from the model registry. */
export const tariffOf = memo((modelRegistry: ModelRegistry): Tariff => {
  return {
    price: (provider, model) => price(modelRegistry, provider, model),
    rpm: (provider) => modelRegistry.providers.get(provider)?.rpm ?? null,
    refusesUnpriced: (provider) => refusesUnpriced(modelRegistry, provider),
  };
});

interface Accountant {
  /** For the options of `callModel`. */
  admit: Admit;
  /** Whether a call of this accountant used up the soft budget. */
  readonly budgetExceeded: boolean;
  /** What the subject's soft ledger has spent so far, in USD. */
  spentUsd(): Promise<number>;
  /** What a call took as its provider reported it, without estimates; `null`: it reported nothing. */
  reported(target: ResolvedTarget, end: CallEnd): CallFigures | null;
  /** The cost of what attempts took, in USD. */
  costOf(request: ModelRequest, target: ResolvedTarget, taken: Taken): number;
}

/** Accounts for the model calls of a subject. */
export function accountant(context: RunContext, subject: Subject, tariff: Tariff): Accountant {
  let budgetExceeded = false;

  /** `null`: the call is reserved. */
  const reserve = async (request: ReserveRequest): Promise<HullError | null> => {
    const { refused } = await askWithPolicy(context, async (ledger) => await ledger.reserve(request));
    if (refused === null) return null;
    const { requested, limit, scope } = refused;
    const { provider, model } = request;
    return requested === null
      ? new PriceUnknown({ provider, model, scope, limit })
      : new BudgetExceeded(shown(refused, requested));
  };

  const settle = async (id: string, charge: Charge | null): Promise<void> => {
    // Without a settlement, the reservation stays, and counts in full when its time is over.
    const lost = { event: "settle_failed", call: id };
    const answer = await tellLedger(context, lost, (ledger) => ledger.settle(id, charge));
    budgetExceeded ||= answer?.exceeded === true;
  };

  const admit: Admit = async (request, target, timeoutMs): Promise<Admission> => {
    const { provider, model } = target;
    const { hard, soft } = await policyOf(context);
    const price = tariff.price(provider, model);
    const id = hard || (soft && subject.account !== null) ? crypto.randomUUID() : null;
    const unknown_price = tariff.refusesUnpriced(provider) ? "refuse" : "allow";
    const terms = { ...subject, provider, model, unknown_price, ttl_ms: timeoutMs + LOST_AFTER_MS } as const;
    const refusal = id === null ? null : await reserve({ ...terms, id, ...estimate(request, price) });
    if (refusal !== null) throw refusal;
    let startedAt = Date.now();
    const spent = (end: CallEnd, price: ModelPrice | null): Spend | null =>
      spendOf(request, target, price, end, Date.now() - startedAt);
    return {
      async extend(taken) {
        const spend = spent({ turn: null, ...taken }, price);
        if (id === null || spend === null) return null;
        return reserve({ ...terms, id, ...further(estimate(request, price), spend) });
      },
      async turn(limits) {
        const { rpm } = await policyOf(context);
        const configured = configuredRpm(context, provider, tariff.rpm);
        if (rpm[provider] === undefined && configured === null) return;
        await waitForTurn(context, provider, configured, limits);
        startedAt = Date.now();
      },
      async settle(end) {
        const spend = spent(end, paidPrice(target, end));
        const charge = spend === null ? null : { ...subject, provider, model, spend };
        if (id === null) {
          if (charge !== null) noteCharge(context, charge);
          return;
        }
        const settled = settle(id, charge);
        // If the client has left, the request must not end before.
        if (end.turn === null) context.background(settled);
        // A fallback needs the room that the call reserved.
        await settled;
      },
    };
  };

  /** The price of the model that was asked; if it is unknown, that of the model that says it answered. */
  const paidPrice = ({ provider, model }: ResolvedTarget, { turn }: CallEnd): ModelPrice | null =>
    tariff.price(provider, model) ?? (turn === null ? null : tariff.price(provider, turn.model));

  return {
    admit,
    reported(target, end) {
      const usage = reportedUsage(end);
      if (end.turn === null && isSilent(usage)) return null;
      const price = paidPrice(target, end);
      return {
        ...tokenCounts(usage),
        ...cacheFigures(usage, price, target),
        cost_usd: price === null ? 0 : costOf(usage, price, target),
        price_known: price !== null,
      };
    },
    get budgetExceeded() {
      return budgetExceeded;
    },
    costOf(request, target, taken) {
      const price = tariff.price(target.provider, target.model);
      return usdOf(spendOf(request, target, price, { turn: null, ...taken }, 0)?.cost ?? 0);
    },
    async spentUsd() {
      const { account } = subject;
      if (account === null) return 0;
      await sendUsage(context);
      return usdOf((await askTenant(context, async (ledger) => await ledger.account(account))).cost);
    },
  };
}

type Estimate = Pick<ReserveRequest, "prompt_tokens" | "output_tokens" | "prompt_cost" | "cost">;

/** The most that an attempt may take: the estimate of its prompt, and `max_tokens`. */
function estimate(request: ModelRequest, price: ModelPrice | null): Estimate {
  const prompt_tokens = promptTokens(request);
  const output_tokens = request.max_tokens;
  if (price === null) return { prompt_tokens, output_tokens, prompt_cost: null, cost: null };
  // The first call with a prompt to cache also pays for writing it to the cache.
  const rates = priceAt(price, prompt_tokens);
  const input = request.cache ? Math.max(rates.in, rates.cache_write ?? 0) : rates.in;
  const costOf = (output: number): number =>
    nanoUsd(
      { ...NO_USAGE, input_tokens: prompt_tokens, output_tokens: output },
      { ...rates, in: input },
      true,
    );
  return { prompt_tokens, output_tokens, prompt_cost: costOf(0), cost: costOf(output_tokens) };
}

/** The most that a call may take with a further attempt, after attempts that took `spend`. */
function further({ prompt_tokens, output_tokens, prompt_cost, cost }: Estimate, spend: Spend): Estimate {
  return {
    prompt_tokens: spend.prompt_tokens + prompt_tokens,
    output_tokens: spend.output_tokens + output_tokens,
    prompt_cost: prompt_cost === null ? null : spend.cost + prompt_cost,
    cost: cost === null ? null : spend.cost + cost,
  };
}

const reportedUsage = (end: CallEnd): Usage => (end.turn === null ? end.used : end.turn.usage);

/**
 * What a call took; `null`: nothing. What the provider did not report is estimated: for an attempt that broke off, this
 * is mostly the output.
 * @param ms since the latest attempt that waited for its turn
 */
function spendOf(
  request: ModelRequest,
  target: ResolvedTarget,
  price: ModelPrice | null,
  end: CallEnd,
  ms: number,
): Spend | null {
  const { turn, broken } = end;
  const reported = reportedUsage(end);
  const silent = isSilent(reported);
  const unknown =
    turn !== null && silent ? [...broken, { bytes: bytesOfBlocks(turn.blocks), said: reported }] : broken;
  if (turn === null && silent && unknown.length === 0) return null;
  const estimates = unknown.map(({ bytes, said }) => ({
    // The estimate of the prompt reads the whole conversation, so Hull makes it only where it counts.
    ...(promptTokensOf(said, true) > 0 ? said : { ...NO_USAGE, input_tokens: promptTokens(request) }),
    // A provider that counts at the beginning counts only the first tokens.
    output_tokens: Math.max(said.output_tokens, tokensOfBytes(bytes)),
  }));
  const usage = estimates.reduce(totalUsage, reported);
  // The price depends on the prompt of each attempt.
  const costs = [reported, ...estimates].map((one) =>
    price === null ? 0 : nanoUsd(one, price, excludesCachedTokens(target, one)),
  );
  return {
    calls: 1,
    unpriced_calls: price === null ? 1 : 0,
    estimated_calls: unknown.length > 0 ? 1 : 0,
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
    cache_read_tokens: usage.cache_read_tokens,
    cache_write_tokens: usage.cache_write_tokens,
    prompt_tokens: promptTokensOf(usage, excludesCachedTokens(target, usage)),
    cost: costs.reduce((sum, cost) => sum + cost),
    duration_ms: Math.max(0, ms),
  };
}

/** A refusal in the units of its limit: USD or tokens. */
function shown(refusal: Refusal, requested: number) {
  const { budget, scope, window, limit } = refusal;
  const money = limit === "max_cost_usd" || limit === "max_cost";
  const unit = (value: number): number => (money ? usdOf(value) : value);
  return {
    budget,
    scope,
    window,
    limit,
    limit_value: unit(refusal.limit_value),
    spent: unit(refusal.spent),
    reserved: unit(refusal.reserved),
    requested: unit(requested),
    resets_at: refusal.resets_at === null ? null : new Date(refusal.resets_at).toISOString(),
  };
}
