/** What a run takes from the skill that it executes: the model, the limits and the rounds of tools. */
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { Warning } from "../../engine/messages.ts";
import { InvalidRequest } from "../../errors/llm.ts";
import type { LlmHost } from "../../llm/host.ts";
import type { CallOptions } from "../../llm/options.ts";
import type { Capabilities } from "../../model/capabilities.ts";
import { cannotThink } from "../../model/fit.ts";
import { isNamed, namedDeadline } from "../../skill/interface-fields.ts";
import { defined } from "../../skill/json.ts";
import { EFFORTS, type JsonObject, type SkillRecord } from "../../skill/manifest.ts";
import { ignored } from "./ignored-options.ts";
import type { RunOptions } from "./option-shapes.ts";

/**
 * The call's options with the model of the option `skill` and the limits that it names, unless the options set them.
 * @param host says the default model of the skill's provider, which no variable of the deployment replaces for a skill
 */
export function withSkill(
  call: JsonObject,
  { manifest }: SkillRecord,
  host: Pick<LlmHost, "definition">,
): JsonObject {
  const { llm, slug, timeout_ms } = manifest;
  if (llm === undefined) {
    throw new InvalidRequest({
      option: "skill",
      detail: `The skill ${slug} has mode: ${manifest.mode}; only llm skills can run as agents.`,
    });
  }
  const { provider, model: named } = llm.target;
  const model = named ?? (namesModel(call) ? null : (host.definition(provider)?.default_model ?? null));
  return {
    provider,
    ...(model === null ? {} : { model }),
    max_tokens: llm.max_tokens,
    ...(isNamed(timeout_ms) ? { timeout: timeout_ms / 1000 } : {}),
    idle_timeout: manifest.idle_timeout_ms / 1000,
    // The skill's own further targets, which are no option, replace the fallback of its provider.
    fallback_chain: [],
    ...call,
  };
}

function levelOf({ manifest }: SkillRecord): CallOptions["reasoning_effort"] {
  const asked = manifest.activation?.effort?.toLowerCase();
  return Object.entries(EFFORTS).find(([name]) => name === asked)?.[1];
}

/** How much the model thinks about a call of the skill, as its manifest says; absent for a model that cannot think. */
export function effortOf(
  record: SkillRecord,
  capabilities: Capabilities,
): Pick<CallOptions, "reasoning_effort"> {
  const level = levelOf(record);
  return level === undefined || cannotThink(capabilities) ? {} : { reasoning_effort: level };
}

/** A warning if the manifest names an effort for a model that cannot think. */
export const ignoredEffort = (
  record: SkillRecord,
  { model, capabilities }: { model: string | null; capabilities: Capabilities },
): Warning[] =>
  levelOf(record) !== undefined && cannotThink(capabilities)
    ? [ignored("effort", `the model ${model} cannot think`)]
    : [];

/** The rounds of tools that the skill's manifest names, unless the options limit the run; `undefined`: neither. */
export const roundsOfSkill = (options: RunOptions, served: SkillRecord | null): number | undefined =>
  options.profile === undefined && options.max_iterations === undefined
    ? served?.manifest.llm?.max_tool_rounds
    : undefined;

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

/**
 * Adds the rounds, the time and the length of results that the skill's manifest sets, unless the options do. For a
 * daemon, the rounds apply to each wake, and the time of one call does not apply.
 * @param rounds after which the run may only answer; `undefined`: it has no such limit
 */
export function withSkillLimits(
  options: RunOptions,
  served: SkillRecord | null,
  rounds: number | undefined,
): RunOptions {
  const deadline_ms = served === null || options.daemon === true ? undefined : namedDeadline(served.manifest);
  return {
    ...(rounds === undefined ? {} : { max_iterations: rounds + 1 }),
    ...defined({ deadline_ms }),
    // `max_tool_output_bytes` limits them.
    ...(served === null ? {} : { tool_output_max_chars: Number.MAX_SAFE_INTEGER }),
    ...options,
  };
}

/** The limits of the skill that no option replaces. @param call the options with those that `withSkill` adds */
export function limitsOf({ manifest }: SkillRecord, call: CallOptions): Pick<AgentSpec, "skill_limits"> {
  const { llm, timeout_ms } = manifest;
  if (llm === undefined) return {};
  const { max_tool_output_bytes } = llm;
  const limited = call.timeout_ms !== undefined;
  return {
    skill_limits: { max_tool_output_bytes, ...(limited ? {} : { first_byte_ms: timeout_ms }) },
  };
}

/** The skill's own further targets, unless the options name a model. */
export function fallbackOf({ manifest }: SkillRecord, call: JsonObject): Pick<AgentSpec, "fallback"> {
  const targets = manifest.llm?.fallback ?? [];
  const named = namesModel(call) || call.fallback_chain !== undefined;
  return targets.length === 0 || named ? {} : { fallback: targets };
}

const namesModel = ({ provider, model, model_tier, route_policy }: JsonObject): boolean =>
  [provider, model, model_tier, route_policy].some((name) => name !== undefined);
