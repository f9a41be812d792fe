/** One model call to one target. */
import type { ModelRequest, ModelTurn } from "../engine/messages.ts";
import { type Admit, withAdmission } from "./admission.ts";
import { anthropic } from "./anthropic.ts";
import { type Attempt, type AttemptOptions, type Intercept, withAttempts } from "./attempts.ts";
import { exchangeCompletion } from "./completion.ts";
import { exchange, type Outcome } from "./exchange.ts";
import { type Declared, fitRequest } from "./fit.ts";
import { defaultTurn } from "./mock/default.ts";
import { ollama } from "./ollama.ts";
import { openAiChat } from "./openai-chat.ts";
import { openAiResponses } from "./openai-responses.ts";
import type { HttpProtocol } from "./protocols.ts";
import type { ResolvedTarget } from "./providers.ts";
import type { Wire } from "./wire.ts";
import { type AiBinding, askBinding } from "./workers-ai.ts";

export const WIRES: Record<HttpProtocol, Wire> = {
  anthropic,
  "openai-chat": openAiChat,
  "openai-responses": openAiResponses,
  ollama,
};

export interface CallOptions extends AttemptOptions {
  /** Capabilities that the call needs, whatever its messages contain. */
  declared?: Declared | undefined;
  /** Runs the call in a span. Absent: there is no span. */
  traced?:
    | ((request: ModelRequest, target: ResolvedTarget, call: () => Promise<ModelTurn>) => Promise<ModelTurn>)
    | undefined;
  /** Asked before each attempt. Absent: only the provider `mock` is mocked, and answers as for a demo. */
  intercept?: Intercept | undefined;
  fetch: typeof fetch;
  /** The Workers AI binding, if the deployment has one. */
  ai?: AiBinding | undefined;
  /** Admits calls. Absent: calls are not accounted. */
  admit?: Admit | undefined;
}

/**
 * Calls a model: fits the request to the target, and makes as many attempts as `retry` allows. The wait that `admit`
 * imposes before the first attempt counts only against the deadline.
 * @returns the turn, with warnings about parts that the provider did not get as requested
 * @throws ModelLacks for what the model is known not to support; errors of `admit`; otherwise as `withAttempts`
 */
export function callModel(
  asked: ModelRequest,
  target: ResolvedTarget,
  options: CallOptions,
): Promise<ModelTurn> {
  const { traced, admit, declared } = options;
  const call = async (): Promise<ModelTurn> => {
    const { request, warnings } = fitRequest(asked, target, declared);
    const attempts = (allowed: AttemptOptions) =>
      withAttempts(target, allowed, (attempt) => ask(request, target, attempt, options));
    const turn = await (admit === undefined
      ? attempts(options)
      : withAdmission(request, target, { ...options, admit }, attempts));
    return warnings.length === 0 ? turn : { ...turn, warnings: [...warnings, ...(turn.warnings ?? [])] };
  };
  return traced === undefined ? call() : traced(asked, target, call);
}

async function ask(
  request: ModelRequest,
  target: ResolvedTarget,
  attempt: Attempt,
  { intercept, ai, fetch }: CallOptions,
): Promise<Outcome> {
  const mocked = await intercept?.(request, target, attempt);
  if (mocked) return mocked;
  switch (target.protocol) {
    case "mock": {
      const { provider, model } = target;
      const manner = { asker: "demo" as const, seen: false };
      return { ok: true, turn: defaultTurn(request, { provider, model }, manner, attempt.sink) };
    }
    case "workers-ai":
      return askBinding(request, target, ai, attempt);
    default: {
      const exchanged = { ...attempt, fetch };
      const completed = await exchangeCompletion(request, target, exchanged);
      return completed ?? exchange(request, WIRES[target.protocol], target, exchanged);
    }
  }
}
