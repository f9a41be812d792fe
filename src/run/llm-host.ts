/** Makes the model calls of `/llm/*`, runs and sessions: chooses models, keeps budgets, asks providers. */

import { modelName } from "../engine/agent/state.ts";
import { type ModelRequest, textOfBlocks } from "../engine/messages.ts";
import { sumUsd } from "../engine/usd.ts";
import { BudgetExceeded } from "../errors/budget.ts";
import { FAILURES, failureClassOf } from "../errors/failure-class.ts";
import { ModelLacks } from "../errors/provider.ts";
import { HullError } from "../errors.ts";
import type { ExchangeOptions, LlmHost } from "../llm/host.ts";
import { mockCallMembers } from "../llm/mock-calls.ts";
import { refused } from "../llm/prepare.ts";
import { added, type CallFigures, NO_FIGURES } from "../llm/result.ts";
import { newId } from "../llm/transcript.ts";
import { logLine } from "../log.ts";
import type { Admit } from "../model/admission.ts";
import { tokensToAsk } from "../model/anthropic.ts";
import { checkBudgetOption } from "../model/budget-option.ts";
import { chooseModel, reachTarget } from "../model/choices.ts";
import { promptTokens } from "../model/estimate.ts";
import { announce } from "../model/exchange.ts";
import { callWithFallback } from "../model/fallback.ts";
import { JsonToolAnswer } from "../model/json-answer.ts";
import type { Asker } from "../model/mock/default.ts";
import { readMocks } from "../model/mock/read.ts";
import { mockTarget } from "../model/mock/target.ts";
import { gptVersion, isAtLeast } from "../model/model-version.ts";
import type { ResolvedTarget } from "../model/providers.ts";
import type { ModelRegistry } from "../model/registry/definition.ts";
import { canonicalProvider } from "../model/registry/registry.ts";
import { type RouteDecision, route } from "../model/registry/route.ts";
import { llmRetries } from "../model/retry.ts";
import { outcomeOf } from "../model/turn-end.ts";
import { tokenCounts } from "../model/usage.ts";
import type { Subject } from "../session/ledger/rpc.ts";
import { asJson } from "../skill/json.ts";
import type { Json, JsonObject, ModelTarget } from "../skill/manifest.ts";
import { accountant, tariffOf } from "./accounting.ts";
import type { RunContext } from "./context.ts";
import { tracedCall } from "./gen-ai.ts";
import { mocksFor } from "./mocks.ts";

interface LlmHostOptions extends Subject {
  /** Aborted when nobody wants the answer any more. */
  signal: AbortSignal;
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
  const mocking = await mocksFor(context, given?.mocks ?? null, askerOf(options));
  const { skill, session, account } = options;
  const tariff = tariffOf(modelRegistry);
  const accounts = accountant(context, { skill, session, account }, tariff);
  const { deployment, settings } = context;
  /** How the model was chosen, for the error of a missing key. */
  let chosenBy = "";
  /** Cost of the calls made through this host, in USD. */
  let spent = 0;

  const log = (entry: Record<string, unknown>): void =>
    logLine(context, { ...entry, skill, session_id: session });

  /** Uses Responses if a call asks for it, and for OpenAI's own tool search, which chat completions lack. */
  const resolve = ({ provider, model }: ModelTarget, { own, native_search }: Reach): ResolvedTarget => {
    if (mocking.active) return mockTarget(provider, model, modelRegistry);
    const hosted = native_search && provider === "openai" && isAtLeast(gptVersion(model ?? ""), [5, 4]);
    const responses = hosted || own[provider]?.api === "responses";
    return reachTarget(deployment, modelRegistry, {
      provider,
      model,
      ...(responses ? { protocol: "openai-responses" as const } : {}),
      // For a skill, which names its provider itself, there is nothing to explain.
      ...(chosenBy === "" ? {} : { how: chosenBy }),
    });
  };

  /** A run without a session has no earlier cost: what its caller spent on other runs does not count. */
  const spentBefore = async (): Promise<number> =>
    session === null && options.single !== true ? spent : accounts.spentUsd();

  /** Checks the call's own budget first, since that costs nothing. */
  const admitting = (
    { budget, max_tokens_given: max, onAdmitted, beforeAttempt }: ExchangeOptions,
    note: (provider: string, reported: CallFigures) => void,
  ): Admit => {
    return async (request, target, timeoutMs) => {
      const { provider, model } = target;
      /** @param takenUsd the cost of the call's earlier attempts */
      const check = async (takenUsd: number): Promise<void> => {
        if (budget === null) return;
        const total = budget.total_budget_usd !== undefined;
        checkBudgetOption(budget, {
          provider,
          model,
          price: tariff.price(provider, model),
          refusesUnpriced: tariff.refusesUnpriced(provider),
          input_tokens: promptTokens(request),
          max_tokens: max === null ? null : tokensToAsk(max),
          session_cost_usd: total ? sumUsd(await spentBefore(), takenUsd) : 0,
        });
      };
      await check(0);
      const admission = await accounts.admit(request, target, timeoutMs);
      onAdmitted?.();
      return {
        ...admission,
        async turn(limits) {
          await admission.turn(limits);
          await beforeAttempt?.();
        },
        extend: async (taken) => {
          await check(accounts.costOf(request, target, taken));
          return admission.extend(taken);
        },
        settle: (end) => {
          const reported = accounts.reported(target, end);
          if (reported !== null) note(provider, reported);
          return admission.settle(end);
        },
      };
    };
  };

