/** Makes the model calls of `/llm/*`, runs and sessions: chooses models, keeps budgets, asks providers. */

import { type ModelRequest, textOfBlocks } from "../engine/messages.ts";
import { sumUsd } from "../engine/usd.ts";
import { BudgetExceeded } from "../errors/budget.ts";
import { FAILURES, failureClassOf } from "../errors/failure-class.ts";
import { ModelLacks } from "../errors/provider.ts";
import { HullError } from "../errors.ts";
import type { ExchangeOptions, LlmHost, ModelChoice, ModelSelector } from "../llm/host.ts";
import { mockCallMembers } from "../llm/mock-calls.ts";
import { refused } from "../llm/prepare.ts";
import { added, type CallExtras, type CallFigures, NO_FIGURES } from "../llm/result.ts";
import { newId } from "../llm/transcript.ts";
import { logLine } from "../log.ts";
import type { Admit } from "../model/admission.ts";
import { tokensToAsk } from "../model/anthropic.ts";
import { type BudgetOption, checkBudgetOption } from "../model/budget-option.ts";
import { chooseModel, reachTarget } from "../model/choices.ts";
import { promptTokens } from "../model/estimate.ts";
import { announce } from "../model/exchange.ts";
import { callWithFallback } from "../model/fallback.ts";
import { JsonToolAnswer } from "../model/json-answer.ts";
import type { Asker } from "../model/mock/default.ts";
import type { MockCall } from "../model/mock/mock.ts";
import { readMocks } from "../model/mock/read.ts";
import { mockTarget } from "../model/mock/target.ts";
import { gptVersion, isAtLeast } from "../model/model-version.ts";
import type { ResolvedTarget, TargetSelector } from "../model/providers.ts";
import type { ModelRegistry } from "../model/registry/definition.ts";
import { refusesUnpriced } from "../model/registry/price.ts";
import { canonicalProvider } from "../model/registry/registry.ts";
import { type RouteDecision, route } from "../model/registry/route.ts";
import { llmRetries } from "../model/retry.ts";
import { outcomeOf } from "../model/turn-end.ts";
import { tokenCounts } from "../model/usage.ts";
import { asJson } from "../skill/json.ts";
import type { Json, JsonObject, ModelTarget } from "../skill/manifest.ts";
import { type Accountant, accountant, type Tariff, tariffOf } from "./accounting.ts";
import type { RunContext } from "./context.ts";
import { tracedCall } from "./gen-ai.ts";
import { type Mocking, mocksFor } from "./mocks.ts";

interface LlmHostOptions {
  /** Aborted when nobody wants the answer any more. */
  signal: AbortSignal;
  /** The session that made the call, for the ledger; `null`: the call has no session. */
  session: string | null;
  skill: string | null;
  /** Name of the soft ledger. */
  account: string | null;
  /** The calls belong to no run: the caller wants one answer. */
  single?: boolean;
  /** Set for calls of a served skill: the deployment's model registry, without what the tenant installed. */
  served?: ModelRegistry;
  /** The calls run a served skill by another route: the built-in mock plays its tools, as it does at `/skills/<slug>`. */
  demo?: boolean;
}

/**
 * @param mock the option `mock` as given: a list of answers that replace the providers'
 * @throws InputInvalid for invalid mocks; HullError if the deployment's provider file or mocks cannot be read
 */
export async function llmHost(
  context: RunContext,
  options: LlmHostOptions,
  mock?: Json | undefined,
): Promise<LlmHost> {
  const modelRegistry =
    options.served ?? (await context.deployment.tenantRules.registryOf(context.tenant, context.background));
  const given = mock === undefined || mock === null ? null : readMocks(mock, "options.mock");
  if (given !== null && "faults" in given) throw refused(given.faults);
  const mocking = await mocksFor(context, { given: given?.mocks ?? null, asker: askerOf(options) });
  const { skill, session, account } = options;
  const tariff = tariffOf(modelRegistry);
  const accounts = accountant(context, { skill, session, account }, tariff);
  return new Host(context, options, { modelRegistry, accounts, mocking, price: tariff.price });
}

function askerOf({ served, demo, single }: LlmHostOptions): Asker {
  if (served !== undefined || demo === true) return "demo";
  return single === true ? "call" : "run";
}

type Reach = Pick<ExchangeOptions, "own" | "native_search">;

