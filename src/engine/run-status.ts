/** The states of an agent run. */
export const RUN_STATUSES = [
  "running",
  "idle",
  "awaiting_tool",
  "awaiting_approval",
  "done",
  "stuck",
  "budget_exhausted",
  "watchdog",
  "failed",
  "error",
  "cancelled",
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

interface StatusTerms {
  /** The run answers its caller later. */
  waits?: true;
  /** What a run that has ended is to whoever delegated it. Absent: `done`. */
  outcome?: "failed" | "cancelled";
  /** The run was stopped: what it delegated ends too, and a daemon did not finish its work. */
  stopped?: true;
  /** A client of Anthropic's API may send the answer back, and the model continues from there. */
  resumable?: true;
  /** How the console colours it. */
  tone?: "good" | "bad" | "wait";
  /** Why the run ended, or why it waits, in one sentence. */
  why: string;
}

export const STATUS_TERMS: Readonly<Record<RunStatus, StatusTerms>> = {
  running: { waits: true, why: "It is running." },
  idle: { waits: true, why: "It waits for an event, a message or its next time." },
  awaiting_tool: { waits: true, tone: "wait", why: "It waits for its client to answer a tool call." },
  awaiting_approval: { waits: true, tone: "wait", why: "It waits for a person to decide about a tool call." },
  done: { tone: "good", why: "It ended because the model had nothing more to do." },
  stuck: {
    tone: "bad",
    why: "It ended because the model went on writing text instead of acting, after max_nudges reminders.",
  },
  budget_exhausted: {
    resumable: true,
    tone: "bad",
    why: "It ended because its budget of model calls, tokens or money was used up.",
  },
  watchdog: { tone: "bad", why: "It ended because nothing woke it for too long." },
  failed: {
    outcome: "failed",
    tone: "bad",
    why: "It ended without a successful call of a tool that it requires.",
  },
  error: { outcome: "failed", stopped: true, tone: "bad", why: "It ended with an error." },
  cancelled: { outcome: "cancelled", stopped: true, why: "It ended because somebody cancelled it." },
};

/** A run that a later version of Hull ended counts as failed: this version cannot say that it is done. */
const UNKNOWN: StatusTerms = {
  outcome: "failed",
  tone: "bad",
  why: "It ended in a way that only a later version of Hull knows.",
};

/** What follows from a run's status. After a rollback, storage may hold a word of a later version. */
export const termsOf = (status: string): StatusTerms =>
  Object.entries(STATUS_TERMS).find(([known]) => known === status)?.[1] ?? UNKNOWN;
