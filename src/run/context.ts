/** What a run needs of the place that it runs in: a request's context, or that of a durable execution. */

import type { Deployment } from "../deployment.ts";
import type { PinnedSkills } from "../engine/workflow/records.ts";
import type { Bindings, Settings } from "../env.ts";
import type { StoredValue } from "../registry/tool-config/store.ts";

/** Parts of a run's time that are measured apart. */
export type TimingName = "queue" | "run" | "llm" | "tools" | "upstream";

/** A span that has ended, as a log line shows it. */
export interface SpanNote {
  name: string;
  /** Since the beginning of the request. */
  at_ms: number;
  duration_ms: number;
  [attribute: string]: string | number | boolean | undefined;
}

export interface RunContext {
  /** What this isolate knows. */
  readonly deployment: Deployment;
  /** The deployment's. */
  readonly env: Bindings;
  readonly settings: Settings;
  readonly requestId: string;
  /** Whose run it is, and who pays: nothing of another tenant may come into it, what it makes is this tenant's. */
  readonly tenant: string;
  /** Which of the tenant's mocks count, where there are any; usually `""`. */
  readonly mockScope: string;
  /** Whose configured values tools of served skills get; `null`: those that count for everybody. */
  readonly bot: string | null;
  /** What was read of the tenant's tool configuration, by skill and bot: changes count from the run's next life on. */
  readonly storedConfig: Map<string, Promise<StoredValue[]>>;
  /** The versions of skills that the run keeps to; absent: those that are served. */
  readonly pinned?: PinnedSkills;
  /** Unix ms. */
  readonly startedAt: number;
  /** Keeps work alive after the answer. */
  readonly background: (work: Promise<unknown>) => void;
  /** Fields of the log line. */
  readonly log: Record<string, unknown>;
  /** Spans that have ended, for the log line; absent where none are wanted there. */
  readonly spans?: SpanNote[];
  readonly durationMs: number;
  /** The measured parts so far, by `<name>_ms`. */
  readonly timings: Record<string, number>;
  /** Adds to one of the measured parts, in ms. */
  time(name: TimingName, ms: number): void;
  /** A JSON-like value as it may be shown or logged. */
  redacted<T>(value: T): T;
}

/** The context of a run that no request carries. */
export function detachedContext(
  deployment: Deployment,
  origin: {
    requestId: string;
    tenant: string;
    mockScope?: string;
    bot?: string;
    pinned?: PinnedSkills;
    startedAt: number;
  },
  background: (work: Promise<unknown>) => void,
): RunContext {
  const { env, settings } = deployment;
  const { startedAt } = origin;
  const timings: Record<string, number> = {};
  return {
    mockScope: "",
    bot: null,
    ...origin,
    deployment,
    env,
    settings,
    storedConfig: new Map(),
    background,
    log: {},
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
