/**
 * What an agent run was started with: options with their defaults filled in, fixed for the run's
 * life. JSON-safe.
 */
import type { Json, JsonObject, McpServer, Risk, SideEffectLevel, ToolKind } from "../../skill/manifest.ts";
import type { Beside, Message, Thinking, ToolDefinition, Warning } from "../messages.ts";
import type { TaskLedger } from "./task-ledger.ts";

/** How a tool call is carried out; what it takes beyond that is the driver's business. `isolate`: a handler of Skill Tools. */
type ToolExecutor = "command" | "hook" | "isolate" | "webhook" | "mcp" | "client" | "builtin" | "workspace";

export interface ToolAnnotations {
  kind?: ToolKind;
  side_effect_level?: SideEffectLevel;
  /** Capability to operations. */
  capabilities?: { [capability: string]: string[] };
  /** Names of arguments that hold paths, and what is done to them. */
  arg_schema?: JsonObject;
  /** A second run does no harm. */
  idempotent?: boolean;
}

export interface AgentTool {
  definition: ToolDefinition;
  executor: ToolExecutor;
  annotations: ToolAnnotations;
  /** Of a skill's tool, and of one that the host carries out; absent: not known. */
  risk?: Risk;
  /** The deployment wants an approval for each call. */
  needs_approval?: boolean;
  /** What the driver needs to carry it out, e.g. a command or a hook's name. */
  handler: Json;
  /** The skill that brought it; `null`: the caller. */
  skill: string | null;
  /** Where the code of a handler comes from, and so how far it is trusted. */
  trust?: "published" | "uploaded" | "session";
  /** On offer only once its skill is active or loaded. */
  on_activation?: true;
  /** Of a workspace tool: names of other tools of the run that would be its own too. Absent: none. */
  other_names?: string[];
}

/** A skill that a run may activate. */
export interface AgentSkill {
  name: string;
  description: string;
  when_to_use: string;
  prompt: string;
  paths: string[];
  allowed_tools: string[];
  disable_model_invocation: boolean;
  /** Hook references; `null`: none. */
  on_activate: string | null;
  on_deactivate: string | null;
  /** SHA-256 of what it brings: of a served skill its version. Absent in runs that were stored without. */
  digest?: string;
  /** Absent: a message may activate it by its prefix. */
  user_invocable?: false;
  /** Whose signature it has, and whether the deployment trusts them. Absent: it has none. */
  signature?: { signer: string; trusted: boolean };
  /** MCP servers whose tools come with its activation. Absent: none. */
  mcp?: string[];
  /** Files of a served skill beside its SKILL.md: the first ones, sorted, and how many there are. */
  files?: { paths: string[]; count: number };
  /** The skill's folder as the workspace tools and processes see it: an absolute path. Absent: the skill was not served. */
  dir?: string;
  /** The files of the plugin that it lies in can be read too. */
  plugin_files?: true;
  /** The folder of that plugin, likewise. */
  plugin_dir?: string;
  /** What stands before the name in `plugin:name`. Absent: nothing may. */
  plugin?: string;
  /** The skill was uploaded, and approves nothing. */
  uploaded?: true;
  /** It has no address: its digest alone finds it. Absent: its name does. */
  stored?: true;
  /** Calls that need no approval while the skill is active, as entries of `allowed-tools`. Absent: none. */
  approved_tools?: string[];
}

/** What happens around the calls of the tools that a glob names; hook references, `null`: none. */
export interface ToolHook {
  pattern: string;
  pre: string | null;
  post: string | null;
  /** Why no such call is made. */
  deny: string | null;
  /** Most characters of a result. */
  max_output: number | null;
}

interface TurnPolicy {
  require_action_or_yield: boolean;
  allow_done_sentinel: boolean;
  max_prose_chars: number | null;
}

/** Conditions of the tool calls of a run; `null`: none. */
export interface RunPolicies {
  /** The deployment's and the run's own, both holding. */
  policy: JsonObject | null;
  /** The deployment's alone, which holds whatever the run's own says of tools. Absent: there is none. */
  ceiling?: JsonObject;
  approval_policy: JsonObject | null;
  permissions: JsonObject | null;
  /** Tools that the policy asked for beyond its ceiling. Absent: none. */
  dropped?: string[];
  /** A host delegate is asked first where a call needs an approval. */
  host?: true;
  /** Seconds, also less than one, until an unanswered approval counts as a denial. */
  approval_timeout_s: number;
}

export interface CompactionOptions {
  /** `null`: only the safety net at the hard limit. */
  auto: boolean | null;
  /** As the user set it; `null`: the default. */
  threshold_tokens: number | null;
  keep_first: number;
  keep_last: number;
  strategy: "observation_mask" | "llm" | "truncate" | "custom";
  /** The strategy under the name that it was asked for by; absent: `strategy`. */
  strategy_name?: string;
  hard_limit_tokens: number | null;
  hard_limit_strategy: "llm" | "truncate" | "observation_mask";
  tool_output_max_chars: number;
  compact_callback: string | null;
  mask_callback: string | null;
  compress_callback: string | null;
}

/** A limit to what one wake of a daemon uses. */
export type WakeLimit = "max_iterations" | "max_tokens" | "max_cost_usd";

export interface DaemonOptions {
  /** Whether `max_iterations` was given, and so bounds the whole run; else it counts anew at each wake. */
  bounded: boolean;
  /** Of each wake, the run's beginning included; `max_iterations` comes before the one above. Absent: no further limits. */
  wake_budget?: Partial<Record<WakeLimit, number>>;
  wake_interval_ms: number;
  cron: string | null;
  time_zone: string;
  watch_paths: string[];
  watch_events: ("change" | "create" | "delete")[];
  consolidate_on_idle: boolean;
  idle_watchdog_attempts: number | null;
  persist_path: string | null;
  resume_path: string | null;
  /** It goes on with what an earlier run said, and first waits to be woken. */
  begins_idle?: boolean;
  /** Of the run whose snapshot it goes on with. */
  earlier_iterations?: number;
}

