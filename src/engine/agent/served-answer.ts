/** The answer of a served skill to its caller, after its run has ended (docs/manifest.md, docs/http.md). Pure. */
import { ModelRefused, ProviderEmptyAnswer, ToolRoundsExhausted } from "../../errors/provider.ts";
import { isStopReason, type StopWords, stopWords } from "../stop-reason.ts";
import type { RunState } from "./state.ts";
import { hasTools } from "./status.ts";

/** `x-hull-finish-reason`. */
type FinishReason = StopWords["skill"];

interface Ending {
  stop_reason?: unknown;
  raw_stop_reason?: unknown;
}

/** How a run ended whose last text answers the caller of a skill. */
interface Ended {
  text: string;
  /** The last turn, or the result. */
  ending: Ending;
  provider: string;
  iterations: number;
  /** How many rounds of tools the skill allows. */
  rounds: number;
  max_tokens: number;
}

/** The text of the last turn of a run. @throws HullError that says why there is no text */
export function servedAnswer(run: RunState): Answer {
  const { spec, taken, answered = {}, iterations } = run;
  const { max_tool_rounds = 0, max_tokens = 0 } = spec.served ?? {};
  return answerOf({
    text: taken?.text ?? "",
    ending: answered,
    provider: run.answered?.provider ?? spec.model.provider,
    iterations,
    rounds: hasTools(spec) ? max_tool_rounds : Number.POSITIVE_INFINITY,
    max_tokens,
  });
}

interface Answer {
  text: string;
  finish_reason: FinishReason;
}

/** The answer of a run that ended so. @throws HullError that says why there is none */
export function answerOf({ text, ending, provider, iterations, rounds, max_tokens }: Ended): Answer {
  const finish_reason = finishReason(ending);
  if (text !== "") return { text, finish_reason };
  if (finish_reason === "refusal") throw new ModelRefused({ provider });
  if (iterations > rounds) throw new ToolRoundsExhausted({ rounds });
  throw new ProviderEmptyAnswer({ provider, finish_reason, max_tokens });
}

/** Tells callers of skills whether the model refused, or the provider's filter. @param turn the last one, or a result */
export function finishReason({ stop_reason, raw_stop_reason }: Ending): FinishReason {
  const filtered = stop_reason === "refusal" && String(raw_stop_reason).toLowerCase() === "content_filter";
  if (filtered) return "content_filter";
  return isStopReason(stop_reason) ? stopWords(stop_reason).skill : "other";
}
