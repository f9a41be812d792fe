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
