/** From what a call is asked to what is to be done: options read, model chosen, conversation laid out. */

import type { Fault } from "../engine/fault.ts";
import type {
  Message,
  ModelRequest,
  Sampling,
  ToolChoice,
  ToolDefinition,
  Warning,
} from "../engine/messages.ts";
import { textToolContract } from "../engine/text-tools/contract.ts";
import { asTextFormat } from "../engine/text-tools/conversation.ts";
import { readSearchOption } from "../engine/tool-vault/option.ts";
import type { VaultState } from "../engine/tool-vault/promotion.ts";
import { createVault, offer, stubListing, type Vault } from "../engine/tool-vault/vault.ts";
import { readTools, type Tool } from "../engine/tools.ts";
import { InvalidRequest } from "../errors/llm.ts";
import { InputInvalid } from "../errors/request.ts";
import type { JsonObject, ModelTarget } from "../skill/manifest.ts";
import type { ExchangeOptions, LlmHost, ModelChoice } from "./host.ts";
import { readMessages } from "./messages.ts";
import { type CallOptions, readOptions } from "./options.ts";
import { notOneOf, readStructured, type Structured } from "./structured.ts";
import { readEffort, readThinking } from "./thinking.ts";
import { emptyTranscript, type Transcript, withMessages } from "./transcript.ts";

export interface CallInput {
  prompt: string | null;
  system: string | null;
  options: JsonObject;
  /** The same question for a provider that completes texts without a conversation. */
  completion?: ModelRequest["completion"];
}

export interface Plan {
  options: CallOptions;
  choice: ModelChoice;
  /** The chosen target, then those of `fallback_chain`. */
  targets: ModelTarget[];
  system: string;
  messages: Message[];
  /** As the caller defined them; the vault says which of them a request offers. */
  tools: Tool[];
  vault: Vault;
  /** The same vault where the provider refuses its own search; `null`: it searches as it is. */
  clientVault: () => Vault | null;
  tool_format: "native" | "text";
  structured: Structured | null;
  /** With the messages of this call. */
  transcript: Transcript;
  warnings: Warning[];
  /** What each provider is to get besides, by name. */
  own: Record<string, JsonObject>;
  completion: ModelRequest["completion"];
}

const DEFAULT_MAX_TOKENS = 16_384;

/** @throws InputInvalid with a path per finding, InvalidRequest, CallNotFound, those of the choice of a model */
export function prepareCall(input: CallInput, host: LlmHost): Plan {
  const read = readOptions(input.options, (name) => host.isProvider(name));
  if ("faults" in read) {
    throw new InputInvalid({
      reason: read.faults.map(({ message }) => message).join("; "),
      errors: read.faults,
    });
  }
  const { options, own } = read;
  checkConflicts(options);
  const structured = readStructured(options);
  const choice = host.choose(pick(options, ["provider", "model", "model_tier", "route_policy"]));
  const { system, history, added } = conversation(input, options);
  if (history.length + added.length === 0) {
    throw new InvalidRequest({
      option: "prompt",
      detail: "There is nothing to answer: give a prompt or messages.",
    });
  }
  const tool_format = options.tool_format ?? choice.tool_format;
  const tools = toolsOf(options);
  const makeVault = (refused: boolean) => vaultOf(tools, options, choice, tool_format, own, refused);
  const vault = makeVault(false);
  const transcript = withMessages(options.transcript ?? emptyTranscript(host.ids()), added, host.ids);
  return {
    options,
    choice,
    targets: [choice.target, ...fallbacks(options, choice, host)],
    system,
    messages: [...history, ...added],
    tools,
    vault,
    clientVault: () => (vault.mode === "native" ? makeVault(true) : null),
    tool_format,
    structured,
    transcript,
    warnings: [...choice.warnings, ...vault.warnings, ...tooManyTools(tools, choice)],
    own,
    // An answer that must be JSON, or may be a tool call, needs the conversation.
    completion: structured === null && tools.length === 0 ? input.completion : undefined,
  };
}

/** Every fault of a body, as one error. */
export const refused = (errors: readonly Fault[]) =>
  new InputInvalid({ reason: errors.map(({ message }) => message).join("; "), errors: [...errors] });

/** The same for faults whose messages say only what is wrong, not of what. */
export const refusedAt = (errors: readonly Fault[]) =>
  new InputInvalid({
    reason: errors.map(({ path, message }) => `${path} ${message}`).join("; "),
    errors: [...errors],
  });

