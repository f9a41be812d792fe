/** One model call to one target. */
import type { ModelRequest, ModelTurn } from "../engine/messages.ts";
import { type Admit, withAdmission } from "./admission.ts";
import { anthropic } from "./anthropic.ts";
import { type Attempt, type AttemptOptions, withAttempts } from "./attempts.ts";
import { exchangeCompletion } from "./completion.ts";
import { type ExchangeOptions, exchange, type Outcome } from "./exchange.ts";
import { type Declared, fitRequest } from "./fit.ts";
import type { Intercept } from "./intercept.ts";
import { defaultTurn } from "./mock/default.ts";
import { ollama } from "./ollama.ts";
import { openAiChat } from "./openai-chat.ts";
import { openAiResponses } from "./openai-responses.ts";
import type { HttpTarget, ResolvedTarget } from "./providers.ts";
import type { Wire } from "./wire.ts";
import { type AiBinding, askBinding } from "./workers-ai.ts";

export const WIRES: Record<HttpTarget["protocol"], Wire> = {
  anthropic,
  "openai-chat": openAiChat,
  "openai-responses": openAiResponses,
  ollama,
};

export interface CallOptions extends AttemptOptions {
  /** Capabilities that the call needs, whatever its messages contain. */
  declared?: Declared | undefined;
  /** Asked before each attempt. Absent: only the provider `mock` is mocked, and answers as for a demo. */
  intercept?: Intercept | undefined;
  fetch: typeof fetch;
  /** The Workers AI binding, if the deployment has one. */
  ai?: AiBinding | undefined;
  /** Admits calls. Absent: nobody accounts for them. */
  admit?: Admit | undefined;
}

/**
 * Calls a model: fits the request to the target, and makes as many attempts as `retry` allows. A wait for the first
 * turn that `admit` imposes counts only against the deadline.
 * @returns the turn, with warnings for parts that did not reach the provider as requested
 * @throws ModelLacks for what the model is known not to support; those of `admit`; else as `withAttempts`
 */
export async function callModel(
  request: ModelRequest,
  target: ResolvedTarget,
  options: CallOptions,
): Promise<ModelTurn> {
  const fitted = fitRequest(request, target, options.declared);
  const { admit, intercept } = options;
  const ask = (attempt: Attempt): Promise<Outcome> | Outcome => {
    switch (target.protocol) {
      case "mock": {
        const { provider, model } = target;
        const manner = { asker: "demo" as const, seen: false };
        return { ok: true, turn: defaultTurn(fitted.request, { provider, model }, manner, attempt.sink) };
      }
      case "workers-ai":
        return askBinding(fitted.request, target, options.ai, attempt);
      default:
        return askProvider(fitted.request, target, { ...attempt, fetch: options.fetch });
    }
  };
  const make =
    intercept === undefined
      ? ask
      : async (attempt: Attempt) => (await intercept.call(fitted.request, target, attempt)) ?? ask(attempt);
  const call = (attempts: AttemptOptions): Promise<ModelTurn> => withAttempts(target, attempts, make);
  const turn =
    admit === undefined
      ? await call(options)
      : await withAdmission(fitted.request, target, { ...options, admit }, call);
  if (fitted.warnings.length === 0) return turn;
  return { ...turn, warnings: [...fitted.warnings, ...(turn.warnings ?? [])] };
}

async function askProvider(
  request: ModelRequest,
  target: HttpTarget,
  options: ExchangeOptions,
): Promise<Outcome> {
  const completed = await exchangeCompletion(request, target, options);
  return completed ?? exchange(request, WIRES[target.protocol], target, options);
}
