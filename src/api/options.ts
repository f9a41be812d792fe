/**
 * The meaning of each option of a model call, a run and a daemon. Names, types and ranges come from the shapes with
 * which Hull reads options; the compiler requires a text here for each option.
 */
import type * as z from "zod/mini";
import { COMPACTION_DEFAULTS } from "../llm/compaction-options.ts";
import { CALL_DEFAULTS, callOptions } from "../llm/options.ts";
import { PROFILES, RUN_DEFAULTS, runOptions } from "../run/agent/option-shapes.ts";
import { daemonFields } from "../run/request-bodies.ts";
import { objectOf } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { permissionsShape, policyShape } from "../skill/policy.ts";
import { ref, TEXT, TEXTS } from "./openapi-parts.ts";
import { schemaOf } from "./shape-schema.ts";

interface OptionText {
  text: string;
  /** The default. Absent: none. */
  default?: Json;
  /** The default in words, if it is not a fixed value. */
  otherwise?: string;
  /** The accepted values, if a shape leaves them to the code that uses them. */
  values?: readonly Json[];
  /** The same as a schema. */
  schema?: JsonObject;
}

type CallOption = keyof z.infer<typeof callOptions>;
type RunOption = keyof z.infer<typeof runOptions>;
type DaemonField = keyof z.infer<ReturnType<typeof daemonFields>>;
type Texts<Names extends string> = { readonly [name in Names]?: OptionText };

const HOOK = "The name of a [hook](runs.md#hooks)";

const MODEL = {
  provider: {
    text: 'The [provider](models.md). `"auto"` means that it follows from the model.',
    otherwise: "as [models.md](models.md) says",
  },
  model: { text: "A model id or an alias.", otherwise: "the provider's default" },
  model_tier: { text: "A tier or an alias instead of a model: `small`, `mid`, `frontier`." },
  route_policy: {
    text: "How Hull chooses among models, see [routing](models.md#routing).",
    default: "manual",
  },
  fallback_chain: {
    text: "Providers that Hull asks in this order after the first one failed, with the same model id. A text lists them with commas.",
    otherwise: "the provider's `fallback`, if [its definition](models.md#providers) has one",
  },
} as const satisfies Texts<CallOption>;

const CONVERSATION = {
  messages: {
    text: "The conversation. It replaces `prompt`.",
    schema: { type: "array", items: ref("schemas", "Message") },
  },
  transcript: {
    text: "A [transcript](transcripts.md) that the call continues. Not together with `session_id`.",
    schema: ref("schemas", "Transcript"),
  },
  session_id: { text: "A [session](sessions.md) that the call continues." },
  prefill: {
    text: "The beginning of the answer, if the model can continue one. The answer's text is what the model adds; of a JSON answer that needs its beginning it is both, and only `delta` is what the model adds.",
  },
  metadata: { text: "The caller's own data. Hull does not read it." },
} as const satisfies Texts<CallOption>;

const SAMPLING = {
  max_tokens: { text: "The most tokens of an answer." },
  temperature: { text: "Sampling temperature.", otherwise: "not sent, or `[llm.model_defaults]`" },
  top_p: { text: "Nucleus sampling.", otherwise: "the same" },
  top_k: { text: "Sampling among the first `k` tokens.", otherwise: "the same" },
  seed: { text: "Seed of the sampling.", otherwise: "the same" },
  frequency_penalty: { text: "Penalty for repeated tokens.", otherwise: "the same" },
  presence_penalty: { text: "Penalty for tokens that have already occurred.", otherwise: "the same" },
  stop: { text: "Texts that end the answer. An empty list counts as absent." },
} as const satisfies Texts<CallOption>;

