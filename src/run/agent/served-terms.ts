/** The rules of every run whose last text is the answer: a run of a served skill, or of one of the vendors' APIs. */
import type { AgentSpec } from "../../engine/agent/spec.ts";

/** Keeps results of tools complete: Hull shortens, counts and archives nothing beyond the limits in `served`. */
export function withServedTerms(
  spec: AgentSpec,
  served: NonNullable<AgentSpec["served"]>,
  deadline: NonNullable<AgentSpec["deadline"]>,
): AgentSpec {
  return {
    ...spec,
    deadline,
    max_iterations: served.max_tool_rounds + 1,
    loop_detect: { ...spec.loop_detect, warn: 0 },
    compaction: { ...spec.compaction, auto: false, tool_output_max_chars: Number.MAX_SAFE_INTEGER },
    served,
  };
}

/** Rounds of tools of a served skill whose manifest names no number. */
const TOOL_ROUNDS = 10;
/** The same for a run with workspace tools: work on files takes more rounds than an answer. */
const ROUNDS_WITH_FILES = 50;

/**
 * The rounds of tools after which a call of a served skill may only answer.
 * @param stated `max_tool_rounds` of its manifest
 * @param files whether its run has workspace tools
 */
export const toolRounds = (stated: number | undefined, files: boolean): number =>
  stated ?? (files ? ROUNDS_WITH_FILES : TOOL_ROUNDS);