class Host implements LlmHost {
  readonly #context: RunContext;
  readonly #options: LlmHostOptions;
  readonly #modelRegistry: ModelRegistry;
  readonly #accounts: Accountant;
  readonly #mocking: Mocking;
  readonly #price: Tariff["price"];
  /** How the model was chosen, for the error of a missing key. */
  #how = "";
  /** Cost of the calls made through this host, in USD. */
  #spent = 0;

  constructor(
    context: RunContext,
    options: LlmHostOptions,
    parts: { modelRegistry: ModelRegistry; accounts: Accountant; mocking: Mocking; price: Tariff["price"] },
  ) {
    this.#context = context;
    this.#options = options;
    this.#modelRegistry = parts.modelRegistry;
    this.#accounts = parts.accounts;
    this.#mocking = parts.mocking;
    this.#price = parts.price;
  }

  choose(selector: ModelSelector): ModelChoice {
    const { read } = this.#context.settings;
    const { route_policy, ...named } = selector;
    const decision = route_policy === undefined ? null : route(route_policy, this.#modelRegistry, read);
    const chosen = decision?.chosen ?? null;
    const asked =
      chosen === null ? named : { provider: chosen.provider, model: chosen.alias ?? chosen.model };
    const { choice, how } = chooseModel(this.#context.deployment, this.#modelRegistry, asked);
    this.#how = how;
    const routing = decision === null || decision.mode === "manual" ? null : shownDecision(decision);
    return { ...choice, routing };
  }

  reach(target: ModelTarget) {
    const { model, protocol, capabilities } = this.#resolve(target, { own: {}, native_search: false });
    return { model, protocol, capabilities };
  }

  isProvider(name: string): boolean {
    return this.#modelRegistry.providers.has(canonicalProvider(this.#modelRegistry, name));
  }

  async exchange(options: ExchangeOptions) {
    const { env } = this.#context;
    const [primary, ...fallbacks] = options.targets;
    const started = Date.now();
    /** When the call of the present target began. */
    let begun = started;
    const count = (provider: string, outcome: string): void =>
      this.#context.deployment.metrics.countModelCall(provider, outcome, Date.now() - begun);
    const { json_suffix = "", onText } = options;
    const json = new JsonToolAnswer(json_suffix);
    const asked = primary ?? { provider: "", model: null };
    const taken: CallFigures[] = [];
    const note = (provider: string, reported: CallFigures): void => {
      taken.push(reported);
      this.#spent = sumUsd(this.#spent, reported.cost_usd);
      this.#context.deployment.metrics.countTokens(provider, reported);
    };
    try {
      const answered = await callWithFallback(
        (target) => {
          const request = this.#bounded(options, target);
          json.noteTarget(request, () => this.#resolve(target, options).protocol);
          return request;
        },
        asked,
        fallbacks,
        {
          ...options,
          resolve: (target) => {
            begun = Date.now();
            return this.#resolve(target, options);
          },
          signal: options.signal ?? this.#options.signal,
          onText:
            onText &&
            ((text) => {
              if (!json.buffersText) onText(text);
            }),
          onFailed: (target, error) => {
            count(target.provider, error instanceof HullError ? error.code : "internal");
            options.onFailed?.(target, error);
          },
          traced: (request, target, call) => tracedCall(this.#context, request, target, call),
          admit: this.#admit(options, note),
          intercept: this.#mocking.intercept,
          clock: this.#context.clock,
          fetch: (input, init) => globalThis.fetch(input, init),
          ai: this.#context.settings.local ? undefined : env.AI,
          log: (entry) => this.log({ ...entry }),
          ...(options.retries === null
            ? {}
            : { retry: llmRetries(options.retries, options.backoff_ms), fallsBackAfter: mayFallBack }),
        },
      );
      const turn = json.withJsonText(answered);
      if (!options.stream) announce(turn, { onText, onReasoning: options.onReasoning });
      else if (json.buffersText) onText?.(textOfBlocks(turn.blocks));
      const outcome = outcomeOf(turn);
      count(turn.provider, outcome);
      if (outcome !== "ok") this.#context.log.model_outcome = outcome;
      const figures = taken.reduce(added, NO_FIGURES);
      return { turn: { ...turn, usage: tokenCounts(figures) }, figures };
    } finally {
      this.#context.time("llm", Date.now() - started);
    }
  }

  setting(name: string): string | undefined {
    return this.#context.settings.read(name);
  }

  get budgetExceeded(): boolean {
    return this.#accounts.budgetExceeded;
  }

  further(earlier: () => readonly MockCall[] = () => []): CallExtras {
    const { active, calls } = this.#mocking;
    return {
      ...(this.budgetExceeded ? { budget_exceeded: true as const } : {}),
      ...(active ? mockCallMembers([...earlier(), ...calls]) : {}),
    };
  }

  mocksLeft(): Json | null {
    const left = this.#mocking.left();
    return left === null ? null : asJson<Json[]>(left);
  }

  ids = newId;

  log(entry: Record<string, unknown>): void {
    logLine(this.#context, { ...entry, request_id: this.#context.requestId });
  }

  /** Uses Responses if a call asks for it, and for OpenAI's own tool search, which chat completions lack. */
  #resolve({ provider, model }: ModelTarget, { own, native_search }: Reach): ResolvedTarget {
    if (this.#mocking.active) return mockTarget(provider, model, this.#modelRegistry);
    const hosted = native_search && provider === "openai" && isAtLeast(gptVersion(model ?? ""), [5, 4]);
    const protocol = hosted || own[provider]?.api === "responses" ? ("openai-responses" as const) : undefined;
    const selector: TargetSelector = {
      provider,
      model,
      ...(protocol === undefined ? {} : { protocol }),
      // For a skill, which names its provider itself, there is nothing to explain.
      ...(this.#how === "" ? {} : { how: this.#how }),
    };
    return reachTarget(this.#context.deployment, this.#modelRegistry, selector);
  }

  /**
   * Without an explicit `max_tokens`, the budget's limit of output becomes the request's. The value sent is always
   * above 0: servers read less as "no limit", and the ledger would count it as income.
   */
  #bounded(options: ExchangeOptions, target: ModelTarget) {
    const request = options.request(target);
    const limit = options.max_tokens_given === null ? options.budget?.max_output_tokens : undefined;
    const asked = limit === undefined ? request.max_tokens : Math.min(limit, request.max_tokens);
    return { ...request, max_tokens: tokensToAsk(asked) };
  }

  /** Checks the call's own budget first, since that costs nothing. */
  #admit(
    { budget, max_tokens_given, onAdmitted }: ExchangeOptions,
    note: (provider: string, reported: CallFigures) => void,
  ): Admit {
    return async (request, target, timeoutMs) => {
      const check = async (takenUsd: number): Promise<void> => {
        if (budget !== null) await this.#checkBudget(budget, max_tokens_given, { request, target, takenUsd });
      };
      await check(0);
      const admission = await this.#accounts.admit(request, target, timeoutMs);
      onAdmitted?.();
      return {
        ...admission,
        extend: async (taken) => {
          await check(this.#accounts.costOf(request, target, taken));
          return admission.extend(taken);
        },
        settle: (end) => {
          const reported = this.#accounts.reported(target, end);
          if (reported !== null) note(target.provider, reported);
          return admission.settle(end);
        },
      };
    };
  }

  /** @param takenUsd the cost of the call's earlier attempts */
  async #checkBudget(
    budget: BudgetOption,
    max_tokens: number | null,
    { request, target, takenUsd }: { request: ModelRequest; target: ResolvedTarget; takenUsd: number },
  ): Promise<void> {
    const { provider, model } = target;
    const total = budget.total_budget_usd !== undefined;
    checkBudgetOption(budget, {
      provider,
      model,
      price: this.#price(provider, model),
      refusesUnpriced: refusesUnpriced(this.#modelRegistry, provider),
      input_tokens: promptTokens(request),
      max_tokens: max_tokens === null ? null : tokensToAsk(max_tokens),
      session_cost_usd: total ? sumUsd(await this.#spentBefore(), takenUsd) : 0,
    });
  }

  /** A run without a session has no earlier cost: what its caller spent on other runs does not count. */
  async #spentBefore(): Promise<number> {
    const { session, single } = this.#options;
    return session === null && single !== true ? this.#spent : this.#accounts.spentUsd();
  }
}

/** Another provider may answer after any failure of one, but not if the call itself is wrong. */
function mayFallBack(error: unknown): boolean {
  if (!(error instanceof HullError)) return false;
  if (error instanceof ModelLacks || error instanceof BudgetExceeded) return false;
  const { reason, category } = failureClassOf(error.data);
  return reason !== FAILURES.content_policy.reason && category !== "cancelled";
}

function shownDecision({ mode, target, chosen, alternatives }: RouteDecision): JsonObject {
  return asJson({ mode, target, chosen, alternatives });
}
