/** Options of a call or run that have no effect together with its other options. The result names them. */

import { strategyFault } from "../../engine/agent/skills.ts";
import { LEDGER_TOOL } from "../../engine/agent/task-ledger.ts";
import type { Warning } from "../../engine/messages.ts";
import { isObject, objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { listOf, RUN_DEFAULTS } from "./option-shapes.ts";
import type { RunModel } from "./run-model.ts";

/** What decides whether the options of a call or run take effect. */
interface Asked {
  /** All options as given, those of the run and those of its model calls. */
  given: JsonObject;
  model: Pick<RunModel, "structured" | "targets" | "own" | "routing">;
  /** Whether the model has tools, or may get some. */
  tools: boolean;
  /** Whether it calls them in its text. */
  text: boolean;
}

/** Options, and when they have no effect. Without a condition: always. */
type Row<T> = readonly [names: readonly string[], why: string, when?: (asked: T) => boolean];

const has = (name: string) => (asked: Asked) => isGiven(asked, name);
const not = (name: string) => (asked: Asked) => !isGiven(asked, name);

const OF_CALLS: readonly Row<Asked>[] = [
  [["prompt"], "messages replaces it", has("messages")],
  [
    ["provider", "model", "model_tier"],
    "route_policy chose the model",
    ({ model: { routing } }) => isObject(routing?.chosen),
  ],
  [["model_tier"], "model is given", has("model")],
  [
    ["output_validation", "schema_retries", "retries", "schema_retry_nudge"],
    "no structured output is asked for",
    ({ model }) => model.structured === null,
  ],
  [["retries"], "schema_retries is given", has("schema_retries")],
  [["schema"], "json_schema is given", has("json_schema")],
  [
    ["schema", "json_schema"],
    "output_format has a schema",
    ({ given: { output_format } }) => isObject(output_format) && isObject(output_format.schema),
  ],
  [["repair"], "only POST /llm/structured repairs an answer"],
  [["timeout"], "timeout_ms is given", has("timeout_ms")],
  [["idle_timeout"], "idle_timeout_ms is given", has("idle_timeout_ms")],
  [["tool_format", "tool_examples"], "the model has no tools", ({ tools }) => !tools],
  [["tool_choice"], "the model has no tools", ({ tools, given }) => !tools && given.tool_choice !== "none"],
  [["tool_choice"], "the model calls tools in its text", ({ tools, text }) => tools && text],
  [
    ["tool_examples"],
    "the model calls tools by the provider's own tool calls",
    ({ tools, text }) => tools && !text,
  ],
];

/** The values with which an option asks for what happens without it. */
const USUAL: Readonly<Record<string, readonly Json[]>> = {
  output_validation: ["off"],
  provider: ["auto", ""],
  model_tier: [""],
  prompt: [""],
  tool_choice: ["auto"],
};

function isGiven({ given }: Pick<Asked, "given">, name: string): boolean {
  const value = given[name] ?? false;
  return value !== false && USUAL[name]?.includes(value) !== true;
}

/** The options without effect, each once. */
function without<T extends Pick<Asked, "given">>(asked: T, rows: readonly Row<T>[]): Warning[] {
  const found = new Map<string, string>();
  for (const [names, why, when] of rows) {
    if (when?.(asked) === false) continue;
    for (const name of names) if (isGiven(asked, name) && !found.has(name)) found.set(name, why);
  }
  return Array.from(found, ([name, why]) => ignored(name, why));
}

/** Options of a model call that have no effect, the parts for providers that it does not ask among them. */
export function ignoredInCall(asked: Asked): Warning[] {
  const providers = new Set(asked.model.targets.map(({ provider }) => provider));
  const others = Object.keys(asked.model.own).filter((name) => !providers.has(name));
  const why = `the call asks ${Array.from(providers).join(", ")}`;
  return [...without(asked, OF_CALLS), ...others.map((name) => ignored(name, why))];
}

interface AskedRun extends Asked {
  /** `null`: an anonymous run. */
  session: string | null;
  /** Number of the run's skills. */
  skills: number;
  /** Names of its tools; `null`: it may get further ones. */
  names: ReadonlySet<string> | null;
  /** How often a failed tool call is repeated. */
  tool_retries: number;
}

/** The members of `compaction` that replace options with another name. */
const COMPACTION_NAMES = {
  threshold: "compact_threshold",
  keep_last: "compact_keep_last",
  strategy: "compact_strategy",
};
const COMPACTION_MEMBERS = [
  "keep_first",
  "hard_limit_tokens",
  "hard_limit_strategy",
  "tool_output_max_chars",
];

const OF_RUNS: readonly Row<AskedRun>[] = [
  [
    [
      "wake_interval_ms",
      "cron",
      "time_zone",
      "watch_paths",
      "watch_events",
      "wake_budget",
      "consolidate_on_idle",
      "idle_watchdog_attempts",
      "persist_path",
      "resume_path",
      "resume_after_ms",
    ],
    "the run is not a daemon",
    not("daemon"),
  ],
  [["consolidate_on_idle"], "auto_compact is false", ({ given }) => given.auto_compact === false],
  [
    ["watch_paths"],
    "a run without a session has no files",
    ({ session, given }) => session === null && listOf(given.watch_paths).length > 0,
  ],
  [["persist_path"], "a run without a session has no files", ({ session }) => session === null],
  [["resume_after_ms"], "a run without a session ends for good", ({ session }) => session === null],
  [
    ["done_sentinel", "exit_when_verified", "break_unless_phase"],
    "the run is not persistent",
    not("persistent"),
  ],
  [["nudge"], "turn_policy has words of its own", has("turn_policy")],
  [["nudge"], "the run is not persistent", not("persistent")],
  [
    ["max_nudges"],
    "nothing nudges a run that is not persistent",
    (asked) => {
      const { turn_policy, native_tool_fallback = "allow" } = asked.given;
      const acts = objectOf(turn_policy).require_action_or_yield === true;
      return not("persistent")(asked) && !acts && native_tool_fallback === "allow";
    },
  ],
  [["context_filter"], "context_callback is given", has("context_callback")],
  [["deliverables"], "task_ledger is given", has("task_ledger")],
  [
    ["root_task"],
    "the run has neither task_ledger nor deliverables",
    (asked) => not("task_ledger")(asked) && not("deliverables")(asked),
  ],
  [["tool_backoff_ms"], "tool_retries is 0", ({ tool_retries }) => tool_retries === 0],
  [
    ["loop_detect_block", "loop_detect_skip"],
    "loop_detect_warn is 0",
    ({ given }) => given.loop_detect_warn === 0,
  ],
  [["approval_timeout_s"], "approval_timeout_ms is given", has("approval_timeout_ms")],
  [
    ["approval_timeout_ms", "approval_timeout_s"],
    "a run without a session has no approver",
    ({ session }) => session === null,
  ],
  [
    ["skill_tools", "skill_catalogue_tokens", "working_files"],
    "the run has no skills",
    ({ skills }) => skills === 0,
  ],
  [["native_tool_fallback"], "the model has no tools", ({ tools }) => !tools],
  [["native_tool_fallback"], "the model calls tools in its text", ({ text }) => text],
  ...[...Object.entries(COMPACTION_NAMES), ...COMPACTION_MEMBERS.map((name) => [name, name] as const)].map(
    ([member, option]): Row<AskedRun> => [
      [option],
      `compaction.${member} is given`,
      ({ given }) => objectOf(given.compaction)[member] !== undefined,
    ],
  ),
];

/** Options of a run that have no effect. */
export function ignoredInRun(asked: AskedRun): Warning[] {
  const { skill_match, skills } = asked.given;
  // With skills, the match tells of it.
  const strategy =
    asked.skills > 0
      ? null
      : strategyFault(String(objectOf(skill_match).strategy ?? RUN_DEFAULTS.skill_match.strategy));
  const none = objectOf(skill_match).strategy === "none";
  const unmatched = asked.skills === 0 && isGiven(asked, "skill_match") && !none;
  return [
    ...without(asked, OF_RUNS),
    ...ignoredInCall(asked),
    ...(strategy !== null
      ? [ignored("skill_match.strategy", strategy)]
      : unmatched
        ? [ignored("skill_match", "the run has no skills")]
        : []),
    ...skillKeys(skills),
    ...unknownTools(asked),
  ];
}

/** Options that wait for the success of a tool which the run does not have. */
function unknownTools({ given, names }: AskedRun): Warning[] {
  const hasLedger = given.task_ledger !== undefined || given.deliverables !== undefined;
  const has = (name: string): boolean => names?.has(name) !== false || (hasLedger && name === LEDGER_TOOL);
  return ["require_successful_tools", "stop_after_successful_tools"].flatMap((option) => {
    const unknown = listOf(given[option])
      .map(String)
      .filter((name) => !has(name));
    const message = `${option} names ${unknown.join(", ")}, and the run has no such tool.`;
    return unknown.length === 0 ? [] : [{ code: "option_ignored", option, message }];
  });
}

/** Warnings about skills in the request that name the model for which they are written. */
function skillKeys(skills: Json | undefined): Warning[] {
  const list = isObject(skills) ? (skills.skills ?? skills) : (skills ?? []);
  return [list]
    .flat()
    .flatMap((skill, index) =>
      isObject(skill)
        ? ["model", "effort"]
            .filter((key) => skill[key] !== undefined)
            .map((key) => ignored(`skills.${index}.${key}`, "a run has one model, that of its own options"))
        : [],
    );
}

export const ignored = (option: string, why: string): Warning => ({
  code: "option_ignored",
  option,
  message: `${option} has no effect: ${why}.`,
});
