/** The specification of an agent run: options with their defaults filled in, fixed for the run's life. JSON-safe. */
import type {
  CommandAnnotations,
  CommandHook,
  CommandTool,
  Json,
  JsonObject,
  McpServer,
  Risk,
} from "../../skill/manifest.ts";
import type {
  Message,
  ModelRequest,
  ProviderPassthrough,
  SystemBlock,
  Thinking,
  ToolDefinition,
  Warning,
} from "../messages.ts";
import type { TaskLedger } from "./task-ledger.ts";

/** Who executes a tool call. `isolate`: a handler of Skill Tools. */
type ToolExecutor = "command" | "hook" | "isolate" | "webhook" | "mcp" | "client" | "builtin" | "workspace";

export type ToolAnnotations = CommandAnnotations & Pick<CommandTool, "idempotent">;

export interface AgentTool {
  definition: ToolDefinition;
  executor: ToolExecutor;
  annotations: ToolAnnotations;
  /** The risk of a skill's or the host's tool; absent: unknown. */
  risk?: Risk;
  /** The deployment wants an approval for each call. */
  needs_approval?: boolean;
  /** What the executor needs, e.g. a command or the name of a hook. */
  handler: Json;
  /** The skill that the tool belongs to; `null`: the caller defined it. */
  skill: string | null;
  /** The source of a handler's code, which decides how far Hull trusts it. */
  trust?: "published" | "uploaded" | "session";
  /** On offer only once its skill is active or loaded. */
  on_activation?: true;
  /**
   * For a workspace tool: its names in other clients that belong to other tools of this run, so that it does not answer
   * to them. Absent: none.
   */
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
  /** SHA-256 of its text and files: of a served skill its version. Absent in runs that were stored without it. */
  digest?: string;
  /** `false`: a message cannot activate it by prefix. Absent: it can. */
  user_invocable?: false;
  /** Who signed it, and whether the deployment trusts the signer. Absent: nobody. */
  signature?: { signer: string; trusted: boolean };
  /** MCP servers whose tools appear when it becomes active. Absent: none. */
  mcp?: string[];
  /** Files of a served skill other than its SKILL.md: the first ones, sorted, and their number. */
  files?: { paths: string[]; count: number };
  /** The skill's folder as the workspace tools and processes see it: an absolute path. Absent: the skill was not served. */
  dir?: string;
  /** Its folder inside its plugin's, whose files the model may also read. Absent: it may not. */
  plugin_path?: string;
  /** Its text links to files of the plugin, so `dir` is inside `plugin_dir`. */
  plugin_linked?: true;
  /** Absolute path of that plugin's folder. */
  plugin_dir?: string;
  /** The part before the name in `plugin:name`. Absent: the skill belongs to no plugin. */
  plugin?: string;
  /** If a model loads it, it runs as a sub-agent with its own conversation. */
  fork?: true;
  /** The skill was uploaded, so it approves no calls. */
  uploaded?: true;
  /** The skill is stored without a route. Absent: it has a route. */
  stored?: true;
  /** See `AgentSpec.max_tool_rounds`; of a sub-agent that carries it out. Absent: its manifest names no number. */
  max_tool_rounds?: number;
  /** Entries of `allowed-tools` that approve calls while the skill is active. Absent: none. */
  approved_tools?: string[];
  /** The manifest says what it is called with. Absent: only its text may. */
  takes_arguments?: true;
  /** Commands that run at events while the skill is active. Absent: none. */
  command_hooks?: CommandHook[];
  /** What the run's own skill was called with, for the commands in its text. Absent: nothing, or it has no commands. */
  arguments?: string;
}

/** What happens around calls of the tools that a glob names. Values are hook references; `null`: none. */
export interface ToolHook {
  pattern: string;
  pre: string | null;
  post: string | null;
  /** Why every such call is refused; `null`: it is not. */
  deny: string | null;
  /** The most characters of a result; `null`: no limit. */
  max_output: number | null;
}

