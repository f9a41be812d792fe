/** The model of a run, and what its options put into every request. */
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { LlmHost, ModelChoice } from "../../llm/host.ts";
import { type CallOptions, readOptions } from "../../llm/options.ts";
import { fallbacks, type RequestSettings, refused, settingsFor } from "../../llm/prepare.ts";
import { readStructured, type Structured } from "../../llm/structured.ts";
import type { JsonObject, ModelTarget } from "../../skill/manifest.ts";

export interface RunModel {
  options: CallOptions;
  /** Additional options for each provider, by its name. */
  own: Record<string, JsonObject>;
  structured: Structured | null;
  targets: ModelTarget[];
  /** How Hull chose among models and providers; `null`: it did not. */
  routing: JsonObject | null;
  settings: (target: ModelTarget) => RequestSettings;
}

/**
 * Each run attempt chooses again, with the same result. @throws InputInvalid for options that only an older version
 * accepted
 */
export function modelOf(spec: AgentSpec, host: LlmHost): RunModel {
  const read = readOptions(spec.call, (name) => host.definition(name) !== undefined);
  if ("faults" in read) throw refused(read.faults);
  const choice = {
    ...host.choose(read.options),
    target: { provider: spec.model.provider, model: spec.model.model },
  };
  return modelOfCall(spec, chosenModel(read, choice, host, spec.fallback));
}

/** The model, which is asked for JSON if the run is the call of a skill that answers with it. */
export function modelOfCall({ called }: Pick<AgentSpec, "called">, model: RunModel): RunModel {
  if (called?.json !== true) return model;
  const asked = { json: true, json_as_text: true } as const;
  return { ...model, settings: (target) => ({ ...model.settings(target), ...asked }) };
}

/** @param further targets in addition to those that the options name */
export function chosenModel(
  { options, own }: { options: CallOptions; own: Record<string, JsonObject> },
  choice: ModelChoice,
  host: LlmHost,
  further: readonly ModelTarget[] = [],
): RunModel {
  const structured = readStructured(options);
  const chain = [choice.target, ...fallbacks(options, choice, host)];
  return {
    options,
    own,
    structured,
    targets: [...chain, ...further],
    routing:
      chain.length === 1
        ? choice.routing
        : { ...choice.routing, fallback_chain: chain.map(({ provider }) => provider) },
    settings: (target: ModelTarget) => settingsFor({ options, choice, structured, own }, target),
  };
}

/** The choice, with the model of the chain that made the last turn. */
export function withAnswering(
  routing: JsonObject,
  { provider, model }: { provider: string; model?: string },
): JsonObject {
  if (routing.fallback_chain === undefined) return routing;
  return { ...routing, answered_by: { provider, ...(model === undefined ? {} : { model }) } };
}
