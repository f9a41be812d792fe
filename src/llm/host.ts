/** What a model call needs of the place that makes it. */
import type { ModelRequest, ModelTurn, Sampling, Usage, Warning } from "../engine/messages.ts";
import type { SearchDelegate } from "../engine/tool-vault/search.ts";
import type { Capabilities } from "../model/capabilities.ts";
import type { ResolvedTarget } from "../model/providers.ts";
import type { Json, JsonObject, ModelTarget } from "../skill/manifest.ts";
import type { CallFigures } from "./result.ts";

/** Who is told of an answer while it comes. */
export interface CallWatcher {
  /** The request is sound; from now on a provider is asked. */
  onAdmitted?: () => void;
  onText?: (text: string) => void;
  onReasoning?: (text: string) => void;
  /** A further attempt begins: what was told of the one before is void. @param round its number from now on */
  onRestart?: (round: number) => void;
}

/** What is asked of the choice of a model. */
export interface ModelWish {
  provider?: string;
  model?: string;
  model_tier?: string;
  route_policy?: string | { mode: string; target?: string };
}

/** The model that was chosen. */
export interface ModelChoice {
  target: ModelTarget;
  /** Native where the model takes tool definitions, else in text. */
  tool_format: "native" | "text";
  capabilities: Capabilities;
  /** Tokens; `null`: unknown. */
  context_window: number | null;
  /** Sampling parameters and limits that the configuration gives this model. */
  defaults: Sampling & { max_tokens?: number };
  warnings: Warning[];
  /** The decision and its alternatives, where a route policy was asked for. */
  routing: JsonObject | null;
}

/** The option `budget`. */
export interface CallBudget {
  max_cost_usd?: number;
  total_budget_usd?: number;
  max_input_tokens?: number;
  max_output_tokens?: number;
}

/** One model call with retries, and further providers where it fails. */
export interface ExchangeOptions {
  targets: readonly ModelTarget[];
  request: (target: ModelTarget) => ModelRequest;
  /** Aborted when the call is not wanted any more. Absent: with whoever asked for the host. */
  signal?: AbortSignal;
  /** What each provider is to get besides, by name. */
  own: Readonly<Record<string, JsonObject>>;
  /** Whether the provider itself searches tools. */
  native_search: boolean;
  /** What the call may cost; `null`: no limit of its own. */
  budget: CallBudget | null;
  /** The option `max_tokens`; `null`: not given. */
  max_tokens_given: number | null;
  /** What the call declares that it needs of the model. */
  declared: { vision: boolean; audio: boolean; pdf: boolean };
  /** `null`: as served skills are, at most three attempts, whatever `backoff_ms`. */
  retries: number | null;
  backoff_ms: number;
  timeout_ms: number;
  idle_timeout_ms: number | null;
  stream: boolean;
  /** Unix ms after which no attempt begins. Absent: none. */
  deadline_at?: number | undefined;
  /** A call has its leave; what fails before is no fault of the answer. */
  onAdmitted?: (() => void) | undefined;
  onText?: ((text: string) => void) | undefined;
  onReasoning?: ((text: string) => void) | undefined;
  /** Events of a request that goes out verbatim, as the provider sent them. */
  onEvent?: ((event: JsonObject) => void) | undefined;
}

/** What is known of a target before it is asked. */
export interface Reached {
  model: string;
  protocol: ResolvedTarget["protocol"];
  capabilities: Capabilities;
}

export interface LlmHost {
  /** @throws HullError where nothing can be chosen */
  choose(wish: ModelWish): ModelChoice;
  isProvider(name: string): boolean;
  /** How a target is reached. @throws HullError where it is not configured */
  reach(target: ModelTarget): Reached;
  /**
   * The turn, and which of the targets answered.
   * @throws HullError: those of `errors/provider.ts`, budgets, and the reason of the signal's abort
   */
  exchange(options: ExchangeOptions): Promise<{ turn: ModelTurn; index: number }>;
  /** Cost and cache figures of a turn's usage. */
  figures(turn: { provider: string; model: string; usage: Usage }): CallFigures;
  /** Reads a setting, e.g. `HULL_LLM_TIMEOUT`. */
  setting(name: string): string | undefined;
  /** The host's own tool search; absent: none is configured. */
  searchDelegate?: SearchDelegate | undefined;
  /** Whether a call used a soft budget up. */
  readonly budgetExceeded: boolean;
  /** Further members of the result. */
  further(): Record<string, unknown>;
  /** What is left of the option `mock`, as it may be given again; `null`: it was not given. */
  mocksLeft(): Json | null;
  /** Version 7 UUIDs. */
  ids: () => string;
  /** Facts for the log, redacted there. */
  log(entry: Record<string, unknown>): void;
}