const STRUCTURED = {
  response_format: {
    text: "Whether the answer is JSON.",
    default: "text",
    values: ["text", "json", "json_object"],
  },
  json_schema: { text: "The JSON Schema for the provider, which the answer must match." },
  schema: { text: "The same; `json_schema` wins." },
  output_schema: {
    text: "The schema that Hull checks the answer against, if it differs.",
    otherwise: "`json_schema`",
  },
  output_format: {
    text: 'The same as an object or its `kind`: `"text"`, `"json_object"`, `"json_schema"`. `strict` is `true` unless given: OpenAI then refuses a schema with an object that does not require all its members and forbid others.',
    schema: {
      oneOf: [
        { enum: ["text", "json_object", "json_schema"] },
        {
          type: "object",
          required: ["kind"],
          properties: {
            kind: { enum: ["text", "json_object", "json_schema"] },
            schema: { type: "object" },
            strict: { type: "boolean", default: true },
          },
          additionalProperties: false,
        },
      ],
    },
  },
  output_validation: {
    text: "What happens if the answer does not match: nothing, the warning `schema_mismatch` of the result, or 422 `schema_validation`.",
    default: "off",
    values: ["off", "warn", "error"],
  },
  schema_retries: {
    text: "How often Hull asks again after an answer that does not match.",
    otherwise: "`1`; `3` for `/llm/structured`; of the `profile` for runs",
  },
  retries: { text: "Another name of `schema_retries`." },
  schema_retry_nudge: {
    text: "Whether Hull says what was wrong when it asks again. A text replaces Hull's words.",
    default: true,
  },
  repair: {
    text: "For `/llm/structured`: a last call turns the text into JSON. Members other than `enabled` are options of that call.",
    default: false,
  },
} as const satisfies Texts<CallOption>;

const THINKING = {
  thinking: {
    text: "Whether and how much the model reasons before it answers. With the mode `adaptive`, and with `adaptive: true` beside the mode `effort`, a model that cannot reason answers without; otherwise it is 400 `capability_missing`.",
    default: false,
    schema: {
      anyOf: [
        { type: "boolean" },
        { enum: ["enabled", "on", "adaptive", "low", "medium", "high", "off"] },
        {
          type: "object",
          properties: {
            enabled: { type: "boolean" },
            mode: { enum: ["enabled", "adaptive", "effort"] },
            budget_tokens: { type: "integer", minimum: 1 },
            level: { enum: ["low", "medium", "high"] },
            adaptive: { const: true },
          },
          additionalProperties: false,
        },
      ],
    },
  },
  reasoning_effort: { text: "The same as `thinking` with that level. Not together with `thinking`." },
  interleaved_thinking: { text: "Anthropic: reasoning between tool calls." },
  anthropic_beta_features: { text: "Anthropic: names of beta features." },
} as const satisfies Texts<CallOption>;

const CALL_TOOLS = {
  tools: {
    text: 'Tools that the model may call: `{name, description, parameters?}` each. A [hook](runs.md#hooks) executes a tool that names it as its `handler`, and the [host](runs.md#the-host-delegate) executes a tool with `executor: "webhook"`. The caller answers calls of all others.',
    default: [],
  },
  tool_choice: {
    text: "Whether the model must call a tool. Hull sends it in OpenAI's protocols only if the request sets it.",
    default: "auto",
    schema: {
      oneOf: [
        { enum: ["auto", "none", "required"] },
        { type: "object", required: ["name"], properties: { name: TEXT }, additionalProperties: false },
      ],
    },
  },
  tool_search: {
    text: 'Tools with `defer_loading`, except those in `always_loaded`, stay out of the context until the model finds them by a search: the provider\'s (`mode: "native"`) or Hull\'s (`"client"`, by its `strategy`); `"auto"` prefers the provider\'s. `budget_tokens` limits what Hull\'s search brings in.',
    default: false,
    schema: {
      oneOf: [
        { type: "boolean" },
        { enum: ["bm25", "regex"] },
        {
          type: "object",
          properties: {
            variant: { enum: ["bm25", "regex"], default: "bm25" },
            mode: { enum: ["auto", "native", "client"], default: "auto" },
            strategy: { enum: ["bm25", "regex", "semantic", "host"] },
            always_loaded: TEXTS,
            budget_tokens: { type: "integer", minimum: 1 },
            name: { ...TEXT, default: "hull_tool_search" },
            include_stub_listing: { type: "boolean", default: false },
          },
          additionalProperties: false,
        },
      ],
    },
  },
  tool_format: {
    text: "How the model calls tools: by the provider's own tool calls, or in its text. A call of a skill's route without a session, and of a skill under `/v1`, always has `native`.",
    otherwise: "`native` if the model can",
  },
  tool_examples: { text: "Examples of calls for the system text, if the model calls tools in its text." },
} as const satisfies Texts<CallOption>;

