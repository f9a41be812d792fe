/** Turns the request of a call into what Hull must do: reads options, chooses the model, lays out the conversation. */

import type { Fault } from "../engine/fault.ts";
import type { Message, ModelRequest, Sampling, Warning } from "../engine/messages.ts";
import { readTools, type Tool } from "../engine/tools.ts";
import { InvalidRequest } from "../errors/llm.ts";
import { InputInvalid } from "../errors/request.ts";
import type { HullError } from "../errors.ts";
import { present } from "../skill/json.ts";
import type { JsonObject, ModelTarget } from "../skill/manifest.ts";
import type { ExchangeOptions, LlmHost, ModelChoice } from "./host.ts";
import { readMessages } from "./messages.ts";
import { CALL_DEFAULTS, type CallOptions } from "./options.ts";
import { notOneOf, type Structured } from "./structured.ts";
import { readThinking } from "./thinking.ts";
import { transcriptHistory } from "./transcript-history.ts";

export interface CallInput {
  prompt: string | null;
  system: string | null;
  options: JsonObject;
  /** The same question for a provider that completes texts without a conversation. */
  completion?: ModelRequest["completion"];
  /** Models whose providers have refused to search tools in this session. Absent: none. */
  refused_searches?: string[];
}

/** All faults of a body, as one error. */
export const refused = (errors: readonly Fault[]) =>
  new InputInvalid({ reason: errors.map(({ message }) => message).join("; "), errors: [...errors] });

/** The same for one option. @param what is wrong with it */
export const refusedOption = (name: string, what: string) =>
  refused([{ path: `options.${name}`, message: `options.${name}: ${what}` }]);

/** The same for faults whose messages do not name the faulty part. */
export const refusedAt = (errors: readonly Fault[]) =>
  new InputInvalid({
    reason: errors.map(({ path, message }) => `${path} ${message}`).join("; "),
    errors: [...errors],
  });

/** @throws InputInvalid with a path per finding */
export function givenTools({ tools = [] }: CallOptions): Tool[] {
  const read = readTools(tools);
  if ("faults" in read) throw refused(read.faults);
  return read.tools;
}

/** A warning if the model takes fewer tools than there are. */
export function tooManyTools(tools: readonly unknown[], { target, capabilities }: ModelChoice): Warning[] {
  const limit = capabilities.max_tools;
  if (limit === null || tools.length <= limit) return [];
  const message = `The call has ${tools.length} tools; ${target.model} of ${target.provider} takes at most ${limit}.`;
  return [{ code: "too_many_tools", option: "tools", message }];
}

export function checkConflicts(options: CallOptions): void {
  const refuse = (option: string, detail: string) => new InvalidRequest({ option, detail });
  if (options.reasoning_effort !== undefined && readThinking(options.thinking) !== null) {
    throw refuse("reasoning_effort", "reasoning_effort and thinking exclude each other.");
  }
  if (options.session_id !== undefined && options.transcript !== undefined) {
    throw refuse("session_id", "session_id and transcript exclude each other.");
  }
  const choice = options.tool_choice;
  if (typeof choice === "string" && !CHOICES.includes(choice)) throw notOneOf("tool_choice", CHOICES, choice);
}

const CHOICES = ["auto", "none", "required"];

/** The beginning of a call or run. `messages` replaces the prompt; a transcript's own messages precede either. */
export function conversation(
  { prompt, system }: Pick<CallInput, "prompt" | "system">,
  options: CallOptions,
): { system: string; history: Message[]; added: Message[] } {
  const { transcript } = options;
  const before =
    transcript === undefined
      ? { system: [], messages: [] }
      : transcriptHistory(transcript, "options.transcript");
  const given = options.messages;
  const now =
    given === undefined
      ? { system: [], messages: prompt === null ? [] : [userText(prompt)] }
      : readMessages(given, "options.messages");
  const texts = [system ?? "", ...before.system, ...now.system].filter((text) => text.trim() !== "");
  return { system: texts.join("\n\n"), history: before.messages, added: now.messages };
}

/** The error of a call or run without any message, which no provider accepts. */
export function nothingToAnswer(): HullError {
  const detail = "There is nothing to answer: give a prompt or messages.";
  return new InvalidRequest({ option: "prompt", detail });
}

const userText = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });

/**
 * The targets of `fallback_chain`, else the fallback of the provider's definition, if the deployment has it.
 * @throws InvalidRequest if a name is not a provider
 */