function toolsOf({ tools: given }: CallOptions): Tool[] {
  if (given === undefined) return [];
  const read = readTools(given, { path: "options.tools", commands: false });
  if ("faults" in read) throw refused(read.faults);
  return read.tools;
}

function vaultOf(
  tools: readonly Tool[],
  options: CallOptions,
  { target, capabilities }: ModelChoice,
  tool_format: "native" | "text",
  own: Record<string, JsonObject>,
  wasRefused: boolean,
): Vault {
  const option = readSearchOption(options.tool_search);
  if (option !== null && "faults" in option) {
    const [first] = option.faults;
    throw new InvalidRequest({ option: first?.path ?? "tool_search", detail: first?.message ?? "" });
  }
  const { defer_loading, tool_search } = capabilities;
  const forced = own[target.provider]?.force_native_tool_search === true;
  const model = target.model ?? "";
  const search = { provider: target.provider, model, defer_loading, tool_search, tool_format, forced };
  const vault = createVault(tools, option, { ...search, refused: wasRefused });
  if ("refusal" in vault) throw new InvalidRequest(vault.refusal);
  return vault;
}

/** A warning where the model takes fewer tools than there are. */
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

interface Laid {
  system: string;
  /** What was said before this call. */
  history: Message[];
  /** What this call adds. */
  added: Message[];
}

/** `messages` replaces the prompt; a transcript's own messages come before either. */
function conversation({ prompt, system }: CallInput, options: CallOptions): Laid {
  const before = readMessages(options.transcript?.messages ?? [], "options.transcript.messages");
  const given = options.messages;
  const now =
    given === undefined
      ? { system: [], messages: prompt === null ? [] : [userText(prompt)] }
      : readMessages(given, "options.messages");
  const texts = [system ?? "", ...before.system, ...now.system].filter((text) => text.trim() !== "");
  return { system: texts.join("\n\n"), history: before.messages, added: now.messages };
}

const userText = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });

/** The targets of `fallback_chain`. @throws InvalidRequest for a name that is no provider */
export function fallbacks(options: CallOptions, { target }: ModelChoice, host: LlmHost): ModelTarget[] {
  const given = options.fallback_chain ?? [];
  const names = (typeof given === "string" ? given.split(",") : given).map((name) => name.trim());
  return names
    .filter((name) => name !== "")
    .map((provider) => {
      if (host.isProvider(provider)) return { provider, model: target.model };
      throw new InvalidRequest({
        option: "fallback_chain",
        detail: `fallback_chain names "${provider}", which is no provider; GET /llm/providers lists them.`,
      });
    });
}

/** What changes from round to round of one call. */
export interface RoundState {
  vault: Vault;
  state: VaultState;
  /** What was added to the conversation since the call began. */
  further: readonly Message[];
  /** A further user message, where the answer before it would not do. */
  correction: string | null;
}

/** The request of one round for one target. */
export function requestFor(plan: Plan, target: ModelTarget, round: RoundState): ModelRequest {
  const { options, choice, structured } = plan;
  const { vault, state, further, correction } = round;
  const chosen = typeof options.tool_choice === "object" ? options.tool_choice.name : undefined;
  const offered = offer(vault, state, { chosen });
  const text = plan.tool_format === "text" && offered.tools.length > 0;
  const asked = correction === null ? plan.messages : [...plan.messages, userText(correction)];
  const messages = [...asked, ...further];
  return {
    ...settingsFor({ options, choice, structured, own: plan.own }, target),
    system: systemOf(plan, vault, offered.tools),
    messages: text ? asTextFormat(messages) : messages,
    tools: text ? [] : offered.tools,
    ...(text ? { tools_in_text: offered.tools } : {}),
    tool_choice: text ? "auto" : (toolChoice(options) ?? "auto"),
    ...(offered.tool_search === undefined ? {} : { tool_search: offered.tool_search }),
    ...(options.prefill === undefined ? {} : { prefill: options.prefill }),
    ...(plan.completion === undefined ? {} : { completion: plan.completion }),
  };
}

const DEFAULT_TIMEOUT_S = 120;
const OFF = new Set(["0", "false"]);

type ExchangeTerms = Pick<
  ExchangeOptions,
  | "declared"
  | "retries"
  | "backoff_ms"
  | "timeout_ms"
  | "idle_timeout_ms"
  | "stream"
  | "budget"
  | "max_tokens_given"