const TERMS = {
  timeout_ms: {
    text: "How long one attempt at a model call may take. The default limits only the wait for the first byte of a stream.",
    otherwise: "`HULL_LLM_TIMEOUT` (seconds), else `120000`",
  },
  idle_timeout_ms: { text: "How long a stream may be silent once it has begun.", otherwise: "`timeout_ms`" },
  timeout: { text: "`timeout_ms` in seconds." },
  idle_timeout: { text: "`idle_timeout_ms` in seconds." },
  llm_retries: {
    text: "How often Hull repeats a model call after a transient failure.",
    otherwise: "the provider's `retry_count`, else `2`, for runs that of the `profile`",
  },
  llm_backoff_ms: {
    otherwise: "the provider's `retry_delay_ms`, else `2000`",
    text: "Unit of the pauses before repetitions: these are 2, 4, 8, 16, 16, … units long, or up to 20 % longer. A `Retry-After` of up to 30 s replaces a pause; with a longer one Hull does not repeat the call.",
  },
  stream: {
    text: "Whether the provider streams to Hull. The answer to the caller does not depend on it: a stream then has the text of each model call at once.",
    otherwise: "`true`, unless `HULL_LLM_STREAM` says `0`",
  },
  cache: { text: "Whether the provider may cache the prompt.", default: false },
  budget: {
    text: "Limits of each call, and with `total_budget_usd` of the whole run or session: 402 `budget_exceeded`; a run ends as `budget_exhausted`. Without `max_tokens`, Hull sends `max_output_tokens` in its place. See [budgets](budgets.md).",
  },
  vision: { text: "The call needs a model that sees images: 400 `capability_missing` otherwise." },
  audio: { text: "The same for audio input." },
  pdf: { text: "The same for PDF files." },
  mock: { text: "Answers that replace the provider's, see [mocks](testing.md#mocks)." },
} as const satisfies Texts<CallOption>;

const CALL_TEXTS: { readonly [name in CallOption]-?: OptionText } = {
  ...MODEL,
  ...CONVERSATION,
  ...SAMPLING,
  ...STRUCTURED,
  ...THINKING,
  ...CALL_TOOLS,
  ...TERMS,
};

const SKILLS = {
  skill: {
    text: "The served llm skill to run, with its body, model, fallbacks, effort, limits and tools. Limits are `max_tokens`, `timeout_ms`, `idle_timeout_ms` and `max_tool_output_bytes` of its manifest, and `max_tool_rounds` ([rounds of a skill](runs.md#rounds-of-a-skill)) and `deadline_ms` where it names them; the options of the run win.",
  },
  skills: {
    text: 'Skills that the run may use: slugs, ids or names of [stored skills](skills-api.md), [inline skills](runs.md#skills), or `"*"` for all that are served.',
    default: [],
    schema: { anyOf: [TEXT, { type: "array", items: { type: ["string", "object"] } }, { type: "object" }] },
  },
  skill_tools: {
    text: "When the model gets the tools of the skills' `tools.json`: from the start, or once their skill is active or loaded. If two skills have a tool of the same name, that of the later skill wins; the run's own tool wins over both.",
    default: "at_start",
  },
  skill_match: {
    text: "How skills become active, and whether Hull decides again at each turn: `auto`, `metadata`, `host`, `none`. With `top_n: 0`, no skill becomes active by matching. A message that begins with `/slug` loads that skill in any case.",
  },
  skill_catalogue_tokens: {
    text: "The most tokens of the list of skills in the system text.",
    otherwise: "`skill_catalogue_tokens` of hull.toml, else `4000`",
  },
  working_files: { text: "At most 1000 paths that Hull matches with `paths` of skills.", default: [] },
} as const satisfies Texts<RunOption>;

