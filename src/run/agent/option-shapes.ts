/** The names and types of the options that agent runs have besides those of a call. */
import * as z from "zod/mini";
import { LEDGER_STATUSES } from "../../engine/agent/task-ledger.ts";
import { type Fault, faultsIn } from "../../engine/fault.ts";
import { compactionShapes } from "../../llm/compaction-options.ts";
import { parseSparse, TEXTS } from "../../llm/options.ts";
import { once } from "../../memo.ts";
import { BOT_ID } from "../../skill/config/given.ts";
import { MAX_AHEAD_MS, MAX_MS } from "../../skill/field-kinds.ts";
import { textsIn, withoutNulls } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { MAX_MCP_TIMEOUT_MS } from "../../skill/mcp-server-name.ts";
import { approvalPolicyShape, permissionsShape, policyShape } from "../../skill/policy.ts";
import { WORKSPACE_LIMITS } from "../../tool/workspace-path.ts";

/** Hull matches each of them with each glob of each skill. */
const MAX_WORKING_FILES = 1000;

const maybe = z.exactOptional;

function shapes() {
  const text = z.string();
  const texts = z.array(text);
  const path = text.check(z.maxLength(WORKSPACE_LIMITS.path_bytes));
  const count = z.int().check(z.nonnegative());
  const flag = z.boolean();
  const json = z.custom<Json>((value) => value !== undefined);
  return {
    profile: maybe(text),
    skill: maybe(text),
    skills: maybe(json),
    dynamic_tools: maybe(flag),
    workspace_tools: maybe(z.union([flag, texts], "must be true, false or a list of tools")),
    skill_tools: maybe(z.enum(["at_start", "on_activation"])),
    models: maybe(z.record(text, text)),
    skill_match: maybe(z.strictObject({ strategy: maybe(text), top_n: maybe(count), sticky: maybe(flag) })),
    skill_catalogue_tokens: maybe(z.int().check(z.positive())),
    mcp_servers: maybe(
      z
        .array(
          z.union(
            [
              text,
              z.strictObject({
                name: text,
                url: maybe(text),
                tools: maybe(texts),
                timeout_ms: maybe(z.int().check(z.gte(1), z.lte(MAX_MCP_TIMEOUT_MS))),
              }),
            ],
            "must be a name of hull.toml, or {name, url?, tools?, timeout_ms?}",
          ),
        )
        .check(z.maxLength(16)),
    ),
    working_files: maybe(
      z.union(
        [z.array(path).check(z.maxLength(MAX_WORKING_FILES)), path],
        `${TEXTS}, at most ${MAX_WORKING_FILES} paths of at most ${WORKSPACE_LIMITS.path_bytes} characters`,
      ),
    ),
    persistent: maybe(flag),
    done_sentinel: maybe(text.check(z.minLength(1))),
    max_iterations: maybe(count),
    max_nudges: maybe(count),
    nudge: maybe(text),
    parallel_tool_calls: maybe(flag),
    sub_agents: maybe(flag),
    deadline_ms: maybe(z.int().check(z.gte(1), z.lte(MAX_MS))),
    tool_retries: maybe(count),
    tool_backoff_ms: maybe(count),
    turn_policy: maybe(
      z.strictObject({
        require_action_or_yield: maybe(flag),
        allow_done_sentinel: maybe(flag),
        max_prose_chars: maybe(z.int().check(z.positive())),
      }),
    ),
    stop_after_successful_tools: maybe(texts),
    require_successful_tools: maybe(texts),
    loop_detect_warn: maybe(count),
    loop_detect_block: maybe(count),
    loop_detect_skip: maybe(count),
    exit_when_verified: maybe(flag),
    token_budget: maybe(count),
    native_tool_fallback: maybe(z.enum(["allow", "allow_once", "reject"])),
    break_unless_phase: maybe(text),
    task_ledger: maybe(
      z.array(
        z.union(
          [
            text,
            z.strictObject({
              title: text,
              id: maybe(text.check(z.minLength(1))),
              status: maybe(z.enum(LEDGER_STATUSES)),
              note: maybe(text),
            }),
          ],
          `must be a string, or {title, id?, status?, note?} with a status of ${LEDGER_STATUSES.join(", ")}`,
        ),
      ),
    ),
    deliverables: maybe(texts),
    root_task: maybe(text),
    context_callback: maybe(text),
    context_filter: maybe(text),
    post_turn_callback: maybe(text),
    bot: maybe(
      text.check(z.regex(BOT_ID, "an id of 1 to 128 characters A-Za-z0-9._:-, the first a letter or digit")),
    ),
    tool_configs: maybe(z.record(text, z.json())),
    tool_hooks: maybe(
      z.array(
        z.strictObject({
          pattern: text.check(z.minLength(1)),
          pre: z.nullish(text),
          post: z.nullish(text),
          deny: z.nullish(text),
          max_output: z.nullish(z.int().check(z.positive())),
        }),
      ),
    ),
    policy: maybe(policyShape),
    approval_policy: maybe(approvalPolicyShape),
    permissions: maybe(permissionsShape),
    approval_timeout_ms: maybe(z.int().check(z.positive(), z.lte(MAX_AHEAD_MS))),
    approval_timeout_s: maybe(z.number().check(z.positive(), z.lte(MAX_AHEAD_MS / 1000))),
    ...compactionShapes(),
    daemon: maybe(flag),
    persist_path: maybe(text),
    resume_path: maybe(text),
    resume_after_ms: maybe(z.int().check(z.gte(1000), z.lte(86_400_000))),
    wake_interval_ms: maybe(count.check(z.lte(MAX_AHEAD_MS))),
    cron: maybe(text),
    time_zone: maybe(text),
    watch_paths: maybe(z.union([texts, text], TEXTS)),
    watch_events: maybe(z.array(z.enum(["change", "create", "delete"]))),
    consolidate_on_idle: maybe(flag),
    idle_watchdog_attempts: maybe(count),
    wake_budget: maybe(
      z.strictObject({
        max_iterations: maybe(z.int().check(z.positive())),
        max_tokens: maybe(z.int().check(z.positive())),
        max_cost_usd: maybe(z.number().check(z.positive())),
      }),
    ),
  };
}

