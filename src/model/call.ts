/** One model call to one target. */
import type { ModelRequest, ModelTurn } from "../engine/messages.ts";
import { type Admit, withAdmission } from "./admission.ts";
import { anthropic } from "./anthropic.ts";
import { type Attempt, type AttemptOptions, type Intercept, withAttempts } from "./attempts.ts";
import { exchangeCompletion } from "./completion.ts";
import { type ExchangeOptions, exchange, type Outcome } from "./exchange.ts";
import { type Declared, fitRequest } from "./fit.ts";
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

/** A call to one target, as changed by the previous steps. */
interface TargetCall {
  request: ModelRequest;
  target: ResolvedTarget;
  options: CallOptions;
}

type Call = (call: TargetCall) => Promise<ModelTurn>;
/** @param next the steps that follow */
type Step = (call: TargetCall, next: Call) => Promise<ModelTurn>;

/** The steps of a call to a target before its attempts, in order. */
const STEPS: readonly Step[] = [traced, fitted, admitted];
const through = STEPS.reduceRight<Call>((next, step) => (call) => step(call, next), attempted);

/**
 * Calls a model: fits the request to the target, and makes as many attempts as `retry` allows. The wait that `admit`
 * imposes before the first attempt counts only against the deadline.
 * @returns the turn, with warnings about parts that the provider did not get as requested
 * @throws ModelLacks for what the model is known not to support; errors of `admit`; otherwise as `withAttempts`
 */
export const callModel = (
  request: ModelRequest,
  target: ResolvedTarget,
  options: CallOptions,
): Promise<ModelTurn> => through({ request, target, options });

function traced(call: TargetCall, next: Call): Promise<ModelTurn> {
  const { request, target, options } = call;
  return options.traced === undefined ? next(call) : options.traced(request, target, () => next(call));
}

async function fitted(call: TargetCall, next: Call): Promise<ModelTurn> {
  const { request, warnings } = fitRequest(call.request, call.target, call.options.declared);
  const turn = await next({ ...call, request });
  return warnings.length === 0 ? turn : { ...turn, warnings: [...warnings, ...(turn.warnings ?? [])] };
}

function admitted(call: TargetCall, next: Call): Promise<ModelTurn> {
  const { request, target, options } = call;
  const { admit } = options;
  if (admit === undefined) return next(call);
  return withAdmission(request, target, { ...options, admit }, (allowed) =>
    next({ ...call, options: { ...options, ...allowed } }),
  );
}

function attempted({ request, target, options }: TargetCall): Promise<ModelTurn> {
  const { intercept } = options;
  const ask = (attempt: Attempt): Promise<Outcome> | Outcome => {
    switch (target.protocol) {
      case "mock": {
        const { provider, model } = target;
        const manner = { asker: "demo" as const, seen: false };
        return { ok: true, turn: defaultTurn(request, { provider, model }, manner, attempt.sink) };
      }
      case "workers-ai":
        return askBinding(request, target, options.ai, attempt);
      default:
        return askProvider(request, target, { ...attempt, fetch: options.fetch });
    }
  };
  const make =
    intercept === undefined
      ? ask
      : async (attempt: Attempt) => (await intercept.call(request, target, attempt)) ?? ask(attempt);
  return withAttempts(target, options, make);
}

async function askProvider(
  request: ModelRequest,
  target: HttpTarget,
  options: ExchangeOptions,
): Promise<Outcome> {
  const completed = await exchangeCompletion(request, target, options);
  return completed ?? exchange(request, WIRES[target.protocol], target, options);
}
