/** Which skills of a run are active, and what that means for prompt and tools. Pure. */

import { memo, memoLast } from "../../memo.ts";
import { counted } from "../../plural.ts";
import { globMatchesAny } from "../../skill/glob.ts";
import { objectOf, textOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { allowedTools } from "../../skill/tool-names.ts";
import type { Message, ToolDefinition, Warning } from "../messages.ts";
import { closedObject, text } from "../parameters.ts";
import { CATALOG_TOKENS, catalogSection, listsAll, MOST_LISTED } from "../skill-choice/catalog.ts";
import { type Candidate, chooseSkills, indexSkills, rankSkills } from "../skill-choice/choose.ts";
import { hitsIn, type Keywords, keywordsOf } from "../skill-choice/keyword-hits.ts";
import { fitsEntries } from "../workspace-tools/approved.ts";
import { isNamed } from "../workspace-tools/definitions.ts";
import { knownSkill, skillOutputs } from "./known-skills.ts";
import { brokenConstraint } from "./policy.ts";
import type { AgentRecordBody } from "./records.ts";
import { allTools } from "./session-tools.ts";
import { invocationIn, skillCalled } from "./skill-prefix.ts";
import {
  activation,
  activeAlready,
  brings,
  listedSkills,
  type Reader,
  skillsOf,
  takesArguments,
} from "./skill-text.ts";
import type { AgentSkill, AgentSpec, AgentTool } from "./spec.ts";
import { type AgentState, effects, isInForce, type RunState } from "./state.ts";
import { type AgentStep, askHook } from "./step.ts";

export const LOAD_SKILL = "load_skill";
export const SEARCH_SKILLS = "search_skills";
/** The most skills that a search returns. */
const MOST_FOUND = 10;
/** The most names that the schema of `load_skill` lists. */
const MOST_ENUMERATED = 50;

/**
 * Consecutive runs often offer all skills of a deployment, each in a list object of its own with the same texts. The
 * memo therefore compares texts.
 */
const indexOf = memo(memoLast(indexSkills, sameTexts));

function sameTexts(a: readonly AgentSkill[], b: readonly AgentSkill[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ name, plugin, description, when_to_use }, at) => {
      const other = b[at];
      return (
        other?.name === name &&
        other.plugin === plugin &&
        other.description === description &&
        other.when_to_use === when_to_use
      );
    })
  );
}

/** Candidates with a score, best first; ties in the order of the registry. */
export function matchSkills(
  skills: readonly AgentSkill[],
  query: string,
  workingFiles: readonly string[],
): Candidate[] {
  const keywords = keywordsOf(query);
  const lower = query.normalize("NFC").toLowerCase();
  const scored = skills
    .filter((skill) => !skill.disable_model_invocation)
    .map((skill) => scoreOf(skill, keywords, lower, workingFiles))
    .filter(({ score }) => score > 0);
  return scored.sort((a, b) => b.score - a.score);
}

function scoreOf(
  skill: AgentSkill,
  keywords: Keywords,
  query: string,
  workingFiles: readonly string[],
): Candidate {
  const hits = hitsIn(skill.description, keywords) + hitsIn(skill.when_to_use, keywords);
  const named = query.includes(skill.name.normalize("NFC").toLowerCase());
  const paths = skill.paths.filter((glob) => globMatchesAny(glob, workingFiles)).length;
  const reasons = [
    ...(hits > 0 ? [counted(hits, "keyword hit")] : []),
    ...(named ? ["name mentioned"] : []),
    ...(paths > 0 ? [`${counted(paths, "path glob")} matched`] : []),
  ];
  const score = (hits > 0 ? hits / (hits + 1.5) : 0) + (named ? 2 : 0) + 1.5 * paths;
  return { name: skill.name, score, reason: reasons.join("; ") };
}

/**
 * The match of this iteration, if one is due, or a message that names a skill: the records of it, or the question that
 * the host delegate must answer first.
 */