/** What a run does if its options do not say it. */
export const RUN_DEFAULTS = {
  profile: "tool_using",
  skill_match: { strategy: "auto", top_n: 1, sticky: true },
  persistent: false,
  done_sentinel: "##DONE##",
  tool_backoff_ms: 1000,
  loop_detect_warn: 2,
  loop_detect_block: 3,
  loop_detect_skip: 4,
  exit_when_verified: false,
  native_tool_fallback: "allow",
  approval_timeout_ms: 86_400_000,
} as const satisfies Partial<RunOptions>;

/** What the options leave out, by the option `profile`. */
export const PROFILES = {
  tool_using: { max_iterations: 50, max_nudges: 3, tool_retries: 0, llm_retries: 3, schema_retries: 0 },
  researcher: { max_iterations: 30, max_nudges: 4, tool_retries: 0, llm_retries: 2, schema_retries: 0 },
  verifier: { max_iterations: 5, max_nudges: 0, tool_retries: 0, llm_retries: 2, schema_retries: 3 },
  completer: { max_iterations: 1, max_nudges: 0, tool_retries: 0, llm_retries: 2, schema_retries: 0 },
} as const;

const schema = once(() => z.object(shapes()));
/** The options that only runs have. */
export const runOptions = z.lazy(schema);
export type RunOptions = z.infer<typeof runOptions>;

/** The names of the options that only runs have. */
export const runOptionNames = once((): readonly string[] => Object.keys(schema().shape));
const isRunOption = once(() => new Set(runOptionNames()));

/** Members of these options also count as absent when they are `null`. In other options a `null` may be a value. */
const STRUCTURES = new Set([
  "skill_match",
  "turn_policy",
  "policy",
  "approval_policy",
  "permissions",
  "wake_budget",
  "compaction",
  "task_ledger",
  "mcp_servers",
]);

/** Splits options into those of the run and those of its model calls. `null` counts as absent. */
export function divide(given: JsonObject): { run: JsonObject; call: JsonObject } {
  const names = isRunOption();
  const run: JsonObject = {};
  const call: [string, Json][] = [];
  for (const [name, value] of Object.entries(given)) {
    if (value === null) continue;
    if (names.has(name)) run[name] = STRUCTURES.has(name) ? withoutNulls(value) : value;
    else call.push([name, value]);
  }
  return { run, call: Object.fromEntries(call) };
}

/** The run's options, or their faults. */
export function readRunOptions(given: JsonObject): { options: RunOptions } | { faults: Fault[] } {
  const parsed = parseSparse(schema(), given);
  if (parsed.success) return { options: parsed.data };
  return { faults: faultsIn(parsed.error, given, ["options"]) };
}

/** An option's list of texts; a single text is a list of one. */
export function listOf(value: Json | string | readonly string[] | undefined): string[] {
  if (typeof value === "string") return [value];
  return textsIn(value) ?? [];
}