const RUN_TOOLS = {
  workspace_tools: {
    text: "[Tools to work on files](real-skills.md#which-runs-have-the-tools): all, none, or those with these names.",
    otherwise: "by the run's skills",
  },
  dynamic_tools: {
    text: "The model gets [`define_tool` and `remove_tool`](runs.md#tools-that-the-model-makes).",
    default: false,
  },
  mcp_servers: {
    text: "[MCP servers](mcp.md#servers-of-the-deployment), by their names in hull.toml or with a `url`. Their tools are `<server>__<tool>`.",
    default: [],
  },
  parallel_tool_calls: { text: "Whether the tool calls of a turn run in parallel.", default: true },
  sub_agents: {
    text: "Whether the model may hand work to [sub-agents](tasks.md#sub-agents) with the tool `sub_agent`.",
    otherwise: "by the run's skills",
  },
  deadline_ms: {
    text: "The whole run, its waits included, takes at most this many ms: 504 `deadline_exceeded`.",
    otherwise: "no limit",
  },
  tool_retries: { text: "How often Hull repeats a failed tool call.", otherwise: "of the `profile`" },
  tool_backoff_ms: { text: "The pause before the first repetition; it doubles." },
  native_tool_fallback: {
    text: "Which tool calls Hull executes if a model writes them into its text although it supports native tool calls: all, those of the first such turn, or none.",
  },
  models: {
    text: "Aliases of models by slot, which [handlers](handlers.md) see as `ctx.models`.",
    default: {},
  },
  bot: { text: "The profile whose [configured values](configuration.md) tools get." },
  tool_configs: { text: "Configured values for this run alone: `{<tool>: {<param>: value}}`." },
} as const satisfies Texts<RunOption>;

/** The numbers of each profile. */
const profiles = (): string =>
  Object.entries(PROFILES)
    .map(([name, numbers]) => `\`${name}\` ${Object.values(numbers).join(", ")}`)
    .join("; ");

const LOOP = {
  profile: {
    text: `Defaults of \`max_iterations\`, \`max_nudges\`, \`tool_retries\`, \`llm_retries\` and \`schema_retries\`: ${profiles()}.`,
    values: Object.keys(PROFILES),
  },
  max_iterations: { text: "The most model calls of the run.", otherwise: "of the `profile`" },
  persistent: { text: "The run continues until the model says the sentinel." },
  done_sentinel: { text: "The sentinel." },
  max_nudges: {
    text: "How often in a row Hull nudges a persistent run that answers without a tool call. After the next such turn the run is `stuck`.",
    otherwise: "of the `profile`",
  },
  nudge: { text: "What a nudge says.", otherwise: "Hull's words" },
  turn_policy: {
    text: "`require_action_or_yield`: the run calls a tool before it may end. `allow_done_sentinel: false`: Hull does not tell the model of the sentinel. `max_prose_chars`: Hull cuts off longer texts of turns in the conversation.",
  },
  token_budget: { text: "The most tokens of the run, input and output together." },
  stop_after_successful_tools: { text: "A success of one of these tools ends the run.", default: [] },
  require_successful_tools: {
    text: "Unless one of these tools succeeds, the run ends as `failed`.",
    default: [],
  },
  exit_when_verified: {
    text: "The sentinel counts only if the last call of the tool `run` succeeded: it ended with exit status 0, or its result has `exit_code` 0.",
  },
  break_unless_phase: {
    text: "The phase of a persistent run: a line `next_phase: X` that names another phase ends the run.",
  },
  loop_detect_warn: {
    text: "If the model repeats a call and gets equal results, Hull adds a hint to the result from the call of this number on. `0` switches off all three options.",
  },
  loop_detect_block: {
    text: "From the repeated call of this number on, a remark replaces the result.",
  },
  loop_detect_skip: {
    text: "From the repeated call of this number on, Hull does not execute it.",
  },
  task_ledger: {
    text: "A list of items that the model sees with each call and updates with the tool `task_ledger`. While an item is neither `done` nor `dropped`, no sentinel counts.",
  },
  deliverables: { text: "The same list, as titles only." },
  root_task: { text: "The task that the items belong to." },
} as const satisfies Texts<RunOption>;