interface TurnPolicy {
  require_action_or_yield: boolean;
  allow_done_sentinel: boolean;
  max_prose_chars: number | null;
}

/** Conditions of the tool calls of a run; `null`: none. */
export interface RunPolicies {
  /** The deployment's and the run's own policy; both hold. */
  policy: JsonObject | null;
  /** The deployment's policy alone, which holds whatever the run's own says about tools. Absent: there is none. */
  ceiling?: JsonObject;
  /** Those of which `ceiling` is made, each with its own `tool_annotations`; no other policy relaxes one. Absent: only `ceiling`. */
  ceilings?: JsonObject[];
  approval_policy: JsonObject | null;
  permissions: JsonObject | null;
  /** Policies of the runs above, which also hold. Absent: none. */
  above?: Pick<RunPolicies, "approval_policy" | "permissions">[];
  /** Tools that the policy requested and its ceiling excluded. Absent: none. */
  dropped?: string[];
  /** Hull asks a host delegate first if a call needs an approval. */
  host?: true;
  /** Seconds until an unanswered approval counts as a denial; may be below 1. */
  approval_timeout_s: number;
}

export const COMPACTION_STRATEGIES = ["observation_mask", "llm", "truncate", "custom"] as const;
/** The strategies that need no hook. */
export const HARD_LIMIT_STRATEGIES = ["llm", "truncate", "observation_mask"] as const;

export interface CompactionOptions {
  /** `null`: compact only at the hard limit, for safety. */
  auto: boolean | null;
  /** Set by the user; `null`: the default. */
  threshold_tokens: number | null;
  keep_first: number;
  keep_last: number;
  strategy: (typeof COMPACTION_STRATEGIES)[number];
  /** The strategy's name in the request; absent: `strategy`. */
  strategy_name?: string;
  hard_limit_tokens: number | null;
  hard_limit_strategy: (typeof HARD_LIMIT_STRATEGIES)[number];
  tool_output_max_chars: number;
  compact_callback: string | null;
  mask_callback: string | null;
  compress_callback: string | null;
}

/** A limit to what one wake of a daemon uses. */
export const WAKE_LIMITS = ["max_iterations", "max_tokens", "max_cost_usd"] as const;
export type WakeLimit = (typeof WAKE_LIMITS)[number];

export interface DaemonOptions {
  /** Whether the request gave `max_iterations`, which then bounds the whole run; else each wake counts anew. */
  bounded: boolean;
  /**
   * Limits of each wake, including the run's beginning; its `max_iterations` replaces the one above. Absent: no further
   * limits.
   */
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
  /** How long Hull waits after a failure that may pass before it resumes the daemon. Absent: a person resumes it. */
  resume_after_ms?: number;
  /** How often it failed in a row before this run; absent: it did not, or a person resumed it. */
  failures?: number;
  /** It continues an earlier run's conversation, and first waits for a wake. */
  begins_idle?: boolean;
  /** Iterations of the run whose snapshot it continues. */
  earlier_iterations?: number;
}

/** The function that a hook reference means. */
export interface HookTarget {
  slug: string;
  /** SHA-256 of the module. */
  module: string;
  exportName: string;
  /** Each call has an isolate of its own, since the skill was uploaded. */
  fresh: boolean;
}

/** What a call of a served skill promises in addition to a plain run (docs/manifest.md). */
export interface ServedTerms {
  /** SHA-256 (hex) of the initial files of its work folder, by path. Absent: it has none. */
  inputs?: { [path: string]: string };
  /** After this many rounds Hull makes one more call, which declares tools but does not permit calls. */
  max_tool_rounds: number;
  /** Limit of the answers of handlers and MCP tools; commands have the limit of their skill. */
  max_tool_output_bytes: number;
  max_tokens: number;
  /** In runs that earlier versions of Hull began: what `called`, `call` and `skill_limits` say. */
  json?: boolean;
  thinking?: Thinking;
  timeout_ms?: number;
  idle_timeout_ms?: number;
}