/** Where the function is that a hook reference means. */
export interface HookTarget {
  slug: string;
  /** SHA-256 of the module. */
  module: string;
  exportName: string;
  /** Each call has an isolate of its own. */
  fresh: boolean;
}

/** What a call of a served skill promises beyond any run (docs/manifest.md). */
export interface ServedTerms {
  /** SHA-256 (hex) of the files that its work folder begins with, by path. Absent: it has none. */
  inputs?: { [path: string]: string };
  /** After so many rounds one further call is made in which tools are declared but may not be called. */
  max_tool_rounds: number;
  /** Of what a handler or an MCP tool answers; commands have the limit from their skill. */
  max_tool_output_bytes: number;
  /** Ask for JSON where the provider has such a mode. */
  json: boolean;
  max_tokens: number;
  /** How much the model thinks. Absent: as the provider does by itself. */
  thinking?: Thinking;
  /** Of each model call, and of the silence within one. */
  timeout_ms: number;
  idle_timeout_ms: number;
}

export interface AgentSpec {
  run_id: string;
  /** `null`: an anonymous run. */
  session_id: string | null;
  system: string;
  /** What this run adds to the conversation before its first model call. */
  prompt: Message[];
  tools: AgentTool[];
  tool_format: "native" | "text";
  /** The option as given. */
  tool_search: Json;
  tool_examples: string | null;
  tool_choice: Json;
  skills: AgentSkill[];
  /** The run answers a call of its skill with the model's last text. Absent: with a document. */
  served?: ServedTerms;
  /**
   * The run is one answer: its first turn, whatever calls that makes, or the first that does more than search for tools.
   * Absent: it goes on as its turns want it to.
   */
  single?: true;
  /** What the first answer is to start with. Absent: anything. */
  prefill?: string;
  /** When it ends at the latest, Unix ms, and how long that was in ms. Absent: never. */
  deadline?: { at: number; ms: number };
  /** From then on (Unix ms) no further model call begins; the run ends after its last results. Absent: never. */
  pause_at?: number;
  /** Goes with every request to a model of its protocol. Absent: nothing. */
  beside?: Beside;
  /** Further targets where the model fails; a run stays with the one that answered. Absent: none. */
  fallback?: { provider: string; model: string | null }[];
  /** Name of the served skill that the run is. Absent: it is none. */
  agent?: string;
  /** The served skill that the run is, where it has files to read. Absent: none. */
  own_skill?: AgentSkill;
  /** Names the folder in which the skills' folders lie side by side. Absent: no skill of the run was served. */
  skills_key?: string;
  /** MCP servers that the request brought along, with their addresses. Absent: none. */
  mcp_servers?: McpServer[];
  /** What there was to say of what was asked for. Absent: nothing. */
  warnings?: Warning[];
  skill_match: { strategy: string; top_n: number; sticky: boolean };
  /** Tokens of the list of skills. Absent: the usual number. */
  skill_catalogue_tokens?: number;
  working_files: string[];
  persistent: boolean;
  done_sentinel: string;
  max_iterations: number;
  max_nudges: number;
  nudge: string | null;
  tool_retries: number;
  tool_backoff_ms: number;
  turn_policy: TurnPolicy | null;
  stop_after_successful_tools: string[];
  require_successful_tools: string[];
  loop_detect: { warn: number; block: number; skip: number };
  exit_when_verified: boolean;
  token_budget: number | null;
  total_budget_usd: number | null;
  native_tool_fallback: "allow" | "allow_once" | "reject";
  break_unless_phase: string | null;
  /** As it begins; `null`: the run has none. */
  task_ledger: TaskLedger | null;
  /** Hook references; `null`: none. */
  context_callback: string | null;
  post_turn_callback: string | null;
  /** Slot to model alias, as handlers of tools are told. Absent: none. */
  models?: JsonObject;
  /** All tool calls of a turn keep their order. Absent: those that write do. */
  parallel_tool_calls?: false;
  /** In the order in which they are asked. Absent: none. */
  tool_hooks?: ToolHook[];
  /** By reference: all that the run may call, found before it starts. Absent: none. */
  hooks?: Record<string, HookTarget>;
  policies: RunPolicies;
  /** Whose configured values tools get; absent: those that count for everybody. */
  bot?: string;
  /** Values of tools' parameters for this run alone, by tool; secrets are sealed. Absent: none. */
  tool_configs?: JsonObject;
  compaction: CompactionOptions;
  /** `null`: no daemon. */
  daemon: DaemonOptions | null;
  /** The answer is to be JSON. Absent: text. */
  structured?: true;
  /** Structured output, sampling, retries, provider, model: read by the driver's model effect alone. */
  call: JsonObject;
  /** `max_tokens` of the call is that of the skill which the run is: a bound, and nothing that a budget takes a call to need. Absent: not so. */
  skill_max_tokens?: true;
  /** What the model can do, as far as the loop asks; fixed when the run starts. */
  model: {
    provider: string;
    model: string;
    context_window: number | null;
    native_tools: boolean;
    defer_loading: boolean;
    tool_search: string[];
    /** Absent: it takes images, or nobody knows. */
    vision?: false;
    /** It takes PDF files. Absent: it does not, or nobody knows. */
    pdf?: true;
  };
}
