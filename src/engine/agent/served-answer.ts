/** The answer of a served skill to its caller, after its run has ended (docs/manifest.md, docs/http.md). Pure. */
import { ModelRefused, ProviderEmptyAnswer, ToolRoundsExhausted } from "../../errors/provider.ts";
import type { HullError } from "../../errors.ts";
import type { StopReason } from "../messages.ts";
import type { RunState } from "./state.ts";
import { hasTools } from "./status.ts";

/** `x-hull-finish-reason`. */
type FinishReason = "stop" | "length" | "refusal" | "content_filter" | "other";

/** The text of the last turn of a successful run. @throws HullError that says why there is no text */
export function servedAnswer(run: RunState): { text: string; finish_reason: FinishReason } {
  const text = run.taken?.text ?? "";
  const finish_reason = finishReason(run);
  if (text !== "") return { text, finish_reason };
  throw noAnswer(run, finish_reason);
}

function noAnswer({ spec, iterations, answered }: RunState, finish_reason: FinishReason): HullError {
  const provider = answered?.provider ?? spec.model.provider;
  if (finish_reason === "refusal") return new ModelRefused({ provider });
  const { max_tool_rounds = 0, max_tokens = 0 } = spec.served ?? {};
  if (hasTools(spec) && iterations > max_tool_rounds)
    return new ToolRoundsExhausted({ rounds: max_tool_rounds });
  return new ProviderEmptyAnswer({ provider, finish_reason, max_tokens });
}

const FINISH: Record<StopReason, FinishReason> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "stop",
  max_tokens: "length",
  refusal: "refusal",
  content_filter: "content_filter",
  pause: "other",
  other: "other",
};

/** Tells callers of skills whether the model refused, or the provider's filter. */
function finishReason({ answered }: RunState): FinishReason {
  if (answered === undefined) return "other";
  const { stop_reason, raw_stop_reason } = answered;
  const filtered = stop_reason === "refusal" && raw_stop_reason?.toLowerCase() === "content_filter";
  return filtered ? "content_filter" : FINISH[stop_reason];
}
