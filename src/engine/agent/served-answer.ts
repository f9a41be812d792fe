/** The answer of a served skill to its caller, after its run has ended (docs/manifest.md, docs/http.md). Pure. */
import { ModelRefused, ProviderEmptyAnswer, ToolRoundsExhausted } from "../../errors/provider.ts";
import type { HullError } from "../../errors.ts";
import type { RunState } from "./state.ts";
import { hasTools } from "./status.ts";

/** `x-hull-finish-reason`. */
type FinishReason = "stop" | "length" | "refusal" | "content_filter" | "other";

interface Ending {
  stop_reason?: unknown;
  raw_stop_reason?: unknown;
}

/** The text of the last turn of a successful run. @throws HullError that says why there is no text */
export function servedAnswer(run: RunState): { text: string; finish_reason: FinishReason } {
  const text = run.taken?.text ?? "";
  const finish_reason = finishReason(run.answered ?? {});
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

/** By stop reason. Every other stop reason is `other`. */
const FINISH: ReadonlyMap<unknown, FinishReason> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["tool_use", "stop"],
  ["max_tokens", "length"],
  ["refusal", "refusal"],
  ["content_filter", "content_filter"],
]);

/** Tells callers of skills whether the model refused, or the provider's filter. @param turn the last one, or a result */
export function finishReason({ stop_reason, raw_stop_reason }: Ending): FinishReason {
  const filtered = stop_reason === "refusal" && String(raw_stop_reason).toLowerCase() === "content_filter";
  return filtered ? "content_filter" : (FINISH.get(stop_reason) ?? "other");
}
