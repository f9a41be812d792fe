/** The model of a run, and what its options say of every request. */
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { LlmHost } from "../../llm/host.ts";
import { readOptions } from "../../llm/options.ts";
import { fallbacks, refused, settingsFor } from "../../llm/prepare.ts";
import { readStructured } from "../../llm/structured.ts";
import type { ModelTarget } from "../../skill/manifest.ts";

export type ModelChoice = ReturnType<typeof modelOf>;

/** Chosen anew by each life of the run, alike. @throws InputInvalid for options that an older version took */
export function modelOf(spec: AgentSpec, host: LlmHost) {
  const read = readOptions(spec.call, (name) => host.isProvider(name));
  if ("faults" in read) throw refused(read.faults);
  const { options, own } = read;
  const chosen = host.choose(options);
  const choice = { ...chosen, target: { provider: spec.model.provider, model: spec.model.model } };
  const structured = readStructured(options);
  return {
    options,
    own,
    structured,
    targets: [choice.target, ...fallbacks(options, choice, host)],
    settings: (target: ModelTarget) => settingsFor({ options, choice, structured, own }, target),
  };
}