export function dueMatch(state: AgentState, run: RunState): AgentRecordBody[] | { ask: AgentStep } {
  const { spec } = run;
  if (spec.skills.length === 0) return [];
  // Only the model may load a skill that runs as a sub-agent.
  const invocation = invocationIn(
    state.visible,
    spec.skills.filter((skill) => !isForked(spec, skill)),
  );
  if (invocation !== null) return [{ type: "skill_invoked", run: spec.run_id, ...invocation }];
  const reassess = run.iterations > 1;
  const { strategy, top_n, sticky } = spec.skill_match;
  if (sticky && (reassess || run.active.length > 0)) return [];
  const iteration = run.iterations - 1;
  if (strategy === "none" || top_n === 0) return [];
  const hosted = spec.policies.host === true && HOST_STRATEGIES.includes(strategy);
  const request = latestRequest(state.visible);
  const question = { effect: effects.skillMatch(iteration), hook: "", purpose: "host_skill_match" as const };
  const asked = hosted ? askHook(run, question, () => hostQuestion(spec, request)) : { answer: null };
  if ("ask" in asked) return asked;
  const found = hostMatches(spec, asked.answer);
  const at = { run: spec.run_id, iteration };
  if (strategy === "auto") {
    const { skills, working_files } = spec;
    const { active: found, ...chosen } = chooseSkills(skills, indexOf(skills), request, working_files);
    const active = inConversation(spec, found);
    return [{ type: "skills_matched", ...at, strategy, reassess, ...chosen, active, warnings: [] }];
  }
  const candidates = found ?? matchSkills(spec.skills, request, spec.working_files);
  const best = candidates.slice(0, Math.max(1, top_n)).map(({ name }) => name);
  const active = inConversation(spec, best);
  const by = found === null ? "metadata" : strategy;
  const warnings: Warning[] = by === strategy ? [] : [unmatched(strategy, hosted)];
  return [{ type: "skills_matched", ...at, strategy: by, reassess, candidates, active, warnings }];
}

/** Whether `load_skill` runs the skill as a sub-agent. */
export function isForked(spec: AgentSpec, { fork, disable_model_invocation }: AgentSkill): boolean {
  return fork === true && !disable_model_invocation && loadsSkills(spec);
}

/** Leaves out the skills that run as sub-agents, which have their own conversations. */
function inConversation(spec: AgentSpec, names: readonly string[]): string[] {
  const forked = spec.skills.filter((skill) => isForked(spec, skill)).map(({ name }) => name);
  return names.filter((name) => !forked.includes(name));
}

/** The task of a forked skill: the model's words, or the latest request to the model. */
export function forkedTask({ visible }: AgentState, args: JsonObject | null): string {
  const task = args?.task;
  return typeof task === "string" && task.trim() !== "" ? task : latestRequest(visible);
}

const HOST_STRATEGIES = ["host", "embedding"];
const STRATEGIES = ["auto", "metadata", ...HOST_STRATEGIES, "none"];
const NO_SUCH_STRATEGY = "there is no such strategy, only auto, metadata, host and none";

/** Why a strategy has no effect in a run without skills, where none is matched; `null`: it would have one with skills. */
export const strategyFault = (strategy: string): string | null =>
  STRATEGIES.includes(strategy) ? null : NO_SUCH_STRATEGY;

function unmatched(strategy: string, hosted: boolean): Warning {
  return {
    code: "skill_match_strategy",
    message: `skill_match.strategy "${strategy}": ${whyUnmatched(strategy, hosted)}; skills were matched by metadata.`,
    option: "skill_match.strategy",
  };
}

function whyUnmatched(strategy: string, hosted: boolean): string {
  if (hosted) return "the host delegate gave no answer that could be used";
  if (HOST_STRATEGIES.includes(strategy)) return "it needs a host delegate";
  return NO_SUCH_STRATEGY;
}

/** The question to the host delegate. */
function hostQuestion({ skills, skill_match, working_files }: AgentSpec, prompt: string): JsonObject {
  const candidates = skills
    .filter((skill) => !skill.disable_model_invocation)
    .map(({ name, description, when_to_use, paths }) => ({ name, description, when_to_use, paths }));
  return { strategy: skill_match.strategy, prompt, working_files, candidates };
}