>;

/** How often and how long a provider is asked, by the options and the deployment's variables. */
export function exchangeTerms(options: CallOptions, host: LlmHost): ExchangeTerms {
  const { vision = false, audio = false, pdf = false, timeout_ms, idle_timeout_ms = null } = options;
  const seconds = positive(host.setting("HULL_LLM_TIMEOUT")) ?? DEFAULT_TIMEOUT_S;
  return {
    declared: { vision, audio, pdf },
    retries: options.llm_retries ?? 2,
    backoff_ms: options.llm_backoff_ms ?? 2000,
    timeout_ms: timeout_ms ?? seconds * 1000,
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

/** What the options say of every request of a call or run, conversation and tools aside. */
export type RequestSettings = Omit<
  ModelRequest,
  "system" | "messages" | "tools" | "tool_choice" | "tool_search" | "prefill"
>;

export function settingsFor(
  { options, choice, structured, own: given }: Pick<Plan, "options" | "choice" | "structured" | "own">,
  target: ModelTarget,
): RequestSettings {
  const thinking = readThinking(options.thinking) ?? readEffort(options.reasoning_effort);
  const sampling = samplingOf(options, choice.defaults);
  const own = ownOf(given, target.provider);
  return {
    max_tokens: maxTokens(options, choice),
    json: structured !== null,
    ...(structured?.wire ? { schema: structured.wire } : {}),
    ...(Object.keys(sampling).length === 0 ? {} : { sampling }),
    ...(thinking === null ? {} : { thinking }),
    ...(options.interleaved_thinking === undefined
      ? {}
      : { interleaved_thinking: options.interleaved_thinking }),
    ...(options.anthropic_beta_features === undefined
      ? {}
      : { beta_features: options.anthropic_beta_features }),
    ...(options.cache === true ? { cache: true } : {}),
    ...(own === null ? {} : { extra: own }),
  };
}

/** The caller's text, and how tools are called where the model has no channel of its own for them. */
function systemOf(plan: Plan, vault: Vault, tools: readonly ToolDefinition[]): string {
  const stubs = stubListing(vault);
  const further = stubs === null ? [] : [stubs];
  const { tool_examples: examples } = plan.options;
  const contract =
    plan.tool_format === "text" && tools.length > 0
      ? [textToolContract(tools, { ...(examples === undefined ? {} : { examples }), further })]
      : further;
  return [plan.system, ...contract].filter((part) => part !== "").join("\n\n");
}

/** Without an explicit `max_tokens`, the budget's limit of output tokens is the request's. */
function maxTokens(options: CallOptions, { defaults }: ModelChoice): number {
  return options.max_tokens ?? options.budget?.max_output_tokens ?? defaults.max_tokens ?? DEFAULT_MAX_TOKENS;
}

/** A tool choice by name is sent as it is; the others are words. */
function toolChoice({ tool_choice }: CallOptions): ToolChoice | null {
  if (tool_choice === undefined) return null;
  if (typeof tool_choice === "object") return tool_choice;
  return tool_choice === "none" || tool_choice === "required" ? tool_choice : "auto";
}

/** Explicit options win over what the configuration gives the model; an empty `stop` counts as unset. */
function samplingOf(options: CallOptions, defaults: Sampling): Sampling {
  const { stop: given, ...own } = pick(options, [
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "stop",
  ]);
  const { temperature, top_p, top_k, seed, frequency_penalty, presence_penalty } = defaults;
  const configured = { temperature, top_p, top_k, seed, frequency_penalty, presence_penalty };
  const known = Object.fromEntries(Object.entries(configured).filter(([, value]) => value !== undefined));
  const stop =
    (typeof given === "string" ? [given] : given)?.filter((word) => word !== "") ?? defaults.stop ?? [];
  return { ...known, ...own, ...(stop.length === 0 ? {} : { stop }) };
}

/** What Hull itself takes out of a provider's own part. */
const CONSUMED = new Set(["force_native_tool_search", "api"]);

function ownOf(own: Plan["own"], provider: string): JsonObject | null {
  const given = own[provider];
  if (given === undefined) return null;
  const rest = Object.entries(given).filter(([name]) => !CONSUMED.has(name));
  return rest.length === 0 ? null : Object.fromEntries(rest);
}

function pick<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> {
  const entries = keys.filter((key) => from[key] !== undefined).map((key) => [key, from[key]]);
  return Object.fromEntries(entries);
}
