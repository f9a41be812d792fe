/** The time that a run has left. */
import type { AgentSpec } from "../../engine/agent/spec.ts";

/** The time that a call may still take, in ms: at least 1, since the deadline itself ends the run. */
export const leftMs = ({ deadline }: AgentSpec): number =>
  deadline === undefined ? Number.MAX_SAFE_INTEGER : Math.max(1, deadline.at - Date.now());