interface SkillLimits extends Pick<ServedTerms, "max_tool_output_bytes"> {
  /** The longest wait for the first byte of a model call. Absent: the run's options limit its calls. */
  first_byte_ms?: number;
}

/** Who delegated a run, and who pays. */
interface Delegation {
  /** `run_id` is `null` if no run was under way. `null`: a request that names no session. */
  parent: { session_id: string; run_id: string | null } | null;
  /** Levels below this run that may delegate; -1: the run itself may not. */
  levels: number;
  /** The session whose budgets the run counts against. */
  account: string;
  /** The session whose files the run works on. Absent: its own. */
  files?: string;
}

/** See `ModelRequest`. */
export type VendorTerms = Pick<ModelRequest, "system_blocks" | "system_listed" | "parallel_tool_calls">;

export interface AgentSpec {
  run_id: string;
  /** `null`: an anonymous run. */
  session_id: string | null;
  system: string;
  /** What a vendor's client asked for beyond the run's own options. Absent: the run is of no such client. */
  vendor?: VendorTerms;
  /** In runs that earlier versions of Hull began: as in `vendor`. */
  system_blocks?: SystemBlock[];
  /** What this run adds to the conversation before its first model call. */
  prompt: Message[];
  tools: AgentTool[];
  tool_format: "native" | "text";
  /** The option as the request gave it. */
  tool_search: Json;
  tool_examples: string | null;
  tool_choice: Json;
  skills: AgentSkill[];
  /** Skills that models only hand work to, with `sub_agent`. Absent: none. */
  agents?: AgentSkill[];
  /** Set for a call of a skill, which is answered with the model's last text. Absent: the answer is a document. */
  served?: ServedTerms;
  /**
   * The run is a call of the skill's own route: a budget that refuses a model call is an error. `json`: Hull asks for JSON
   * if the provider has such a mode. Absent: it is not such a call, or an earlier version began it outside of a session.
   */
  called?: { json: boolean };
  /** Limits of the run's own skill that are not among its options. Absent: it has no such skill, or an older version began it. */
  skill_limits?: SkillLimits;
  /**
   * The run is one answer: its first turn, whatever calls that makes, or the first that does more than search for
   * tools. Absent: it continues as its turns demand.
   */
  single?: true;
  /** Text with which the first answer must begin. Absent means any. */
  prefill?: string;
  /** When the run must end (Unix ms), and the time that it has in all (ms). Absent: no limit. */
  deadline?: { at: number; ms: number };
  /** Who delegated the run. Absent: nobody did. */
  delegation?: Delegation;
  /** The folder where its first command begins, relative to the work folder. Absent: the work folder. */
  cwd?: string;
  /** Variables of its commands, by name. Absent: none. */
  variables?: { readonly [name: string]: string };
  /**
   * From this time (Unix ms) on no further model call begins, and the run ends after its last results. Absent: never.
   */
  pause_at?: number;
  /** Accompanies every request to a model of its protocol. Absent: nothing. */
  beside?: ProviderPassthrough;
  /** How Hull chose among models and providers. Absent: it did not. */
  routing?: JsonObject;
  /** Further targets in case the model fails; a run stays with the one that answered. Absent: none. */
  fallback?: { provider: string; model: string | null }[];
  /** Name of the served skill that the run is. Absent: it is not a served skill. */
  agent?: string;
  /** The served skill that the run is, if it has files to read. Absent: none. */
  own_skill?: AgentSkill;
  /** Names the parent folder of the skills' folders. Absent: no skill of the run was served. */
  skills_key?: string;
  /** MCP servers that the request defined, with their addresses. Absent: none. */
  mcp_servers?: McpServer[];
  /** Warnings about the request. Absent: none. */
  warnings?: Warning[];
  skill_match: { strategy: string; top_n: number; sticky: boolean };
  /** Tokens of the list of skills. Absent: the default. */
  skill_catalogue_tokens?: number;
  working_files: string[];
  persistent: boolean;
  done_sentinel: string;
  max_iterations: number;
  /**
   * After this many model calls, the run makes one more, which declares tools but does not permit calls of them. For a
   * daemon, this counts the calls of one wake. The manifest of the run's own skill sets it. Absent: no such limit, or
   * `served` has it.
   */
  max_tool_rounds?: number;
  max_nudges: number;
  nudge: string | null;
  tool_retries: number;
  tool_backoff_ms: number;
  turn_policy: TurnPolicy | null;
  stop_after_successful_tools: string[];
  require_successful_tools: string[];
  /** A `warn` of 0 switches it off. */
  loop_detect: { warn: number; block: number; skip: number };
  exit_when_verified: boolean;
  token_budget: number | null;
  total_budget_usd: number | null;
  native_tool_fallback: "allow" | "allow_once" | "reject";
  break_unless_phase: string | null;
  /** The ledger's initial state; `null`: the run keeps no ledger. */
  task_ledger: TaskLedger | null;
  /** Hook references; `null`: none. */
  context_callback: string | null;
  post_turn_callback: string | null;
  /** Model alias for each slot, for handlers of tools. Absent: none. */
  models?: JsonObject;
  /** All tool calls of a turn keep their order. Absent: only those that write. */
  parallel_tool_calls?: false;
  /** Hooks around tool calls, in the order in which Hull calls them. Absent: none. */
  tool_hooks?: ToolHook[];
  /** Skills of the runs above whose command hooks also watch this run's calls. Absent: none. */
  watchers?: AgentSkill[];
  /** All hooks that the run may call, by reference; found before it starts. Absent: none. */
  hooks?: Record<string, HookTarget>;
  policies: RunPolicies;
  /** The bot whose configured values tools get; absent: the values that count for everybody. */
  bot?: string;
  /** Values of tools' parameters for this run alone, by tool; secrets are sealed. Absent: none. */
  tool_configs?: JsonObject;
  compaction: CompactionOptions;
  /** `null`: no daemon. */
  daemon: DaemonOptions | null;
  /** The answer must be JSON. Absent: text. */
  structured?: true;
  /** Structured output, sampling, retries, provider, model. Only the driver's model effect reads them. */
  call: JsonObject;
  /**
   * The run's own skill sets the call's `max_tokens`. It is only an upper bound, so a budget does not count it as
   * needed. Absent: the caller or nobody sets it.
   */
  skill_max_tokens?: true;
  /** The abilities of the model that matter to the loop; fixed when the run starts. */
  model: {
    provider: string;
    model: string;
    context_window: number | null;
    native_tools: boolean;
    defer_loading: boolean;
    tool_search: string[];
    /** `false`: the model takes no images. Absent: it does, or this is unknown. */
    vision?: false;
    /** It takes PDF files. Absent: it does not, or this is unknown. */
    pdf?: true;
  };
}

/** What a run leaves to those that it delegates to. JSON-safe. */
export interface Ceilings {
  run_id: string | null;
  session_id: string | null;
  account: string | null;
  levels: number;
  deadline: AgentSpec["deadline"] | null;
  /** What is left of the budgets; `null`: there is no budget. */
  tokens: number | null;
  usd: number | null;
  policies: RunPolicies | null;
  hooks: AgentSpec["hooks"] | null;
  tool_hooks: NonNullable<AgentSpec["tool_hooks"]>;
  /** The skills whose command hooks watch its calls, without their texts. Absent: none. */
  watchers?: AgentSkill[];
  /** The tools that its skills leave on offer, whatever their arguments. */
  tools: AgentSpec["tools"];
  /** The session whose files it works on. Absent: its own. */
  files?: string;
}
