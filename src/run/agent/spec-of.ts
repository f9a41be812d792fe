/** The defaults of a run: what its options leave out, and the presets that the option `profile` names. */
import type { AgentSpec, CompactionOptions, RunPolicies, ToolHook } from "../../engine/agent/spec.ts";
import type { LedgerItem, TaskLedger } from "../../engine/agent/task-ledger.ts";
import { InvalidRequest } from "../../errors/llm.ts";
import { compactionOptions } from "../../llm/compaction-options.ts";
import { refusedOption } from "../../llm/prepare.ts";
import { listOf, PROFILES, RUN_DEFAULTS, type RunOptions } from "./option-shapes.ts";

type Profile = Readonly<Record<keyof (typeof PROFILES)["tool_using"], number>>;

/** @throws InvalidRequest if the name is not one of the four */
export function profileOf(name: string = RUN_DEFAULTS.profile): Profile {
  const profile = new Map<string, Profile>(Object.entries(PROFILES)).get(name);
  if (profile !== undefined) return profile;
  const known = Object.keys(PROFILES).join(", ");
  throw new InvalidRequest({ option: "profile", detail: `profile must be one of ${known}; got "${name}".` });
}

/** What Hull determines for a run besides its options. */
type SpecInputs = Pick<
  AgentSpec,
  "run_id" | "session_id" | "system" | "prompt" | "tools" | "tool_format" | "skills" | "model" | "call"
> & {
  profile: Profile;
  policies: Pick<RunPolicies, "policy" | "ceiling" | "dropped" | "host">;
};

/** Makes a run's specification from its options and fills in the defaults. @throws InvalidRequest */
export function specOf(given: RunOptions, { profile, policies, ...parts }: SpecInputs): AgentSpec {
  const options = { ...RUN_DEFAULTS, ...given };
  // The members of its own come first: V8 defines those after a spread one by one.
  return {
    tool_search: null,
    tool_examples: null,
    tool_choice: null,
    skill_match: { ...RUN_DEFAULTS.skill_match, ...given.skill_match },
    working_files: listOf(options.working_files),
    persistent: options.persistent,
    done_sentinel: options.done_sentinel,
    max_iterations: options.max_iterations ?? profile.max_iterations,
    max_nudges: options.max_nudges ?? profile.max_nudges,
    nudge: options.nudge ?? null,
    tool_retries: options.tool_retries ?? profile.tool_retries,
    tool_backoff_ms: options.tool_backoff_ms,
    turn_policy: turnPolicy(options),
    stop_after_successful_tools: options.stop_after_successful_tools ?? [],
    require_successful_tools: options.require_successful_tools ?? [],
    loop_detect: {
      warn: options.loop_detect_warn,
      block: options.loop_detect_block,
      skip: options.loop_detect_skip,
    },
    exit_when_verified: options.exit_when_verified,
    token_budget: options.token_budget ?? null,
    total_budget_usd: null,
    native_tool_fallback: options.native_tool_fallback,
    break_unless_phase: options.break_unless_phase ?? null,
    task_ledger: taskLedger(options),
    context_callback: options.context_callback ?? options.context_filter ?? null,
    post_turn_callback: options.post_turn_callback ?? null,
    policies: {
      approval_policy: options.approval_policy ?? null,
      permissions: options.permissions ?? null,
      approval_timeout_s: approvalSeconds(given),
      ...policies,
    },
    compaction: compaction(options),
    daemon: null,
    ...parts,
    ...(options.models === undefined ? {} : { models: options.models }),
    ...(options.parallel_tool_calls === false ? { parallel_tool_calls: false as const } : {}),
    ...(options.tool_hooks === undefined ? {} : { tool_hooks: options.tool_hooks.map(toolHook) }),
    ...(options.bot === undefined ? {} : { bot: options.bot }),
  };
}

function approvalSeconds({
  approval_timeout_ms: ms,
  approval_timeout_s: seconds = RUN_DEFAULTS.approval_timeout_ms / 1000,
}: RunOptions): number {
  return ms === undefined ? seconds : ms / 1000;
}

/** @throws InvalidRequest */
function compaction(options: RunOptions): CompactionOptions {
  const read = compactionOptions(options);
  if (read.strategy !== "custom" || read.compact_callback !== null) return read;
  const detail = 'The compaction strategy "custom" needs compact_callback, the hook that writes the summary.';
  throw new InvalidRequest({ option: "compact_callback", detail });
}

type GivenHook = NonNullable<RunOptions["tool_hooks"]>[number];
const toolHook = ({
  pattern,
  pre = null,
  post = null,
  deny = null,
  max_output = null,
}: GivenHook): ToolHook => ({ pattern, pre, post, deny, max_output });

function turnPolicy({ turn_policy: given }: RunOptions): AgentSpec["turn_policy"] {
  if (given === undefined) return null;
  return {
    require_action_or_yield: given.require_action_or_yield ?? false,
    allow_done_sentinel: given.allow_done_sentinel ?? true,
    max_prose_chars: given.max_prose_chars ?? null,
  };
}

/**
 * An item without an id gets its position as id, unless another item has that number.
 * @throws InputInvalid for two items with one id: the model could close only one of them
 */
function taskLedger({ root_task, task_ledger, deliverables }: RunOptions): TaskLedger | null {
  const asked = task_ledger ?? deliverables;
  if (asked === undefined) return null;
  const given = asked.map((item) => (typeof item === "string" ? { title: item } : item));
  const ids = new Set<string>();
  for (const [n, { id }] of given.entries()) {
    if (id === undefined) continue;
    if (ids.has(id))
      throw refusedOption(`task_ledger.${n}.id`, `another item has the id ${JSON.stringify(id)}`);
    ids.add(id);
  }
  let number = 0;
  const items = given.map(({ id, title, status = "open", note }, n): LedgerItem => {
    if (id === undefined) {
      number = Math.max(number, n);
      do number++;
      while (ids.has(String(number)));
    }
    return { id: id ?? String(number), title, status, ...(note === undefined ? {} : { note }) };
  });
  return { root_task: root_task ?? null, items };
}
