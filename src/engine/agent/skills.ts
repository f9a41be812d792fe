/** Which skills of a run are active (agent-runtime.md §11), and what that means for prompt and tools. Pure. */
import { objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { Message, ToolDefinition, Warning } from "../messages.ts";
import { globMatches } from "./glob.ts";
import type { AgentRecordBody } from "./records.ts";
import { allTools } from "./session-tools.ts";
import { invocationIn } from "./skill-prefix.ts";
import { activation, activeAlready, brings, catalogue, listedSkills } from "./skill-text.ts";
import type { AgentSkill, AgentSpec, AgentTool } from "./spec.ts";
import { type AgentState, effects, type RunState } from "./state.ts";
import type { AgentStep } from "./step.ts";

export const LOAD_SKILL = "load_skill";

interface Candidate {
  name: string;
  score: number;
  reason: string;
}

/** Candidates with a score, best first; ties in the order of the registry. */
export function matchSkills(
  skills: readonly AgentSkill[],
  query: string,
  workingFiles: readonly string[],
): Candidate[] {
  const tokens = query
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((token) => token.length > 2);
  const lower = query.toLowerCase();
  const scored = skills
    .filter((skill) => !skill.disable_model_invocation)
    .map((skill) => scoreOf(skill, tokens, lower, workingFiles))
    .filter(({ score }) => score > 0);
  return scored.sort((a, b) => b.score - a.score);
}

function scoreOf(
  skill: AgentSkill,
  tokens: readonly string[],
  query: string,
  workingFiles: readonly string[],
): Candidate {
  const texts = [skill.description.toLowerCase(), skill.when_to_use.toLowerCase()];
  const hits = texts.reduce((sum, text) => sum + tokens.filter((token) => text.includes(token)).length, 0);
  const named = query.includes(skill.name.toLowerCase());
  const paths = skill.paths.filter((glob) => workingFiles.some((file) => globMatches(glob, file))).length;
  const reasons = [
    ...(hits > 0 ? [`${hits} keyword hit${hits === 1 ? "" : "s"}`] : []),
    ...(named ? ["name mentioned"] : []),
    ...(paths > 0 ? [`${paths} path glob${paths === 1 ? "" : "s"} matched`] : []),
  ];
  const score = (hits > 0 ? hits / (hits + 1.5) : 0) + (named ? 2 : 0) + 1.5 * paths;
  return { name: skill.name, score, reason: reasons.join("; ") };
}

/**
 * The match of this iteration, where there is one to make, or a message that names a skill: what to record of it, or what the
 * host delegate is to be asked first.
 */
export function dueMatch(state: AgentState, run: RunState): AgentRecordBody[] | { ask: AgentStep } {
  const { spec } = run;
  if (spec.skills.length === 0) return [];
  const invocation = invocationIn(state.visible, spec.skills);
  if (invocation !== null) return [{ type: "skill_invoked", run: spec.run_id, ...invocation }];
  const reassess = run.iterations > 1;
  const rehydrated = !reassess && spec.skill_match.sticky && run.active.length > 0;
  if (rehydrated || (reassess && spec.skill_match.sticky)) return [];
  const iteration = run.iterations - 1;
  const { strategy, top_n } = spec.skill_match;
  const hosted = spec.policies.host === true && HOST_STRATEGIES.includes(strategy);
  const effect = effects.skillMatch(iteration);
  if (hosted && run.hookResults[effect] === undefined) {
    const payload = hostQuestion(spec, latestRequest(state.visible));
    return { ask: { type: "call_hook", effect, hook: "", purpose: "host_skill_match", payload } };
  }
  const found = hosted ? hostMatches(spec, run.hookResults[effect]) : null;
  const candidates = found ?? matchSkills(spec.skills, latestRequest(state.visible), spec.working_files);
  const active = candidates.slice(0, Math.max(1, top_n)).map(({ name }) => name);
  const by = found === null ? "metadata" : strategy;
  const warnings: Warning[] = by === strategy ? [] : [unmatched(strategy, hosted)];
  const at = { run: spec.run_id, iteration };
  return [{ type: "skills_matched", ...at, strategy: by, reassess, candidates, active, warnings }];
}

const HOST_STRATEGIES = ["host", "embedding"];

function unmatched(strategy: string, hosted: boolean): Warning {
  const why = hosted ? "the host delegate gave no answer that could be used" : "it needs a host delegate";
  return {
    code: "skill_match_strategy",
    message: `skill_match.strategy "${strategy}": ${why}; skills were matched by metadata.`,
    option: "skill_match.strategy",
  };
}

/** What the host delegate is asked (§11.2). */
function hostQuestion({ skills, skill_match, working_files }: AgentSpec, prompt: string): JsonObject {
  const candidates = skills
    .filter((skill) => !skill.disable_model_invocation)
    .map(({ name, description, when_to_use, paths }) => ({ name, description, when_to_use, paths }));
  return { strategy: skill_match.strategy, prompt, working_files, candidates };
}

/** The host's choice, its order kept; `null`: it gave none that can be used. */
function hostMatches({ skills }: AgentSpec, answer: Json | undefined): Candidate[] | null {
  const { matches, skills: named } = objectOf(answer);
  const list = Array.isArray(matches) ? matches : named;
  if (!Array.isArray(list)) return null;
  return list.flatMap((item): Candidate[] => {
    const { name, score = 1, reason = "" } = typeof item === "string" ? { name: item } : objectOf(item);
    const skill = skills.find((each) => each.name === name && !each.disable_model_invocation);
    if (skill === undefined) return [];
    return [{ name: skill.name, score: typeof score === "number" ? score : 1, reason: String(reason) }];
  });
}

/** The latest message of a person: feedback of the loop is none. */
function latestRequest(messages: readonly Message[]): string {
  const texts = messages.flatMap((message) =>
    message.role === "user"
      ? [message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")]
      : [],
  );
  return texts.findLast((text) => text !== "" && !text.startsWith("<hull_feedback")) ?? "";
}

/** Hooks to call when the active skills change, dropped ones first. */
export function skillHooks(run: RunState, active: readonly string[]): string[] {
  const find = (name: string) => run.spec.skills.find((skill) => skill.name === name);
  const dropped = run.active.filter((name) => !active.includes(name));
  const begun = active.filter((name) => !run.active.includes(name));
  return [
    ...dropped.flatMap((name) => find(name)?.on_deactivate ?? []),
    ...begun.flatMap((name) => find(name)?.on_activate ?? []),
  ];
}

/**
 * The sections of the system text about skills: those that are active, those whose instructions the session has and the
 * history no longer shows, and those that can be loaded.
 */
export function skillSections({ known = {}, visible }: AgentState, { spec, active }: RunState): string[] {
  const { session_id } = spec;
  const shown = spec.skills.filter(
    ({ name }) => active.includes(name) || (known[name] !== undefined && !isBrought(visible, name)),
  );
  const sections = shown.map((skill) =>
    [
      `## Active skill: ${skill.name}`,
      skill.description,
      ...(skill.when_to_use === "" ? [] : [`When to use: ${skill.when_to_use}`]),
      ...(skill.allowed_tools.length === 0 ? [] : [`Tools: ${skill.allowed_tools.join(", ")}`]),
      activation(skill, { session_id, arguments: known[skill.name]?.arguments ?? "" }, false),
    ].join("\n\n"),
  );
  return [...sections, catalogue(spec.skills)];
}

/** Whether a result of `load_skill` in the history has the skill's instructions. */
function isBrought(visible: readonly Message[], skill: string): boolean {
  return visible.some(
    (message) =>
      message.role === "tool" &&
      message.results.some(({ name, content }) => name === LOAD_SKILL && brings(content, skill)),
  );
}

/** Whether the loop answers calls of `load_skill`: a tool of the run that has the name comes before it. */
export function loadsSkills({ skills, tools }: AgentSpec): boolean {
  return skills.length > 0 && tools.every(({ definition }) => definition.name !== LOAD_SKILL);
}

/** @param skills those of the run; at least one of them is for models to load */
export function loadSkillTool(skills: readonly AgentSkill[]): ToolDefinition {
  return {
    name: LOAD_SKILL,
    description: "Brings the full instructions of a skill into the conversation.",
    parameters: {
      type: "object",
      properties: {
        name: {
          type: "string",
          enum: listedSkills(skills).map(({ name }) => name),
          description: "Name of the skill",
        },
        require_signature: {
          type: "boolean",
          description: "Refuse a skill that nobody who is trusted has signed",
        },
      },
      required: ["name"],
      additionalProperties: false,
    },
  };
}

/** The tools that active and loaded skills leave on offer. No scope is set, or none that names a tool of the run: all of them. */
export function scopedTools(run: RunState): AgentTool[] {
  const tools = allTools(run);
  const allowed = scopeOf(run).filter((entry) => tools.some((tool) => allows(entry, tool)));
  return allowed.length === 0 ? tools : tools.filter((tool) => allowed.some((entry) => allows(entry, tool)));
}

/** The entries of `allowed_tools` of all skills that have a say. */
function scopeOf({ spec, active, loaded }: RunState): string[] {
  const scoping = spec.skills.filter(({ name }) => active.includes(name) || loaded.includes(name));
  return scoping.flatMap(({ allowed_tools }) => allowed_tools);
}

/** Of `Name(pattern)` the name. */
const toolNamed = (entry: string): string => entry.replace(/\(.*\)$/s, "");

const allows = (entry: string, { definition }: AgentTool): boolean =>
  entry === "*" ||
  toolNamed(entry) === definition.name ||
  entry === `namespace:${definition.namespace ?? ""}`;

/**
 * What `Name(pattern)` of the skills asks of the arguments of a tool, as a constraint of a policy; `null`: nothing. An entry
 * without a pattern frees it.
 */
export function scopePatterns(run: RunState, tool: AgentTool): JsonObject | null {
  const entries = scopeOf(run).filter((entry) => allows(entry, tool));
  const patterns = entries.map((entry) => /\((.*)\)$/s.exec(entry)?.[1]);
  const given = patterns.filter((pattern) => pattern !== undefined);
  if (given.length === 0 || given.length < entries.length) return null;
  return { tool: tool.definition.name, arg_patterns: given.flatMap(globsOf) };
}

/** `git:*` is a command with whatever arguments; anything else is a glob over the whole text. */
function globsOf(pattern: string): string[] {
  const command = pattern.endsWith(":*") ? pattern.slice(0, -2) : null;
  return command === null ? [pattern] : [command, `${command} *`];
}

interface LoadedSkill {
  /** `null`: nothing was loaded. */
  name: string | null;
  /** For the model: the body, or JSON that says why there is none. */
  content: string;
}

/** Answers a call of `load_skill`. */
export function loadSkill(
  { known = {} }: AgentState,
  { spec, active }: RunState,
  args: JsonObject | null,
): LoadedSkill {
  const fail = (error: string, skill: Json, message: string): LoadedSkill => ({
    name: null,
    content: JSON.stringify({ error, skill, message }),
  });
  const wanted = args?.name;
  if (typeof wanted !== "string" || wanted === "") {
    return fail("invalid_arguments", null, `${LOAD_SKILL} needs the name of a skill.`);
  }
  if (spec.skills.length === 0) return fail("skill_registry_unavailable", wanted, "This run has no skills.");
  const skill = spec.skills.find(({ name }) => name === wanted);
  if (skill === undefined) {
    const names = spec.skills.flatMap((each) => (each.disable_model_invocation ? [] : [each.name]));
    const known = names.length === 0 ? "" : ` There are: ${names.join(", ")}.`;
    return fail("skill_not_found", wanted, `There is no skill "${wanted}".${known}`);
  }
  if (skill.disable_model_invocation) {
    return fail(
      "skill_model_invocation_disabled",
      wanted,
      `The skill "${wanted}" is not for models to load.`,
    );
  }
  const { signature } = skill;
  if (args?.require_signature === true && signature?.trusted !== true) {
    return signature === undefined
      ? fail("UnsignedSkillError", wanted, `The skill "${wanted}" has no signature.`)
      : fail(
          "UntrustedSignerError",
          wanted,
          `The skill "${wanted}" is signed by ${signature.signer}, who is not trusted to do so.`,
        );
  }
  const before = known[skill.name];
  const same = before?.digest === skill.digest;
  if (active.includes(skill.name) || (before !== undefined && same))
    return { name: skill.name, content: activeAlready(skill.name) };
  const reader = { session_id: spec.session_id, arguments: "" };
  return { name: skill.name, content: activation(skill, reader, before !== undefined) };
}