export function fallbacks(options: CallOptions, { target }: ModelChoice, host: LlmHost): ModelTarget[] {
  const { fallback } = host.definition(target.provider) ?? {};
  const usual = fallback === undefined || host.definition(fallback) === undefined ? [] : [fallback];
  const given = options.fallback_chain ?? usual;
  const names = (typeof given === "string" ? given.split(",") : given).map((name) => name.trim());
  return names
    .filter((name) => name !== "")
    .map((provider) => {
      if (host.definition(provider) !== undefined) return { provider, model: target.model };
      throw new InvalidRequest({
        option: "fallback_chain",
        detail: `fallback_chain names "${provider}", which is not a provider; GET /llm/providers lists them.`,
      });
    });
}

export const DEFAULT_TIMEOUT_S = 120;
const OFF = new Set(["0", "false"]);

type ExchangeTerms = Pick<
  ExchangeOptions,
  | "declared"
  | "retries"
  | "backoff_ms"
  | "timeout_ms"
  | "whole"
  | "idle_timeout_ms"
  | "stream"
  | "budget"
  | "max_tokens_given"
>;

/**
 * How often and how long Hull asks a provider, according to the options, the provider's definition and the deployment's
 * variables.
 * @param targets the first one's definition counts
 */
export function exchangeTerms(
  options: CallOptions,
  host: LlmHost,
  [first]: readonly ModelTarget[],
): ExchangeTerms {
  const definition = first && host.definition(first.provider);
  const { retry_count = 2, retry_delay_ms = CALL_DEFAULTS.llm_backoff_ms } = definition ?? {};
  const { vision = false, audio = false, pdf = false, timeout_ms, idle_timeout_ms } = options;
  const seconds = positive(host.setting("HULL_LLM_TIMEOUT"));
  return {
    declared: { vision, audio, pdf },
    retries: options.llm_retries ?? retry_count,
    backoff_ms: options.llm_backoff_ms ?? retry_delay_ms,
    timeout_ms: timeout_ms ?? (seconds ?? DEFAULT_TIMEOUT_S) * 1000,
    // The default is less than an answer of the default length takes at the speed of a large model.
    whole: timeout_ms !== undefined || seconds !== undefined,
    idle_timeout_ms,
    stream: options.stream ?? !OFF.has(host.setting("HULL_LLM_STREAM") ?? ""),
    budget: options.budget ?? null,
    max_tokens_given: options.max_tokens ?? null,
  };
}

function positive(text: string | undefined): number | undefined {
  const value = Number(text);
  return text !== undefined && Number.isFinite(value) && value > 0 ? value : undefined;
}

/** What the options put into every request of a call or run, except conversation and tools. */
export type RequestSettings = Omit<
  ModelRequest,
  "system" | "messages" | "tools" | "tool_choice" | "tool_search" | "prefill"
>;

/** @param own additional options for each provider, by its name */
export function settingsFor(
  {
    options,
    choice,
    structured,
    own: given,
  }: {
    options: CallOptions;
    choice: ModelChoice;
    structured: Structured | null;
    own: Record<string, JsonObject>;
  },
  target: ModelTarget,
): RequestSettings {
  const sampling = samplingOf(options, choice.defaults);
  return {
    // Without an explicit limit, that of the budget applies.
    max_tokens: options.max_tokens ?? options.budget?.max_output_tokens ?? CALL_DEFAULTS.max_tokens,
    json: structured !== null,
    ...(Object.keys(sampling).length === 0 ? {} : { sampling }),
    ...(options.cache === true ? { cache: true } : {}),
    ...present({
      schema: structured?.wire,
      thinking: readThinking(options.thinking) ?? readThinking(options.reasoning_effort),
      interleaved_thinking: options.interleaved_thinking,
      beta_features: options.anthropic_beta_features,
      extra: ownOf(given, target.provider),
    }),
  };
}

/** Explicit options win over the model's configuration; an empty `stop` counts as unset. */
function samplingOf(options: CallOptions, defaults: ModelChoice["defaults"]): Sampling {
  const { temperature, top_p, top_k, seed, frequency_penalty, presence_penalty } = {
    ...defaults,
    ...options,
  };
  const stop = [options.stop ?? []].flat().filter((word) => word !== "");
  return present({ temperature, top_p, top_k, seed, frequency_penalty, presence_penalty, stop });
}

/** The members of a provider's own part that Hull itself uses. */
const CONSUMED = new Set(["force_native_tool_search", "api"]);

function ownOf(own: Record<string, JsonObject>, provider: string): JsonObject | null {
  const given = own[provider];
  if (given === undefined) return null;
  const rest = Object.entries(given).filter(([name]) => !CONSUMED.has(name));
  return rest.length === 0 ? null : Object.fromEntries(rest);
}