const RULES = {
  policy: { text: "The ceiling: [what tools may do](runs.md#what-tools-may-do)." },
  permissions: { text: "Which calls are allowed or denied, by globs or hooks." },
  approval_policy: { text: "Which calls need an approval." },
  approval_timeout_ms: { text: "How long an approval may take." },
  approval_timeout_s: { text: "`approval_timeout_ms` in seconds." },
} as const satisfies Texts<RunOption>;

const HOOKS = {
  context_callback: { text: `${HOOK} that decides what Hull sends with a model call.` },
  context_filter: { text: "Another name of `context_callback`." },
  post_turn_callback: { text: `${HOOK} that Hull calls after each turn with tool calls.` },
  tool_hooks: {
    text: "[Hooks](runs.md#hooks) before and after tool calls, by globs over the names of tools.",
  },
} as const satisfies Texts<RunOption>;

const COMPACTION = {
  auto_compact: {
    text: "`true`: Hull shortens the conversation if its estimate passes `compact_threshold`; `false`: never.",
    otherwise: "only near the model's window",
  },
  compact_threshold: {
    text: "Estimated tokens of the conversation.",
    otherwise: "`48000`, less for a small window",
  },
  keep_first: { text: "How many messages at the beginning stay." },
  compact_keep_last: { text: "How many messages at the end stay." },
  compact_strategy: {
    text: "How Hull shortens the conversation: see [compaction](runs.md#compaction).",
  },
  hard_limit_tokens: {
    text: "Above this number of tokens Hull always shortens the conversation.",
    otherwise: "by the model's window",
  },
  hard_limit_strategy: {
    text: "How Hull shortens the conversation above `hard_limit_tokens`.",
  },
  tool_output_max_chars: {
    text: "Longer results of tools keep head, tail and lines that look like diagnostics. In a run of a `skill` only `max_tool_output_bytes` of its manifest counts, unless the run has this option.",
  },
  compact_callback: { text: `${HOOK} that writes the summary, for the strategy \`custom\`.` },
  mask_callback: { text: `${HOOK} that replaces messages, for \`observation_mask\`.` },
  compress_callback: { text: `${HOOK} that shortens a long result.` },
  compaction: { text: "The same settings in one object; they override the single options." },
} as const satisfies Texts<RunOption>;

const DAEMONS = {
  daemon: {
    text: "The run goes idle instead of ending, and wakes again: a [daemon](daemons.md).",
    default: false,
  },
  wake_interval_ms: { text: "A timer wakes it this long after it went idle; `0` means none.", default: 0 },
  cron: { text: "A schedule that wakes it, in five fields." },
  time_zone: { text: "The zone of the schedule.", default: "UTC" },
  watch_paths: { text: "Files, folders or globs of the session that wake it when they change.", default: [] },
  watch_events: { text: "Which of these changes wake it.", default: ["change", "create", "delete"] },
  consolidate_on_idle: {
    text: "When it goes idle, it shortens its conversation if the estimate passes `compact_threshold`. Not with `auto_compact: false`.",
    default: false,
  },
  idle_watchdog_attempts: { text: "After this many checks without a reason to wake, it ends as `watchdog`." },
  wake_budget: { text: "[Limits of one wake](daemons.md#what-it-may-use)." },
  persist_path: { text: "The file of the session that holds its snapshot." },
  resume_path: { text: "A snapshot that it continues." },
  resume_after_ms: {
    text: "How long Hull waits after a failure that may pass before it [resumes the daemon](daemons.md#outages); after each further failure in a row, twice as long.",
    otherwise: "somebody has to resume it",
  },
} as const satisfies Texts<RunOption>;

const RUN_TEXTS: { readonly [name in RunOption]-?: OptionText } = {
  ...SKILLS,
  ...RUN_TOOLS,
  ...LOOP,
  ...RULES,
  ...HOOKS,
  ...COMPACTION,
  ...DAEMONS,
};

