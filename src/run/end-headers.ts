/** How a model's answer ended and what it took, as headers. */
import { finishReason } from "../engine/agent/served-answer.ts";
import type { Warning } from "../engine/messages.ts";

/**
 * `x-hull-finish-reason`, and `x-hull-warnings` if there are any warnings.
 * @param ending the last turn, or the result of a run
 */
export function endHeaders(
  ending: Parameters<typeof finishReason>[0],
  warnings: readonly Pick<Warning, "code">[],
): Record<string, string> {
  return { "x-hull-finish-reason": finishReason(ending), ...warningsHeader(warnings) };
}

/** `x-hull-warnings`: the codes, each once; no header if there are no warnings. */
export function warningsHeader(warnings: readonly Pick<Warning, "code">[]): Record<string, string> {
  const codes = new Set(warnings.map(({ code }) => code));
  return codes.size === 0 ? {} : { "x-hull-warnings": [...codes].join(",") };
}

/** `x-hull-ignored`: members of a request that were not sent to the provider, each once; no header if there are none. */
export function ignoredHeader(names: readonly string[]): Record<string, string> {
  const all = [...new Set(names)].map((name) => name.replace(/[^\x21-\x7e]/g, "?"));
  return all.length === 0 ? {} : { "x-hull-ignored": all.join(", ").slice(0, 1024) };
}

/**
 * For `x-hull-ignored`: the members that the model calls of a run left out.
 * @param thinking the name of this option in the request
 */
export function leftOut(warnings: readonly Warning[], thinking: string): string[] {
  const lost = warnings.filter(({ code, option }) => code === "option_ignored" || option === "tool_choice");
  return lost.flatMap(({ option }) => (option === "thinking" ? thinking : (option ?? [])));
}

/** `x-hull-usage`, over all rounds of a run. */
export const usageHeader = (usage: {
  input_tokens: number;
  output_tokens: number;
  rounds: number;
  tools: number;
}): Record<string, string> => ({
  "x-hull-usage": `input=${usage.input_tokens};output=${usage.output_tokens};rounds=${usage.rounds};tools=${usage.tools}`,
});
