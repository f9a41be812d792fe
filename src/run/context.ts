/** What a run needs from its surroundings: a request's context, or that of a durable execution. */

import type { Deployment } from "../deployment.ts";
import type { PinnedSkills } from "../engine/workflow/answers.ts";
import type { Bindings, Settings } from "../env.ts";
import type { Background } from "../log.ts";
import { type Clock, SharedClock } from "../model/clock.ts";
import type { StoredValue } from "../registry/tool-config/store.ts";
import { IsolatePlaces } from "../tool/isolate/places.ts";

/** Parts of a run's time that Hull measures separately. */
export type TimingName = "queue" | "run" | "llm" | "tools" | "upstream";

/** A span that has ended, as a log line shows it. */
export interface SpanNote {
  name: string;
  /** Ms since the beginning of the request. */
  at_ms: number;
  duration_ms: number;
  [attribute: string]: string | number | boolean | undefined;
}

/** Fields of a log line. The index of runs reads those that have types here. */
export interface LogFields {
  [name: string]: unknown;
  /** Absent until the caller is known. */
  tenant?: string;
  /** What the call took. The cost of a skill's call stands next to its usage, and so does a budget's refusal. */
  usage?: { input_tokens: number; output_tokens: number; cost_usd?: number; price_known?: boolean } | null;
  cost_usd?: number;
  price_known?: boolean;
  refused?: boolean | undefined;
  /** The model that was asked last, as `provider/model`. */
  model?: string | null;
  /** The status of an agent run without a session. */
  run_status?: string;
}

export interface RunContext {
  /** What this isolate keeps. */
  readonly deployment: Deployment;
  /** The deployment's. */
  readonly env: Bindings;
  readonly settings: Settings;
  readonly requestId: string;
  /** Who owns and pays for the run. Nothing of another tenant may enter it, and this tenant owns what it makes. */
  readonly tenant: string;
  /** The scope whose mocks count, if the tenant has mocks; usually `""`. */
  readonly mockScope: string;
  /** The bot whose configured values the tools of served skills get; `null`: the values that count for everybody. */
  readonly bot: string | null;
  /** The tenant's tool configuration as read so far, by skill and bot. Changes take effect in the next run attempt. */
  readonly storedConfig: Map<string, Promise<StoredValue[]>>;
  /** The versions of skills that the run keeps to; absent: those that are served. */
  readonly pinned?: PinnedSkills;
  /** Unix ms. */
  readonly startedAt: number;
  /** Keeps work alive after the answer. */
  readonly background: Background;
  /** Its limits share one timer. */
  readonly clock: Clock;
  readonly isolatePlaces: IsolatePlaces;
  readonly log: LogFields;
  /** Ended spans for the log line; absent if the log line has none. */
  readonly spans?: SpanNote[];
  /** Whether the platform traces the request; absent: each span asks. */
  readonly traced?: boolean;
  readonly durationMs: number;
  /** The measured parts so far, by `<name>_ms`. */
  readonly timings: Record<string, number>;
  /** Adds to one of the measured parts, in ms. */
  time(name: TimingName, ms: number): void;
  /** Redacts a JSON-like value for display or the log. */
  redacted<T>(value: T): T;
  /**
   * Called before everything that must not happen twice, such as a model call of a run, or a tool's work. From then on a
   * request with the same `Idempotency-Key` gets this one's outcome.
   */
  beforeEffects(): Promise<void>;
}

/** The context of a run outside of any request. */
export function detachedContext(
  deployment: Deployment,
  origin: Pick<RunContext, "requestId" | "tenant" | "pinned" | "startedAt"> & {
    mockScope?: string;
    bot?: string;
    beforeEffects?: RunContext["beforeEffects"];
  },
  background: Background,
): RunContext {
  const { env, settings } = deployment;
  const { startedAt } = origin;
  const timings: Record<string, number> = {};
  return {
    mockScope: "",
    bot: null,
    beforeEffects: async () => {},
    ...origin,
    deployment,
    env,
    settings,
    storedConfig: new Map(),
    background,
    clock: new SharedClock(),
    isolatePlaces: new IsolatePlaces(),
    log: { tenant: origin.tenant },
    ...(settings.logsSpans ? { spans: [] } : {}),
    get durationMs() {
      return Date.now() - startedAt;
    },
    timings,
    time(name, ms) {
      const key = `${name}_ms`;
      timings[key] = Math.round((timings[key] ?? 0) + ms);
    },
    redacted: (value) => settings.eventRedactor.json(value),
  };
}