/** The host's choice in its order; `null`: it gave no usable one. */
function hostMatches({ skills }: AgentSpec, answer: Json): Candidate[] | null {
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

/** The latest message of a person: feedback of the loop does not count. */
export function latestRequest(messages: readonly Message[]): string {
  const texts = messages.flatMap((message) =>
    message.role === "user"
      ? [message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")]
      : [],
  );
  return texts.findLast((text) => text !== "" && !text.startsWith("<hull_feedback")) ?? "";
}

/** Hooks to call when the active skills change, those of dropped skills first. */
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
 * The sections of the system text about skills: active ones; those whose instructions the session has but the history
 * no longer shows; and those that the model can load.
 */
export function skillSections(state: AgentState, { spec, active }: RunState): string[] {
  const shown = shownInSystem(state, spec, active);
  const sections = shown.map((skill) =>
    [
      `## Active skill: ${skill.name}`,
      skill.description,
      ...(skill.when_to_use === "" ? [] : [`When to use: ${skill.when_to_use}`]),
      ...(skill.allowed_tools.length === 0 ? [] : [`Tools: ${skill.allowed_tools.join(", ")}`]),
      activation(skill, readerOf(state, spec, skill, knownSkill(state, skill.name)?.arguments ?? ""), false),
    ].join("\n\n"),
  );
  return [...sections, catalogText(state, spec, shown)];
}

function shownInSystem(state: AgentState, spec: AgentSpec, active: readonly string[]): AgentSkill[] {
  return spec.skills.filter(
    ({ name }) =>
      active.includes(name) || (knownSkill(state, name) !== undefined && !isBrought(state.visible, name)),
  );
}

/** The skills whose instructions the next system text contains. */
export function shownSkills(state: AgentState, { spec, active }: RunState): AgentSkill[] {
  const own = spec.own_skill === undefined ? [] : [spec.own_skill];
  return [...own, ...shownInSystem(state, spec, active)];
}

function readerOf(state: AgentState, spec: AgentSpec, { name }: AgentSkill, given: string): Reader {
  const own = skillOutputs(state, name);
  return {
    session_id: spec.session_id,
    arguments: given,
    skills: skillsOf(spec),
    ...(own === undefined ? {} : { outputs: own }),
  };
}

/**
 * The skills that the model can load, without those that the system text already shows. If there are too many for the
 * list, only those that fit the request.
 */
function catalogText({ visible }: AgentState, spec: AgentSpec, shown: readonly AgentSkill[]): string {
  if (spec.skills.length === 0) return "";
  const request = searchesSkills(spec) ? latestRequest(visible) : null;
  return listOf(spec)({ shown, request });
}

/** What the list depends on in addition to the specification. */
interface ListKey {
  shown: readonly AgentSkill[];
  /** `null`: the list holds all skills, whatever the request. */
  request: string | null;
}

const sameList = (a: ListKey, b: ListKey): boolean =>
  a.request === b.request &&
  a.shown.length === b.shown.length &&
  a.shown.every((skill, at) => skill === b.shown[at]);

/** Every request of a run contains the list, which changes only with the run's active skills. */
const listOf = memo((spec: AgentSpec) => memoLast((key: ListKey) => listFor(spec, key), sameList));

function listFor(spec: AgentSpec, { shown, request }: ListKey): string {
  const { skills, skill_catalogue_tokens: tokens = CATALOG_TOKENS } = spec;
  const listed = listedSkills(skills).filter((skill) => !shown.includes(skill));
  if (request === null) return catalogSection(listed, tokens, false);
  const ranked = rankSkills(skills, indexOf(skills), request, MOST_LISTED).map(({ name }) => name);
  const places = new Map(ranked.map((name, place) => [name, place]));
  const place = ({ name }: AgentSkill): number => places.get(name) ?? Number.POSITIVE_INFINITY;
  const first = listed.toSorted((a, b) => (place(a) === place(b) ? 0 : place(a) - place(b)));
  return catalogSection(first.slice(0, MOST_LISTED), tokens, true);
}

/** Whether a result of `load_skill` in the history holds the skill's instructions. */
function isBrought(visible: readonly Message[], skill: string): boolean {
  return visible.some(
    (message) =>
      message.role === "tool" &&
      message.results.some(({ name, content }) => name === LOAD_SKILL && brings(content, skill)),
  );
}

/** Whether the loop answers `load_skill`. It does not if the run has its own tool of that name. */
export function loadsSkills({ skills, tools }: AgentSpec): boolean {
  return skills.length > 0 && tools.every(({ definition }) => definition.name !== LOAD_SKILL);
}

/** Whether a run has more skills than the list can show, so that its model may search for them. */
export const searchesSkills = memo((spec: AgentSpec): boolean => {
  const { skills, skill_catalogue_tokens: tokens = CATALOG_TOKENS } = spec;
  return loadsSkills(spec) && !listsAll(listedSkills(skills), tokens);
});

export function searchSkillsTool(): ToolDefinition {
  return {
    name: SEARCH_SKILLS,
    description: "Finds skills for a task by words; load_skill brings one of them.",
    parameters: closedObject({ query: text("What the skill should be for, in a few words") }, ["query"]),
  };
}

/** Answers a call of `search_skills`. */
export function searchSkills(
  { skills }: AgentSpec,
  args: JsonObject | null,
): { ok: boolean; content: string } {
  const query = args?.query;
  if (typeof query !== "string" || query.trim() === "")
    return { ok: false, content: `${SEARCH_SKILLS} needs a query: a few words.` };
  const called = skillCalled(query.trim(), skills);
  const ranked = rankSkills(skills, indexOf(skills), query, MOST_FOUND).map(({ name }) => name);
  const names = [...new Set([...(called === undefined ? [] : [called.name]), ...ranked])].slice(
    0,
    MOST_FOUND,
  );
  const found = names.flatMap((name) => skills.find((skill) => skill.name === name) ?? []);
  const lines = found
    .filter((skill) => !skill.disable_model_invocation)
    .map(({ name, description }) => ({ name, description }));
  return { ok: true, content: JSON.stringify({ skills: lines }) };
}

/** @param skills those of the run; the model may load at least one of them */
export const loadSkillTool = memo((skills: readonly AgentSkill[]): ToolDefinition => {
  const names = listedSkills(skills).map(({ name }) => name);
  const task = text(
    "For a skill that another agent carries out, without this conversation: what it is to do",
  );
  const args = text("What the skill is to work on, as a person writes it after /name");
  const properties: JsonObject = {
    name: {
      type: "string",
      ...(names.length > MOST_ENUMERATED ? {} : { enum: names }),
      description: "Name of the skill",
    },
    ...(skills.some(({ fork }) => fork === true) ? { task } : {}),
    ...(skills.some(takesArguments) ? { args } : {}),
    require_signature: {
      type: "boolean",
      description: "Refuse a skill that nobody who is trusted has signed",
    },
  };
  return {
    name: LOAD_SKILL,
    description: "Brings the full instructions of a skill into the conversation.",
    parameters: closedObject(properties, ["name"]),
  };
});

/**
 * The tools that active and loaded skills leave on offer. If no scope is set, or no scope names a tool of the run: all
 * of them.
 */
export function scopedTools(run: RunState): AgentTool[] {
  const tools = allTools(run);
  const allowed = scopeOf(run).filter((entry) => tools.some((tool) => allows(entry, tool)));
  return allowed.length === 0 ? tools : tools.filter((tool) => allowed.some((entry) => allows(entry, tool)));
}

/**
 * The tool with this name, if it may be called: on offer, or deferred, since the model may guess a name and deferral is
 * no access control.
 */
export function toolOf(run: RunState, name: string): AgentTool | null {
  return scopedTools(run).find(({ definition }) => definition.name === name) ?? null;
}

/** The entries of `allowed_tools` of all skills in force. */
function scopeOf(run: RunState): string[] {
  return skillsInForce(run).flatMap(({ allowed_tools }) => allowed_tools);
}

const namespaceOf = (entry: string): string | undefined => /^namespace:(.*)$/s.exec(entry)?.[1];

/** Whether an entry names a tool: by its own name, by its name in another client, or by its namespace. */
function allows(entry: string, tool: AgentTool): boolean {
  const namespace = namespaceOf(entry);
  if (namespace !== undefined) return namespace === (tool.definition.namespace ?? "");
  if (entry === "*") return true;
  const own = entry.replace(/^([^(]*)\(.*\)$/s, "$1");
  if (own === tool.definition.name) return true;
  return allowedTools([entry]).some(({ tool: name }) => isNamed(name, tool));
}

/**
 * Why a call is outside the scopes of active skills; `null`: it is inside. An entry without a pattern permits all calls
 * of a tool.
 */
export function outsideScope(run: RunState, tool: AgentTool, args: JsonObject): string | null {
  const entries = scopeOf(run).filter((entry) => namespaceOf(entry) === undefined && allows(entry, tool));
  if (
    entries.length === 0 ||
    scopeOf(run).some((entry) => namespaceOf(entry) !== undefined && allows(entry, tool))
  )
    return null;
  const read = entries.flatMap((entry) => (entry === "*" ? [{ tool: "*" }] : allowedTools([entry])));
  if (tool.executor === "workspace") {
    if (fitsEntries(read, tool, args)) return null;
    return `The active skills allow ${tool.definition.name} only for ${entries.join(", ")}.`;
  }
  const patterns = read.map(({ pattern }) => pattern);
  const given = patterns.filter((pattern) => pattern !== undefined);
  if (given.length < patterns.length) return null;
  const scope = { tool: tool.definition.name, arg_patterns: given.flatMap(globsOf) };
  return brokenConstraint([scope], tool, args);
}

/** `git:*` is a command with any arguments; anything else is a glob over the whole text. */
function globsOf(pattern: string): string[] {
  const command = pattern.endsWith(":*") ? pattern.slice(0, -2) : null;
  return command === null ? [pattern] : [command, `${command} *`];
}

/** The skills that apply now: the run's own skill, active and loaded skills. */
export function skillsInForce(run: RunState): AgentSkill[] {
  const { own_skill, skills } = run.spec;
  const own = own_skill === undefined ? [] : [own_skill];
  return [...own, ...skills.filter(({ name }) => isInForce(run, name))];
}

/** The skill that a call of `load_skill` names; `null`: none that the model may load. */
export function skillToLoad({ skills }: AgentSpec, args: JsonObject | null): AgentSkill | null {
  const skill = typeof args?.name === "string" ? skillCalled(args.name, skills) : undefined;
  return skill === undefined || skill.disable_model_invocation ? null : skill;
}

interface LoadedSkill {
  /** `null`: nothing was loaded. */
  name: string | null;
  /** The skill's text for the model, or JSON that says why there is none. */
  content: string;
}

/** Answers a call of `load_skill`. */
export function loadSkill(
  state: AgentState,
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
  if (!["boolean", "undefined"].includes(typeof args?.require_signature)) {
    return fail("invalid_arguments", wanted, "require_signature is true or false.");
  }
  const skill = skillCalled(wanted, spec.skills);
  if (skill === undefined) {
    const names = spec.skills.flatMap((each) => (each.disable_model_invocation ? [] : [each.name]));
    const near =
      names.length > MOST_LISTED
        ? rankSkills(spec.skills, indexOf(spec.skills), wanted, MOST_FOUND).map(({ name }) => name)
        : names;
    const known = near.length === 0 ? "" : ` There are: ${near.join(", ")}.`;
    return fail("skill_not_found", wanted, `There is no skill "${wanted}".${known}`);
  }
  if (skill.disable_model_invocation) {
    return fail("skill_model_invocation_disabled", wanted, `Models may not load the skill "${wanted}".`);
  }
  const { signature } = skill;
  if (args?.require_signature === true && signature?.trusted !== true) {
    return signature === undefined
      ? fail("UnsignedSkillError", wanted, `The skill "${wanted}" has no signature.`)
      : fail(
          "UntrustedSignerError",
          wanted,
          `The skill "${wanted}" is signed by ${signature.signer}, who is not a trusted signer.`,
        );
  }
  const before = knownSkill(state, skill.name);
  const same = before?.digest === skill.digest;
  if (active.includes(skill.name) || (before !== undefined && same))
    return { name: skill.name, content: activeAlready(skill.name) };
  const reader = readerOf(state, spec, skill, textOf(args?.args));
  return { name: skill.name, content: activation(skill, reader, before !== undefined) };
}
