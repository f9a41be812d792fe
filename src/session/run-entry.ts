/** A run in the form of a tenant's index of runs. */

/** `run`: in a session; `daemon`: of a daemon; `call`: of a skill, or without a session. */
export const RUN_KINDS = ["run", "daemon", "call"] as const;

/** A run as a list entry. Times are RFC 3339. */
export interface RunEntry {
  id: string;
  kind: (typeof RUN_KINDS)[number];
  /** Slug of the run's skill, or the operation; `null`: a run without a skill. */
  name: string | null;
  session: string | null;
  state: string;
  created_at: string;
  settled_at: string | null;
  /** Duration up to the end, in ms. */
  duration_ms: number | null;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number;
  /** Code of the error that ended it. */
  code: string | null;
}