  return {
    choose({ route_policy, ...named }) {
      const decision = route_policy === undefined ? null : route(route_policy, modelRegistry, settings.read);
      const chosen = decision?.chosen ?? null;
      const asked =
        chosen === null ? named : { provider: chosen.provider, model: chosen.alias ?? chosen.model };
      const { choice, how } = chooseModel(deployment, modelRegistry, asked);
      chosenBy = how;
      const routing = decision === null || decision.mode === "manual" ? null : shownDecision(decision);
      return { ...choice, routing };
    },
    reach(target) {
      const { model, protocol, capabilities } = resolve(target, { own: {}, native_search: false });
      return { model, protocol, capabilities };
    },
    definition: (provider) => modelRegistry.providers.get(canonicalProvider(modelRegistry, provider)),
    async exchange(asked) {
      const [primary = { provider: "", model: null }, ...fallbacks] = asked.targets;
      const started = Date.now();
      /** When the call of the present target began. */
      let begun = started;
      const count = (provider: string, outcome: string): void =>
        deployment.metrics.countModelCall(provider, outcome, Date.now() - begun);
      const { json_suffix = "", onText } = asked;
      const json = new JsonToolAnswer(json_suffix);
      const taken: CallFigures[] = [];
      const note = (provider: string, reported: CallFigures): void => {
        taken.push(reported);
        spent = sumUsd(spent, reported.cost_usd);
        deployment.metrics.countTokens(provider, reported);
      };
      try {
        const answered = await callWithFallback(
          (target) => {
            const request = bounded(asked, target);
            json.noteTarget(request, () => resolve(target, asked).protocol);
            return request;
          },
          primary,
          fallbacks,
          {
            ...asked,
            resolve: (target) => {
              begun = Date.now();
              const resolved = resolve(target, asked);
              context.log.model = modelName(resolved);
              return resolved;
            },
            signal: asked.signal ?? options.signal,
            onText:
              onText &&
              ((text) => {
                if (!json.buffersText) onText(text);
              }),
            onFailed: (target, error) => {
              count(target.provider, error instanceof HullError ? error.code : "internal");
              asked.onFailed?.(target, error);
            },
            traced: (request, target, call) => tracedCall(context, request, target, call),
            admit: admitting(asked, note),
            intercept: mocking.intercept,
            clock: context.clock,
            fetch: (input, init) => globalThis.fetch(input, init),
            ai: settings.local ? undefined : context.env.AI,
            log: (entry) => log({ ...entry }),
            ...(asked.retries === null
              ? {}
              : { retry: llmRetries(asked.retries, asked.backoff_ms), fallsBackAfter: mayFallBack }),
          },
        );
        const turn = json.withJsonText(answered);
        if (!asked.stream) announce(turn, { onText, onReasoning: asked.onReasoning });
        else if (json.buffersText) onText?.(textOfBlocks(turn.blocks));
        const outcome = outcomeOf(turn);
        count(turn.provider, outcome);
        if (outcome !== "ok") context.log.model_outcome = outcome;
        const figures = taken.reduce(added, NO_FIGURES);
        return { turn: { ...turn, usage: tokenCounts(figures) }, figures };
      } finally {
        context.time("llm", Date.now() - started);
      }
    },
    setting: settings.read,
    get budgetExceeded() {
      return accounts.budgetExceeded;
    },
    further: (earlier = () => []) => ({
      ...(accounts.budgetExceeded ? { budget_exceeded: true as const } : {}),
      ...(mocking.active ? mockCallMembers([...earlier(), ...mocking.calls]) : {}),
    }),
    mocksLeft() {
      const left = mocking.left();
      return left === null ? null : asJson<Json[]>(left);
    },
    ids: newId,
    log,
  };
}

function askerOf({ served, demo, single }: LlmHostOptions): Asker {
  if (served !== undefined || demo === true) return "demo";
  return single === true ? "call" : "run";
}

type Reach = Pick<ExchangeOptions, "own" | "native_search">;

/**
 * Without an explicit `max_tokens`, the budget's limit of output becomes the request's. The value sent is always above
 * 0: servers read less as "no limit", and the ledger would count it as income.
 */
function bounded(
  { request: requestFor, max_tokens_given, budget }: ExchangeOptions,
  target: ModelTarget,
): ModelRequest {
  const request = requestFor(target);
  const limit = max_tokens_given === null ? budget?.max_output_tokens : undefined;
  const asked = limit === undefined ? request.max_tokens : Math.min(limit, request.max_tokens);
  return { ...request, max_tokens: tokensToAsk(asked) };
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
