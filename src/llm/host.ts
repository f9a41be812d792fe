/** What a model call needs from its surroundings. */
import type { ModelRequest, ModelTurn, Warning } from "../engine/messages.ts";
import type { BudgetOption } from "../model/budget-option.ts";
import type { Capabilities } from "../model/capabilities.ts";
import type { FallbackOptions } from "../model/fallback.ts";
import type { MockCall } from "../model/mock/mock.ts";
import type { ResolvedTarget } from "../model/providers.ts";
import type { ProviderDefinition } from "../model/registry/definition.ts";
import type { ModelDefaults } from "../model/registry/layer.ts";
import type { ModelWish } from "../model/registry/resolve.ts";
import type { RoutePolicy } from "../model/registry/route.ts";
import type { Json, JsonObject, ModelTarget } from "../skill/manifest.ts";
import type { CallExtras, CallFigures } from "./result.ts";

/** Receives an answer while it comes. */
export interface CallWatcher {
  /** Called when the request is valid, just before Hull asks a provider. */
  onAdmitted?: (() => void) | undefined;
  onText?: ((text: string) => void) | undefined;
  onReasoning?: ((text: string) => void) | undefined;
  /** A further attempt begins: what was sent of the previous one is void. @param round its new number */
  onRestart?: ((round: number) => void) | undefined;
  /** Called with what each answered exchange took. */
  onFigures?: ((figures: CallFigures) => void) | undefined;
}

/** The criteria for the choice of a model. */
interface ModelSelector extends ModelWish {
  route_policy?: RoutePolicy;
}

/** The model that was chosen. */
export interface ModelChoice {
  target: ModelTarget;
  /** Native if the model takes tool definitions, else in text. */
  tool_format: "native" | "text";
  capabilities: Capabilities;
  /** Tokens; `null`: unknown. */
  context_window: number | null;
  /** Sampling parameters that the configuration sets for this model. */
  defaults: ModelDefaults;
  warnings: Warning[];
  /** The decision and its alternatives, if the request has a route policy. */
  routing: JsonObject | null;
}

/** One model call with retries, and further providers if it fails. */
export interface ExchangeOptions
  extends Pick<
    FallbackOptions,
    | "declared"
    | "timeout_ms"
    | "whole"
    | "idle_timeout_ms"
    | "stream"
    | "deadline_at"
    | "onFailed"
    | "onText"
    | "onReasoning"
    | "onRestart"
    | "onEvent"
  > {
  targets: readonly ModelTarget[];
  request: (target: ModelTarget) => ModelRequest;
  /** Aborted when the call is not wanted any more. Absent: the host's own signal. */
  signal?: AbortSignal;
  /** Additional options for each provider, by its name. */
  own: Readonly<Record<string, JsonObject>>;
  /** Whether the provider itself searches tools. */
  native_search: boolean;
  /** Text that Hull appends to a JSON answer that the model gave by calling Hull's JSON tool. Absent: none. */
  json_suffix?: string;
  /** What the call may cost; `null`: no limit of its own. */
  budget: BudgetOption | null;
  /** The option `max_tokens`; `null`: not given. */
  max_tokens_given: number | null;
  /** `null`: at most three attempts, as in served skills, whatever `backoff_ms`. */
  retries: number | null;
  backoff_ms: number;
  /** Called when the call is admitted. Errors before that are not faults of the answer. */
  onAdmitted?: (() => void) | undefined;
  /** Awaited before each attempt, when it is its turn: if it fails, the attempt is not made. */
  beforeAttempt?: (() => Promise<void>) | undefined;
}

/** What is known about a target before Hull asks it. */
export type Reached = Pick<ResolvedTarget, "model" | "protocol" | "capabilities">;

/** An answer. Usage and cost include empty answers before it, also those of a target that failed. */
export interface Exchanged {
  turn: ModelTurn;
  figures: CallFigures;
}

export interface LlmHost {
  /** @throws HullError if nothing can be chosen */
  choose(selector: ModelSelector): ModelChoice;
  /** What the deployment says of a provider; variables do not replace it. `undefined`: there is no such provider. */
  definition(provider: string): ProviderDefinition | undefined;
  /** How to reach a target. @throws HullError if it is not configured */
  reach(target: ModelTarget): Reached;
  /**
   * Asks the targets in turn until one answers.
   * @throws HullError: those of `errors/provider.ts`, budgets, and the reason of the signal's abort
   */
  exchange(options: ExchangeOptions): Promise<Exchanged>;
  /** Reads a setting, e.g. `HULL_LLM_TIMEOUT`. */
  setting(name: string): string | undefined;
  /** Whether a call used up a soft budget. */
  readonly budgetExceeded: boolean;
  /** Further members of the result. @param earlier requests that earlier run attempts made to mocks */
  further(earlier?: () => readonly MockCall[]): CallExtras;
  /** The unused answers of the option `mock`, in a form that can be given again; `null`: it was not given. */
  mocksLeft(): Json | null;
  /** Version 7 UUIDs. */
  ids: () => string;
  /** Writes facts to the log, which redacts them. */
  log(entry: Record<string, unknown>): void;
}