const DAEMON_TEXTS: { readonly [name in DaemonField]-?: OptionText } = {
  task: { text: "The daemon's task. Required." },
  prompt: { text: "Another name of `task`." },
  system: { text: "Its system text." },
  name: { text: "A name for people." },
  persist_path: {
    text: "A folder of the session's files: Hull keeps the snapshot there as `daemon.json` and the summary as `daemon.meta.json`. Only one running daemon of a tenant may have a path (409 `daemon_path_taken`).",
    otherwise: "`daemons/<id>`",
  },
  state_dir: { text: "Another name of `persist_path`." },
  event_queue_capacity: { text: "How many events may wait, the one in flight included.", default: 1024 },
  queue_capacity: { text: "Another name of `event_queue_capacity`." },
  webhook: { text: "Who may send events without a key, see [signed events](daemons.md#signed-events)." },
};

/** The defaults that the code applies; the texts have those of other kinds. */
const DEFAULTS: { readonly [name: string]: Json } = {
  ...CALL_DEFAULTS,
  ...RUN_DEFAULTS,
  ...COMPACTION_DEFAULTS,
};

/** The schema of options: types from the shape, meaning from the texts. */
function described(shape: z.core.$ZodType, texts: { readonly [name: string]: OptionText }): JsonObject {
  const schema = schemaOf(shape);
  const properties = Object.entries(objectOf(schema.properties)).map(([name, property]) => {
    const { text = "", default: fallback = DEFAULTS[name], values, schema: own } = texts[name] ?? {};
    const type = own ?? (values === undefined ? objectOf(property) : { enum: [...values] });
    const given = fallback === undefined ? {} : { default: fallback };
    return [name, { ...type, description: text, ...given }];
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** `components/schemas` of options. */
export function optionSchemas(): JsonObject {
  return {
    Policy: schemaOf(policyShape),
    Permissions: schemaOf(permissionsShape),
    CallOptions: {
      ...described(callOptions, CALL_TEXTS),
      description:
        "Options of a model call. `null` counts as absent. Any other key is the name of a provider and holds members that Hull adds to the requests for it; a name that is neither an option nor a provider is 422 with its path.",
    },
    RunOptions: {
      description: "Options of an agent run: those of its model calls, and its own.",
      allOf: [ref("schemas", "CallOptions"), described(runOptions, RUN_TEXTS)],
    },
    DaemonRequest: {
      description: "A flat body: the fields of the daemon, and every option of a run.",
      allOf: [ref("schemas", "RunOptions"), described(daemonFields(), DAEMON_TEXTS)],
    },
  };
}

interface OptionGroup {
  title: string;
  options: { name: string; schema: JsonObject; text: OptionText }[];
}

/** The options by group, for their page in docs/. */
export function optionGroups(): { calls: OptionGroup[]; runs: OptionGroup[]; daemons: OptionGroup[] } {
  const groups = (schema: JsonObject, groups: [string, { readonly [name: string]: OptionText }][]) =>
    groups.map(([title, texts]) => ({
      title,
      options: Object.entries(texts).map(([name, text]) => {
        const property = objectOf(objectOf(schema.properties)[name]);
        const { [name]: fallback } = DEFAULTS;
        return {
          name,
          schema: property,
          text: fallback === undefined ? text : { default: fallback, ...text },
        };
      }),
    }));
  return {
    calls: groups(described(callOptions, CALL_TEXTS), [
      ["Model", MODEL],
      ["Conversation", CONVERSATION],
      ["Sampling", SAMPLING],
      ["Structured output", STRUCTURED],
      ["Reasoning", THINKING],
      ["Tools of the call", CALL_TOOLS],
      ["Time, retries, money", TERMS],
    ]),
    runs: groups(described(runOptions, RUN_TEXTS), [
      ["Skills", SKILLS],
      ["Tools of the run", RUN_TOOLS],
      ["The loop", LOOP],
      ["What tools may do", RULES],
      ["Hooks", HOOKS],
      ["Compaction", COMPACTION],
      ["Resting and waking", DAEMONS],
    ]),
    daemons: groups(described(daemonFields(), DAEMON_TEXTS), [["Fields of a daemon", DAEMON_TEXTS]]),
  };
}
