/** What a model call needs of the place that makes it. */
import type { ModelRequest, ModelTurn, Sampling, Usage, Warning } from "../engine/messages.ts";
import type { Capabilities } from "../model/capabilities.ts";
import type { JsonObject, ModelTarget } from "../skill/manifest.ts";
import type { CallFigures } from "./result.ts";

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
  /** Sampling parameters and limits that the configuration gives this model. */
  defaults: Sampling & { max_tokens?: number };
  warnings: Warning[];
  /** The decision and its alternatives, where a route policy was asked for. */
  routing: JsonObject | null;
}

/** One model call with retries, and further providers where it fails. */
export interface ExchangeOptions {
  targets: readonly ModelTarget[];
  request: (target: ModelTarget) => ModelRequest;
  /** What the call declares that it needs of the model. */
  declared: { vision: boolean; audio: boolean; pdf: boolean };
  retries: number;
  backoff_ms: number;
  timeout_ms: number;
  idle_timeout_ms: number | null;
  stream: boolean;
  onText?: ((text: string) => void) | undefined;
  onReasoning?: ((text: string) => void) | undefined;
}

export interface LlmHost {
  /** @throws HullError where nothing can be chosen */
  choose(wish: ModelWish): ModelChoice;
  isProvider(name: string): boolean;
  /** @throws HullError: those of `errors/provider.ts`, budgets, and the reason of the host's own abort */
  exchange(options: ExchangeOptions): Promise<ModelTurn>;
  /** Cost and cache figures of a turn's usage. */
  figures(turn: { provider: string; model: string; usage: Usage }): CallFigures;
  /** Reads a setting, e.g. `HULL_LLM_TIMEOUT`. */
  setting(name: string): string | undefined;
  /** Version 7 UUIDs. */
  ids: () => string;
  /** Facts for the log, redacted there. */
  log(entry: Record<string, unknown>): void;
}
