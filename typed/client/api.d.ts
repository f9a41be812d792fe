// `npm run docs` writes this file from the declarations of the API.

export type ApiKey = {
  id: string;
  /** How the key begins. */
  prefix: string;
  tenant: string;
  scopes: ("invoke" | "publish" | "admin")[];
  name: string | null;
  created_at: string;
  /** Up to an hour too early. */
  last_used_at: string | null;
};

export type ApiKeys = {
  data: ApiKey[];
  next_cursor: string | null;
};

export type Approval = {
  id: string;
  tool_call_id: string;
  tool: string;
  arguments: Record<string, unknown>;
  /** SHA-256 of the tool and the arguments: the decision holds only for these. */
  arguments_digest: string;
  risk: string;
  /** What requires the approval. */
  cause?: string;
  run_id: string;
  /** What the model said together with the call. */
  said: string;
  requested_at: string;
  expires_at: string;
};

export type ApprovalDecision = {
  decision: "approve" | "deny";
  scope?: "once" | "session" | undefined;
  reason?: string | null | undefined;
  /** Required to approve: the digest of the arguments that the person saw. */
  arguments_digest?: string | undefined;
};

export type Approvals = {
  data: Approval[];
  next_cursor: string | null;
};

export type Artifact = {
  /** Unique in its session. */
  id: string;
  type: "code" | "html" | "markdown" | "svg" | "mermaid" | "react" | "image" | "custom" | "document";
  title: string;
  /** Text; for an image its URL; for type `custom` any JSON. */
  content: unknown;
  /** Only for `code` and `react`. */
  language?: string;
  metadata: Record<string, unknown>;
  plugin?: string;
  version: number;
  run_id: string;
  call_id: string;
  created_at: string;
  /** All of them, oldest first. */
  versions: {
    version: number;
    created_at: string;
  }[];
};

export type Artifacts = {
  data: ({
    /** Unique in its session. */
    id: string;
    type: "code" | "html" | "markdown" | "svg" | "mermaid" | "react" | "image" | "custom" | "document";
    title: string;
    /** Only for `code` and `react`. */
    language?: string;
    version: number;
    /** How many versions there are. */
    versions: number;
    run_id: string;
    call_id: string;
    created_at: string;
    updated_at: string;
  })[];
  next_cursor: string | null;
};

export type Budget = {
  scope: string;
  /** By UTC. */
  window: "hour" | "day" | "month" | "total";
  max_cost_usd?: number;
  max_input_tokens?: number;
  max_output_tokens?: number;
  spent: {
    cost_usd: number;
    input_tokens: number;
    output_tokens: number;
  };
  /** Held by calls under way. */
  reserved: {
    cost_usd: number;
    input_tokens: number;
    output_tokens: number;
  };
  since: string | null;
  resets_at: string | null;
  updated_at: string;
};

export type Budgets = {
  data: Budget[];
  next_cursor: string | null;
};

/** Options of a model call. `null` counts as absent. Any other key is the name of a provider and holds members that Hull adds to the requests for it; a name that is neither an option nor a provider is 422 with its path. */
export type CallOptions = {
  /** The provider. `"auto"` means that it follows from the model. */
  provider?: string | null;
  /** A model id or an alias. */
  model?: string | null;
  /** A tier or an alias instead of a model: `small`, `mid`, `frontier`. */
  model_tier?: string | null;
  /** The most tokens of an answer. */
  max_tokens?: number | null;
  /** Sampling temperature. */
  temperature?: number | null;
  /** Nucleus sampling. */
  top_p?: number | null;
  /** Sampling among the first `k` tokens. */
  top_k?: number | null;
  /** Seed of the sampling. */
  seed?: number | null;
  /** Penalty for repeated tokens. */
  frequency_penalty?: number | null;
  /** Penalty for tokens that have already occurred. */
  presence_penalty?: number | null;
  /** Texts that end the answer. An empty list counts as absent. */
  stop?: string[] | string | null;
  /** Whether the answer is JSON. */
  response_format?: "text" | "json" | "json_object" | null;
  /** The same; `json_schema` wins. */
  schema?: Record<string, unknown> | null;
  /** The JSON Schema for the provider, which the answer must match. */
  json_schema?: Record<string, unknown> | null;
  /** The schema that Hull checks the answer against, if it differs. */
  output_schema?: Record<string, unknown> | null;
  /** The same as an object or its `kind`: `"text"`, `"json_object"`, `"json_schema"`. `strict` is `true` unless given: OpenAI then refuses a schema with an object that does not require all its members and forbid others. */
  output_format?: "text" | "json_object" | "json_schema" | {
    kind: "text" | "json_object" | "json_schema";
    schema?: Record<string, unknown>;
    strict?: boolean;
  } | null;
  /** What happens if the answer does not match: nothing, the warning `schema_mismatch` of the result, or 422 `schema_validation`. */
  output_validation?: "off" | "warn" | "error" | null;
  /** How often Hull asks again after an answer that does not match. */
  schema_retries?: number | null;
  /** Whether Hull says what was wrong when it asks again. A text replaces Hull's words. */
  schema_retry_nudge?: boolean | string | null;
  /** How often Hull repeats a model call after a transient failure. */
  llm_retries?: number | null;
  /** Unit of the pauses before repetitions: these are 2, 4, 8, 16, 16, … units long, or up to 20 % longer. A `Retry-After` of up to 30 s replaces a pause; with a longer one Hull does not repeat the call. */
  llm_backoff_ms?: number | null;
  /** Whether and how much the model reasons before it answers. With the mode `adaptive`, and with `adaptive: true` beside the mode `effort`, a model that cannot reason answers without; otherwise it is 400 `capability_missing`. */
  thinking?: boolean | "enabled" | "on" | "adaptive" | "low" | "medium" | "high" | "off" | {
    enabled?: boolean;
    mode?: "enabled" | "adaptive" | "effort";
    budget_tokens?: number;
    level?: "low" | "medium" | "high";
    adaptive?: true;
  } | null;
  /** The same as `thinking` with that level. Not together with `thinking`. */
  reasoning_effort?: "low" | "medium" | "high" | null;
  /** Anthropic: reasoning between tool calls. */
  interleaved_thinking?: boolean | null;
  /** Anthropic: names of beta features. */
  anthropic_beta_features?: string[] | null;
  /** The call needs a model that sees images: 400 `capability_missing` otherwise. */
  vision?: boolean | null;
  /** The same for audio input. */
  audio?: boolean | null;
  /** The same for PDF files. */
  pdf?: boolean | null;
  /** Tools that the model may call: `{name, description, parameters?}` each. A hook executes a tool that names it as its `handler`, and the host executes a tool with `executor: "webhook"`. The caller answers calls of all others. */
  tools?: unknown[] | Record<string, unknown> | null;
  /** Whether the model must call a tool. Hull sends it in OpenAI's protocols only if the request sets it. */
  tool_choice?: "auto" | "none" | "required" | {
    name: string;
  } | null;
  /** Tools with `defer_loading`, except those in `always_loaded`, stay out of the context until the model finds them by a search: the provider's (`mode: "native"`) or Hull's (`"client"`, by its `strategy`); `"auto"` prefers the provider's. `budget_tokens` limits what Hull's search brings in. */
  tool_search?: boolean | "bm25" | "regex" | {
    variant?: "bm25" | "regex";
    mode?: "auto" | "native" | "client";
    strategy?: "bm25" | "regex" | "semantic" | "host";
    always_loaded?: string[];
    budget_tokens?: number;
    name?: string;
    include_stub_listing?: boolean;
  } | null;
  /** How the model calls tools: by the provider's own tool calls, or in its text. A call of a skill's route without a session, and of a skill under `/v1`, always has `native`. */
  tool_format?: "native" | "text" | null;
  /** Examples of calls for the system text, if the model calls tools in its text. */
  tool_examples?: string | null;
  /** Whether the provider may cache the prompt. */
  cache?: boolean | null;
  /** Whether the provider streams to Hull. The answer to the caller does not depend on it: a stream then has the text of each model call at once. */
  stream?: boolean | null;
  /** How long one attempt at a model call may take. The default limits only the wait for the first byte of a stream. */
  timeout_ms?: number | null;
  /** How long a stream may be silent once it has begun. */
  idle_timeout_ms?: number | null;
  /** `timeout_ms` in seconds. */
  timeout?: number | null;
  /** `idle_timeout_ms` in seconds. */
  idle_timeout?: number | null;
  /** The beginning of the answer, if the model can continue one. The answer's text is what the model adds; of a JSON answer that needs its beginning it is both, and only `delta` is what the model adds. */
  prefill?: string | null;
  /** The conversation. It replaces `prompt`. */
  messages?: Message[] | null;
  /** A transcript that the call continues. Not together with `session_id`. */
  transcript?: Transcript | null;
  /** A session that the call continues. */
  session_id?: string | null;
  /** Limits of each call, and with `total_budget_usd` of the whole run or session: 402 `budget_exceeded`; a run ends as `budget_exhausted`. Without `max_tokens`, Hull sends `max_output_tokens` in its place. See budgets. */
  budget?: {
    max_cost_usd?: number;
    total_budget_usd?: number;
    max_input_tokens?: number;
    max_output_tokens?: number;
  } | null;
  /** How Hull chooses among models, see routing. */
  route_policy?: string | {
    mode: string;
    target?: string;
  } | null;
  /** Providers that Hull asks in this order after the first one failed, with the same model id. A text lists them with commas. */
  fallback_chain?: string[] | string | null;
  /** The caller's own data. Hull does not read it. */
  metadata?: Record<string, unknown> | null;
  /** Answers that replace the provider's, see mocks. */
  mock?: unknown[] | null;
  /** Another name of `schema_retries`. */
  retries?: number | null;
  /** For `/llm/structured`: a last call turns the text into JSON. Members other than `enabled` are options of that call. */
  repair?: boolean | {
    enabled?: boolean;
    [name: string]: unknown;
  } | null;
} & { [provider in "anthropic" | "openai" | "xai" | "google" | "deepseek" | "openrouter" | "huggingface" | "ollama" | "local" | "workers-ai" | "together" | "groq" | "fireworks" | "dashscope" | "vllm" | "tgi" | "llamacpp" | "mlx"]?: Record<string, unknown> | null };

export type CallRequest = {
  prompt?: string | null | undefined;
  system?: string | null | undefined;
  options?: CallOptions | undefined;
};

export type CallResult = {
  text: string;
  /** The text without reasoning, tool calls and other parts that are not meant for people. */
  visible_text: string;
  model: string;
  provider: string;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  /** As `cache_write_tokens`, under Anthropic's name. */
  cache_creation_input_tokens: number;
  usage: {
    input_tokens: number;
    output_tokens: number;
    cache_read_tokens: number;
    cache_write_tokens: number;
    cache_hit_ratio: number;
    cache_savings_usd: number;
    cost_usd: number;
    price_known: boolean;
  };
  /** The answer as JSON, if the request asked for JSON. */
  data?: unknown;
  tool_calls?: {
    id: string;
    name: string;
    arguments: Record<string, unknown>;
  }[];
  thinking?: string;
  /** The same as `thinking`. */
  private_reasoning?: string;
  thinking_summary?: string;
  blocks: Record<string, unknown>[];
  stop_reason: string | null;
  raw_stop_reason: string | null;
  transcript: Transcript;
  /** The text around the calls, if the model calls tools in its text. */
  prose?: string;
  canonical_text?: string;
  protocol_violations?: string[];
  tool_parse_errors?: string[];
  done_marker?: string | null;
  /** How Hull chose the model, if it did, and which one of a chain of fallbacks answered last. */
  routing?: Record<string, unknown>;
  warnings?: {
    code: string;
    message: string;
    option?: string;
  }[];
  /** The call used up a soft budget. */
  budget_exceeded?: true;
  /** The calls that mocks answered: at most the last 1000, and at most 8 MiB. */
  mock_calls?: Record<string, unknown>[];
  /** How many earlier entries of `mock_calls` are missing. */
  mock_calls_left_out?: number;
};

export type Card = {
  name: string;
  slug: string;
  description: string;
  mode: "script" | "static-file" | "proxy" | "llm";
  method: string;
  route: string;
  input: "text" | "file" | "none";
  output: "text" | "json" | "file";
  inputMime?: string[];
  outputMime?: string;
  tools?: string[];
  version: string;
  /** The folder is broken, so Hull serves its last good version. `diagnostics` say why. */
  stale?: true;
  /** A tenant uploaded it, and Hull serves it to that tenant only. */
  uploaded?: true;
  /** It declares a daemon. */
  daemon?: true;
  /** It is an agent: runs hand work to it, and no model loads it. */
  agent?: true;
  /** Fingerprint of the key that signed it. */
  signer?: string;
  /** Runs with it have tools to read and write files and to run commands, unless hull.toml says otherwise; those of an uploaded skill only if `HULL_GRANTS` gives it `workspace_tools`. */
  workspaceTools?: true;
  /** The author's folder or the plugin of the skill. */
  namespace?: string;
  /** Its workflows, executed as `<slug>/<name>`. */
  workflows?: {
    name: string;
    digest: string;
  }[];
  /** The skill's body; never that of an llm skill. */
  doc?: string;
  /** JSON Schema of the input, if the skill declares one; not in listings. */
  input_schema?: Record<string, unknown>;
  /** Whether the deployment trusts who signed it; not in listings. */
  signature?: {
    signer: Digest;
    trusted: boolean;
  };
  /** What the build found wrong with it; for keys that may publish, and not in listings. */
  diagnostics?: Diagnostic[];
  /** The tools of its tools.json; for keys that may publish, and not in listings. */
  tool_details?: ToolDetails[];
  /** The files of its folder; for keys that may publish, and not in listings. */
  files?: {
    path: string;
    size: number;
  }[];
};

export type CatalogPointer = {
  id: string;
  previous: string | null;
  published_at: string;
  /** Id of the key. */
  published_by?: string;
  /** The catalog that the deployment came with. */
  pinned?: string;
};

export type CatalogRequest = {
  id: string;
  /** The catalog that must still be served, else 409; `null`: no catalog may be. */
  base?: string | null | undefined;
} | {
  rollback: true;
  /** The catalog that must still be served, else 409; `null`: no catalog may be. */
  base?: string | null | undefined;
};

export type CompactRequest = {
  strategy?: "observation_mask" | "truncate" | "llm" | undefined;
  keep_first?: number | undefined;
  keep_last?: number | undefined;
  /** Replaces the summary that Hull would make. */
  summary?: string | undefined;
  options?: CallOptions | undefined;
};

export type CompactedSession = Session & {
  /** `null`: there was nothing to compact. */
  compacted: {
    mode: "auto" | "preflight" | "manual" | "hard_limit" | "idle";
    strategy: string;
    engine_strategy: string;
    archived_messages: number;
    estimated_tokens_before: number;
    estimated_tokens_after: number;
    keep_first: number;
    keep_last: number;
    summary: string;
  } | null;
  warnings?: {
    code: string;
    message: string;
    option?: string;
  }[];
};

export type CompletionRequest = {
  prefix: string;
  suffix?: string | null | undefined;
  system?: string | null | undefined;
  options?: CallOptions | undefined;
};

/** As the tool declares it. */
export type ConfigParam = {
  name: string;
  displayName?: string;
  description?: string;
  type: "string" | "text" | "code" | "number" | "boolean" | "select" | "multiselect" | "string[]" | "number[]" | "secret" | "path" | "map" | "url";
  default?: unknown;
  scope: "global" | "per_bot" | "per_call";
  min?: number;
  max?: number;
  step?: number;
  options?: string[];
  unit?: string;
  placeholder?: string;
  minItems?: number;
  maxItems?: number;
  rows?: number;
  pathType?: string;
  keyPlaceholder?: string;
  valuePlaceholder?: string;
  itemPlaceholder?: string;
  language?: string;
};

export type Daemon = {
  id: string;
  name: string | null;
  status: "running" | "stopped" | "failed";
  /** A folder of the session's files; `null`: it is a run of an ordinary session. */
  persist_path: string | null;
  /** The skill that it runs, and that declares it if a skill does; `null`: it runs none. */
  skill: string | null;
  created_at: string;
  session_id: string;
  run_id: string;
  snapshot_path: string | null;
  /** How many events wait, without the event in flight. */
  pending_event_count: number;
  /** How many events wait, with the event in flight. */
  queued_event_count: number;
  event_queue_capacity: number;
  /** `active`, `idle`, or how its run ended. */
  daemon_state: string;
  saved_at: string | null;
  next_wake_at: string | null;
  /** When Hull resumes the failed daemon; `null`: it does not. */
  resumes_at: string | null;
  last_wake: {
    reason: "message" | "event" | "resume" | "watch" | "cron" | "timer";
    at: string;
  } | null;
  /** The limit of `wake_budget` that ended its last wake. */
  wake_budget_reached: "max_iterations" | "max_tokens" | "max_cost_usd" | null;
  /** The reasons that wake it as soon as it is idle, the most urgent first. */
  pending_wakes: ("message" | "event" | "resume" | "watch" | "cron" | "timer")[];
  inflight_event?: {
    seq: number;
    enqueued_at: string;
    payload: unknown;
  };
  error?: Problem;
  /** Result of its run without the transcript, once the run has ended. */
  result?: Record<string, unknown>;
};

/** A flat body: the fields of the daemon, and every option of a run. */
export type DaemonRequest = RunOptions & {
  /** The daemon's task. Required. */
  task?: string | undefined;
  /** Another name of `task`. */
  prompt?: string | undefined;
  /** Its system text. */
  system?: string | null | undefined;
  /** A name for people. */
  name?: string | undefined;
  /** A folder of the session's files: Hull keeps the snapshot there as `daemon.json` and the summary as `daemon.meta.json`. Only one running daemon of a tenant may have a path (409 `daemon_path_taken`). */
  persist_path?: string | undefined;
  /** Another name of `persist_path`. */
  state_dir?: string | undefined;
  /** How many events may wait, the one in flight included. */
  event_queue_capacity?: number | undefined;
  /** Another name of `event_queue_capacity`. */
  queue_capacity?: number | undefined;
  /** Who may send events without a key, see signed events. */
  webhook?: {
    secret_env: string;
    header: string;
    algorithm?: "hmac-sha256" | undefined;
    timestamp_header?: string | undefined;
    tolerance_s?: number | undefined;
  } | undefined;
};

export type DaemonSnapshot = Daemon & {
  _type: "daemon_snapshot";
  visible_messages: Message[];
  recorded_messages: Message[];
  transcript_summary: string | null;
  transcript_events: Record<string, unknown>[];
  total_text: string;
  last_iteration_text: string;
  all_tools_used: string[];
  rejected_tools: string[];
  deferred_user_messages: Message[];
  total_iterations: number;
  idle_backoff_ms: number;
  last_run_exit_code: number | null;
  /** The versions of the watched files. */
  watch_state: Record<string, number>;
  /** The beginning of its queue, without the event in flight. */
  pending_events: {
    seq: number;
    enqueued_at: string;
    payload: unknown;
  }[];
};

export type DaemonWakes = {
  data: ({
    reason: "message" | "event" | "resume" | "watch" | "cron" | "timer";
    at: string;
    /** The changed files that woke it. */
    watch_paths: string[];
    run_id: string;
    /** Iterations that the wake began. */
    iterations: number;
    /** `null`: it is not over. */
    ended_at: string | null;
    /** `active`, `idle`, or how its run ended. */
    daemon_state: string;
    /** The limit of `wake_budget` that ended it. */
    wake_budget_reached: "max_iterations" | "max_tokens" | "max_cost_usd" | null;
  })[];
  next_cursor: string | null;
};

export type Daemons = {
  data: ({
    id: string;
    name: string | null;
    status: "running" | "stopped" | "failed";
    persist_path: string | null;
    /** The skill that declares it. */
    skill: string | null;
    created_at: string;
  })[];
  next_cursor: string | null;
};

export type Delivered = {
  session_id: string;
  run_id: string | null;
  delivery?: "interrupt_immediate" | "finish_step" | "wait_for_completion";
};

export type Diagnostic = {
  level: "error" | "warning" | "info";
  code: string;
  skill: string;
  file: string;
  line?: number;
  column?: number;
  field?: string;
  value?: string;
  message: string;
  hint?: string;
};

export type Digest = string;

export type Execution = {
  id: string;
  skill: string;
  status: "running" | "done" | "error" | "cancelled";
  created_at: string;
  finished_at?: string;
  result?: {
    status: number;
    content_type: string;
    headers: Record<string, string>;
    size: number;
    text?: string;
    json?: unknown;
    url?: string;
  };
  error?: Problem;
};

export type ExecutionAccepted = {
  id: string;
  run_id?: string;
  session_id?: null;
  status: "running" | "done" | "error" | "cancelled";
};

/** Artifacts; a string stands for an artifact with this text. */
export type GivenArtifacts = string | WorkflowArtifact | (string | WorkflowArtifact)[];

/** One event of a stream. `id` is `<execution or session id>:<seq>`. */
export type HullEvent = { [name in keyof EventData]: { id: string; event: name; data: EventData[name] } }[keyof EventData];

export type IndexedRun = {
  id: string;
  /** `run`: in a session; `daemon`: of a daemon; `call`: of a skill, or without a session; `workflow`: of a graph, its stages are runs too. */
  kind: "run" | "daemon" | "call" | "workflow";
  /** The skill that it is, the operation, or the workflow. */
  name: string | null;
  session: string | null;
  /** The model that it asks, as `provider/model`; that of the fallback if a fallback answered last. `null`: none, or an earlier version of Hull listed it. */
  model: string | null;
  state: "running" | "idle" | "awaiting_tool" | "awaiting_approval" | "done" | "stuck" | "budget_exhausted" | "watchdog" | "failed" | "error" | "cancelled" | "waiting" | "paused" | "completed";
  created_at: string;
  settled_at: string | null;
  duration_ms: number | null;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number;
  /** Whether the price of every call in `cost_usd` is known; others count as 0. */
  price_known: boolean;
  /** Of the error that it ended with. */
  code: string | null;
};

export type IndexedRuns = {
  data: IndexedRun[];
  next_cursor: string | null;
};

export type McpLoginAnswer = {
  login: string;
  answer: string;
};

export type McpLoginBegin = {
  redirect_uri: string;
};

export type McpLoginBegun = {
  /** Of the authorization server, for a browser. */
  address: string;
  /** For the end of the login; sealed. */
  login: string;
};

export type McpServerEntry = {
  name: string;
  url: string;
  /** `stored`: somebody logged in with `hull mcp login`. `header`: hull.toml has a header `authorization`. */
  login: "none" | "stored" | "client_credentials" | "header";
  /** Whether its tools need a login that is missing or has ended. */
  needs_login: boolean;
  /** When the stored access token ends; `null`: it is not known. */
  expires_at: string | null;
  /** Whether Hull renews the token by itself. */
  renewable: boolean;
  /** Why the last use or renewal failed; `null`: it did not. */
  failure: string | null;
  failed_at: string | null;
};

export type McpServers = {
  data: McpServerEntry[];
};

export type Message = {
  role: "system";
  content?: string | MessagePart[] | null;
} | {
  role: "user";
  content?: string | MessagePart[] | null;
} | {
  role: "assistant";
  content?: string | MessagePart[] | null;
  tool_calls?: {
    id?: string;
    name: string;
    arguments?: unknown;
  }[];
  blocks?: MessageBlock[];
} | {
  role: "tool";
  tool_call_id: string;
  name?: string;
  content?: unknown;
  is_error?: boolean;
};

export type MessageBlock = ({
  type: "output_text";
  text: string;
} | {
  type: "reasoning";
  text: string;
  signature?: string;
  native?: {
    provider: string;
    value: unknown;
  };
} | {
  type: "reasoning_summary";
  text: string;
  native?: {
    provider: string;
    value: unknown;
  };
} | {
  type: "tool_call";
  id: string;
  name: string;
  arguments: Record<string, unknown> | null;
  raw: string;
} | {
  type: "tool_search_query";
  id: string;
  name: string;
  query: unknown;
  native?: {
    provider: string;
    value: unknown;
  };
} | {
  type: "tool_search_result";
  tool_use_id: string;
  tool_references: {
    tool_name: string;
  }[];
  native?: {
    provider: string;
    value: unknown;
  };
} | {
  type: "opaque";
  provider: string;
  value: unknown;
}) & {
  /** Who may see it; of no effect in requests. */
  visibility?: "public" | "private" | "internal";
};

export type MessagePart = {
  type: "text";
  text: string;
} | {
  type: "image";
  url?: string;
  base64?: string;
  data?: string;
  media_type?: string;
  detail?: "auto" | "low" | "high";
} | {
  type: "document";
  url?: string;
  base64?: string;
  data?: string;
  media_type?: string;
  filename?: string;
} | {
  type: "audio";
  url?: string;
  base64?: string;
  data?: string;
  media_type?: string;
} | {
  type: "tool_result";
  tool_use_id: string;
  content?: unknown;
  is_error?: boolean;
};

export type Model = ModelTarget & {
  tool_format: "native" | "text";
  capabilities: {
    native_tools: boolean;
    defer_loading: boolean;
    /** The provider's own tool searches, preferred first. */
    tool_search: ("bm25" | "regex" | "hosted" | "client")[];
    /** The most tools of one request. */
    max_tools: number | null;
    prompt_caching: boolean;
    thinking: boolean;
    thinking_modes: ("enabled" | "adaptive" | "effort")[] | null;
    /** `null`: not known */
    vision: boolean | null;
    /** `null`: not known */
    audio: boolean | null;
    /** `null`: not known */
    pdf: boolean | null;
    structured_output: "native" | "tool_use" | "format_kw" | "json_object" | null;
    /** `null`: not known */
    interleaved_thinking_supported: boolean | null;
    anthropic_beta_features: string[] | null;
    /** `null`: not known */
    preserve_thinking: boolean | null;
    /** `null`: not known */
    requires_completion_tokens: boolean | null;
    /** `null`: not known */
    reasoning_effort_supported: boolean | null;
    /** `null`: not known */
    honors_chat_template_kwargs: boolean | null;
    server_parser: string | null;
    recommended_endpoint: string | null;
    text_tool_wire_format_supported: boolean;
  };
  /** What configuration lists of it. */
  catalog: Record<string, unknown> | null;
  auth_available: boolean;
  /** Tokens. */
  context_window: number | null;
  /** USD per million tokens; `null`: unknown. */
  price: {
    in: number;
    out: number;
    cache_read?: number;
    cache_write?: number;
    /** Of prompts with more tokens. */
    above?: {
      tokens: number;
      in: number;
      out: number;
      cache_read?: number;
      cache_write?: number;
    };
  } | null;
  /** When the provider shuts it down. */
  retires_at: string | null;
};

export type ModelAliases = {
  data: string[];
  next_cursor: string | null;
};

export type ModelCapabilities = {
  provider: string;
  model: string;
  native_tools: boolean;
  defer_loading: boolean;
  /** The provider's own tool searches, preferred first. */
  tool_search: ("bm25" | "regex" | "hosted" | "client")[];
  /** The most tools of one request. */
  max_tools: number | null;
  prompt_caching: boolean;
  thinking: boolean;
  thinking_modes: ("enabled" | "adaptive" | "effort")[] | null;
  /** `null`: not known */
  vision: boolean | null;
  /** `null`: not known */
  audio: boolean | null;
  /** `null`: not known */
  pdf: boolean | null;
  structured_output: "native" | "tool_use" | "format_kw" | "json_object" | null;
  /** `null`: not known */
  interleaved_thinking_supported: boolean | null;
  anthropic_beta_features: string[] | null;
  /** `null`: not known */
  preserve_thinking: boolean | null;
  /** `null`: not known */
  requires_completion_tokens: boolean | null;
  /** `null`: not known */
  reasoning_effort_supported: boolean | null;
  /** `null`: not known */
  honors_chat_template_kwargs: boolean | null;
  server_parser: string | null;
  recommended_endpoint: string | null;
  text_tool_wire_format_supported: boolean;
};

export type ModelInfo = {
  provider: string;
  model: string | null;
  api_key_set: boolean;
};

export type ModelProvider = {
  name: string;
  protocol: "anthropic" | "openai-chat" | "openai-responses" | "ollama" | "workers-ai" | "mock";
  base_url: string | null;
  /** Variables that replace the base, the first one set. */
  base_url_env: string[];
  auth_style: "bearer" | "header" | "none";
  /** Variables that may hold the key. */
  auth_env: string[];
  /** Names only. */
  extra_headers: string[];
  chat_endpoint: string | null;
  completion_endpoint: string | null;
  healthcheck: {
    method: "GET" | "POST";
    path: string | null;
  } | null;
  features: string[];
  fallback: string | null;
  default_model: string | null;
  rpm: number | null;
  cost_per_1k_in: number | null;
  cost_per_1k_out: number | null;
  latency_p50_ms: number | null;
  available: boolean;
};

export type ModelProviders = {
  data: ModelProvider[];
  next_cursor: string | null;
};

export type ModelTarget = {
  id: string;
  provider: string;
  tier: "small" | "mid" | "frontier";
};

export type NewApiKey = {
  tenant: string;
  scopes: ("invoke" | "publish" | "admin")[];
  name?: string | undefined;
};

/** At least one maximum. */
export type NewBudget = {
  /** By UTC. */
  window: "hour" | "day" | "month" | "total";
  max_cost_usd?: number | null | undefined;
  max_input_tokens?: number | null | undefined;
  max_output_tokens?: number | null | undefined;
};

export type NewMessage = {
  content: string | MessagePart[];
  delivery?: "interrupt_immediate" | "finish_step" | "wait_for_completion" | undefined;
};

export type NewSession = {
  /** The id that the new session is to have. */
  id?: string | undefined;
  metadata?: Record<string, unknown> | undefined;
  transcript?: Transcript | undefined;
};

export type NewSoftBudget = {
  max_cost: number;
};

export type NewWorkflow = {
  graph: WorkflowGraph;
};

export type ObjectKeys = {
  data: string[];
  next_cursor: string | null;
};

export type Permissions = {
  allow?: string[] | Record<string, true | string[] | string>;
  deny?: string[] | Record<string, true | string[] | string>;
  on_escalation?: string;
};

export type Policy = {
  tools?: string[];
  blocked_tools?: string[];
  capabilities?: Record<string, string[]>;
  workspace_roots?: string[];
  side_effect_level?: "none" | "read_only" | "workspace_write" | "process_exec" | "network";
  recursion_limit?: number;
  tool_arg_constraints?: {
    tool: string;
    arg_patterns: string[];
    arg_key?: string;
  }[];
  tool_annotations?: Record<string, {
    kind?: string;
    side_effect_level?: "none" | "read_only" | "workspace_write" | "process_exec" | "network";
    capabilities?: Record<string, string[]>;
    arg_schema?: Record<string, unknown>;
  }>;
};

/** An RFC 9457 problem document. `code` is stable, `detail` is not. */
export type Problem = {
  /** `urn:hull:problem:<code>` */
  type: string;
  title: string;
  status: number;
  detail: string;
  /** `urn:hull:request:<request id>` */
  instance: string;
  code: "answer_lost" | "approval_closed" | "auth_not_configured" | "bad_encoding" | "bad_path" | "bad_request" | "body_too_large" | "budget_exceeded" | "budget_not_found" | "bundle_invalid" | "capability_missing" | "catalog_missing" | "catalog_moved" | "catalog_unreadable" | "client_closed_request" | "command_not_found" | "concurrency_limited" | "content_policy" | "context_overflow" | "daemon_not_running" | "daemon_path_taken" | "daemon_queue_full" | "daemon_running" | "deadline_exceeded" | "execution_cancelled" | "execution_conflict" | "execution_lost" | "execution_not_found" | "file_expired" | "file_not_downloadable" | "file_not_found" | "file_required" | "forbidden" | "form_not_trusted" | "hook_failed" | "hook_invalid" | "hook_refused" | "hook_timeout" | "hooks_unavailable" | "host_delegate_failed" | "host_not_allowed" | "idempotency_key_reused" | "input_invalid" | "input_required" | "input_schema_mismatch" | "internal" | "invalid_request" | "key_not_found" | "malformed_json" | "malformed_multipart" | "malformed_toml" | "mcp_login_failed" | "mcp_server_not_found" | "method_not_allowed" | "mock_unmatched" | "mocked_failure" | "model_not_resolved" | "model_refused" | "model_unavailable" | "not_acceptable" | "not_found" | "operation_not_found" | "origin_not_allowed" | "out_of_memory" | "output_invalid_json" | "output_missing" | "output_too_large" | "precondition_failed" | "price_unknown" | "provider_auth_failed" | "provider_bad_response" | "provider_empty_answer" | "provider_error" | "provider_misconfigured" | "provider_not_configured" | "provider_not_found" | "provider_rate_limited" | "provider_redirect_refused" | "provider_rejected_request" | "provider_timeout" | "provider_unreachable" | "proxy_not_configured" | "range_not_satisfiable" | "rate_limited" | "replay_mismatch" | "replay_missing" | "request_timeout" | "run_cancelled" | "run_in_progress" | "run_lost" | "runner_busy" | "runner_draining" | "runner_protocol_error" | "runner_unavailable" | "schema_validation" | "script_failed" | "script_killed" | "script_timeout" | "secret_key_missing" | "session_exists" | "session_not_active" | "setting_unreadable" | "skill_not_found" | "skill_not_trusted" | "skill_read_only" | "slug_taken" | "spawn_failed" | "storage_quota_exceeded" | "task_closed" | "task_not_awaiting" | "task_running" | "thread_unsupported_request" | "too_many_delegated" | "tool_call_closed" | "tool_rejected" | "tool_rounds_exhausted" | "unauthenticated" | "unsupported_media_type" | "upload_limit" | "upstream_body_truncated" | "upstream_redirect_refused" | "upstream_timeout" | "upstream_unreachable" | "webhook_refused" | "workflow_ended" | "workflow_invalid" | "workflow_misfit" | "workflow_not_waiting" | "workflow_queue_full" | "workflow_running" | "workspace_full";
  request_id: string;
  [name: string]: unknown;
};

export type ProviderHealth = {
  provider: string;
  valid: boolean;
  message: string;
  metadata: {
    /** The fault: `unknown_provider`, `not_configured`, `auth_failure`, `http_status`, `redirect`, `timeout`, `unreachable`. */
    reason?: string;
    /** HTTP status of the provider's answer. */
    status?: number;
    latency_ms?: number;
    /** The variable to set. */
    variable?: string;
  };
};

export type PublishedSkill = {
  digest: string;
  /** What the build knows of it: manifest, body, files, tools. */
  record: Record<string, unknown>;
};

export type ResumedSession = Session & {
  /** Whether an idle run of it continues. */
  woken: boolean;
};

export type RunAccepted = {
  id: string;
  run_id: string;
  session_id: string;
  status: "running" | "idle" | "awaiting_tool" | "awaiting_approval" | "done" | "stuck" | "budget_exhausted" | "watchdog" | "failed" | "error" | "cancelled";
};

export type RunFigures = {
  since: string;
  /** Runs that wait for an approval, whenever they began. */
  awaiting_approval: number;
  data: ({
    /** The skill, or the operation. */
    name: string;
    calls: number;
    failures: number;
    /** Median duration of those that ended. */
    p50_ms: number | null;
    cost_usd: number;
  })[];
};

/** Options of an agent run: those of its model calls, and its own. */
export type RunOptions = CallOptions & {
  /** Defaults of `max_iterations`, `max_nudges`, `tool_retries`, `llm_retries` and `schema_retries`: `tool_using` 50, 3, 0, 3, 0; `researcher` 30, 4, 0, 2, 0; `verifier` 5, 0, 0, 2, 3; `completer` 1, 0, 0, 2, 0. */
  profile?: "tool_using" | "researcher" | "verifier" | "completer" | null;
  /** The served llm skill to run, with its body, model, fallbacks, effort, limits and tools. Limits are `max_tokens`, `timeout_ms`, `idle_timeout_ms` and `max_tool_output_bytes` of its manifest, and `max_tool_rounds` (rounds of a skill) and `deadline_ms` where it names them; the options of the run win. */
  skill?: string | null;
  /** Skills that the run may use: slugs, ids or names of stored skills, inline skills, or `"*"` for all that are served. */
  skills?: string | (string | Record<string, unknown>)[] | Record<string, unknown> | null;
  /** The model gets `define_tool` and `remove_tool`. */
  dynamic_tools?: boolean | null;
  /** Tools to work on files: all, none, or those with these names. */
  workspace_tools?: boolean | string[] | null;
  /** When the model gets the tools of the skills' `tools.json`: from the start, or once their skill is active or loaded. If two skills have a tool of the same name, that of the later skill wins; the run's own tool wins over both. */
  skill_tools?: "at_start" | "on_activation" | null;
  /** Aliases of models by slot, which handlers see as `ctx.models`. */
  models?: Record<string, string> | null;
  /** How skills become active, and whether Hull decides again at each turn: `auto`, `metadata`, `host`, `none`. With `top_n: 0`, no skill becomes active by matching. A message that begins with `/slug` loads that skill in any case. */
  skill_match?: {
    strategy?: string;
    top_n?: number;
    sticky?: boolean;
  } | null;
  /** The most tokens of the list of skills in the system text. */
  skill_catalogue_tokens?: number | null;
  /** MCP servers, by their names in hull.toml or with a `url`. Their tools are `<server>__<tool>`. */
  mcp_servers?: (string | {
    name: string;
    url?: string;
    tools?: string[];
    timeout_ms?: number;
  })[] | null;
  /** At most 1000 paths that Hull matches with `paths` of skills. */
  working_files?: string[] | string | null;
  /** The run continues until the model says the sentinel. */
  persistent?: boolean | null;
  /** The sentinel. */
  done_sentinel?: string | null;
  /** The most model calls of the run. */
  max_iterations?: number | null;
  /** How often in a row Hull nudges a persistent run that answers without a tool call. After the next such turn the run is `stuck`. */
  max_nudges?: number | null;
  /** What a nudge says. */
  nudge?: string | null;
  /** Whether the tool calls of a turn run in parallel. */
  parallel_tool_calls?: boolean | null;
  /** Whether the model may hand work to sub-agents with the tool `sub_agent`. */
  sub_agents?: boolean | null;
  /** The whole run, its waits included, takes at most this many ms: 504 `deadline_exceeded`. */
  deadline_ms?: number | null;
  /** How often Hull repeats a failed tool call. */
  tool_retries?: number | null;
  /** The pause before the first repetition; it doubles. */
  tool_backoff_ms?: number | null;
  /** `require_action_or_yield`: the run calls a tool before it may end. `allow_done_sentinel: false`: Hull does not tell the model of the sentinel. `max_prose_chars`: Hull cuts off longer texts of turns in the conversation. */
  turn_policy?: {
    require_action_or_yield?: boolean;
    allow_done_sentinel?: boolean;
    max_prose_chars?: number;
  } | null;
  /** A success of one of these tools ends the run. */
  stop_after_successful_tools?: string[] | null;
  /** Unless one of these tools succeeds, the run ends as `failed`. */
  require_successful_tools?: string[] | null;
  /** If the model repeats a call and gets equal results, Hull adds a hint to the result from the call of this number on. `0` switches off all three options. */
  loop_detect_warn?: number | null;
  /** From the repeated call of this number on, a remark replaces the result. */
  loop_detect_block?: number | null;
  /** From the repeated call of this number on, Hull does not execute it. */
  loop_detect_skip?: number | null;
  /** The sentinel counts only if the last call of the tool `run` succeeded: it ended with exit status 0, or its result has `exit_code` 0. */
  exit_when_verified?: boolean | null;
  /** The most tokens of the run, input and output together. */
  token_budget?: number | null;
  /** Which tool calls Hull executes if a model writes them into its text although it supports native tool calls: all, those of the first such turn, or none. */
  native_tool_fallback?: "allow" | "allow_once" | "reject" | null;
  /** The phase of a persistent run: a line `next_phase: X` that names another phase ends the run. */
  break_unless_phase?: string | null;
  /** A list of items that the model sees with each call and updates with the tool `task_ledger`. While an item is neither `done` nor `dropped`, no sentinel counts. */
  task_ledger?: (string | {
    title: string;
    id?: string;
    status?: "open" | "in_progress" | "blocked" | "done" | "dropped";
    note?: string;
  })[] | null;
  /** The same list, as titles only. */
  deliverables?: string[] | null;
  /** The task that the items belong to. */
  root_task?: string | null;
  /** The name of a hook that decides what Hull sends with a model call. */
  context_callback?: string | null;
  /** Another name of `context_callback`. */
  context_filter?: string | null;
  /** The name of a hook that Hull calls after each turn with tool calls. */
  post_turn_callback?: string | null;
  /** The profile whose configured values tools get. */
  bot?: string | null;
  /** Configured values for this run alone: `{<tool>: {<param>: value}}`. */
  tool_configs?: Record<string, unknown> | null;
  /** Hooks before and after tool calls, by globs over the names of tools. */
  tool_hooks?: ({
    pattern: string;
    pre?: string | null;
    post?: string | null;
    deny?: string | null;
    max_output?: number | null;
  })[] | null;
  /** The ceiling: what tools may do. */
  policy?: {
    tools?: string[];
    blocked_tools?: string[];
    capabilities?: Record<string, string[]>;
    workspace_roots?: string[];
    side_effect_level?: "none" | "read_only" | "workspace_write" | "process_exec" | "network";
    recursion_limit?: number;
    tool_arg_constraints?: {
      tool: string;
      arg_patterns: string[];
      arg_key?: string;
    }[];
    tool_annotations?: Record<string, {
      kind?: string;
      side_effect_level?: "none" | "read_only" | "workspace_write" | "process_exec" | "network";
      capabilities?: Record<string, string[]>;
      arg_schema?: Record<string, unknown>;
    }>;
  } | null;
  /** Which calls need an approval. */
  approval_policy?: {
    require_risk?: "none" | "safe" | "moderate" | "dangerous" | "critical";
    auto_approve?: string[];
    auto_deny?: string[];
    require_approval?: string[];
    write_path_allowlist?: string[];
  } | null;
  /** Which calls are allowed or denied, by globs or hooks. */
  permissions?: {
    allow?: string[] | Record<string, true | string[] | string>;
    deny?: string[] | Record<string, true | string[] | string>;
    on_escalation?: string;
  } | null;
  /** How long an approval may take. */
  approval_timeout_ms?: number | null;
  /** `approval_timeout_ms` in seconds. */
  approval_timeout_s?: number | null;
  /** How many messages at the beginning stay. */
  keep_first?: number | null;
  /** Above this number of tokens Hull always shortens the conversation. */
  hard_limit_tokens?: number | null;
  /** How Hull shortens the conversation above `hard_limit_tokens`. */
  hard_limit_strategy?: "llm" | "truncate" | "observation_mask" | null;
  /** Longer results of tools keep head, tail and lines that look like diagnostics. In a run of a `skill` only `max_tool_output_bytes` of its manifest counts, unless the run has this option. */
  tool_output_max_chars?: number | null;
  /** `true`: Hull shortens the conversation if its estimate passes `compact_threshold`; `false`: never. */
  auto_compact?: boolean | null;
  /** Estimated tokens of the conversation. */
  compact_threshold?: number | null;
  /** How many messages at the end stay. */
  compact_keep_last?: number | null;
  /** How Hull shortens the conversation: see compaction. */
  compact_strategy?: "observation_mask" | "llm" | "truncate" | "custom" | null;
  /** The name of a hook that writes the summary, for the strategy `custom`. */
  compact_callback?: string | null;
  /** The name of a hook that replaces messages, for `observation_mask`. */
  mask_callback?: string | null;
  /** The name of a hook that shortens a long result. */
  compress_callback?: string | null;
  /** The same settings in one object; they override the single options. */
  compaction?: {
    keep_first?: number;
    hard_limit_tokens?: number;
    hard_limit_strategy?: "llm" | "truncate" | "observation_mask";
    tool_output_max_chars?: number;
    strategy?: "none" | "truncate" | "observation_mask" | "custom" | "summarize_middle" | "summarize" | "llm" | "summarize_all" | "hybrid";
    threshold?: number;
    keep_last?: number;
  } | null;
  /** The run goes idle instead of ending, and wakes again: a daemon. */
  daemon?: boolean | null;
  /** The file of the session that holds its snapshot. */
  persist_path?: string | null;
  /** A snapshot that it continues. */
  resume_path?: string | null;
  /** How long Hull waits after a failure that may pass before it resumes the daemon; after each further failure in a row, twice as long. */
  resume_after_ms?: number | null;
  /** A timer wakes it this long after it went idle; `0` means none. */
  wake_interval_ms?: number | null;
  /** A schedule that wakes it, in five fields. */
  cron?: string | null;
  /** The zone of the schedule. */
  time_zone?: string | null;
  /** Files, folders or globs of the session that wake it when they change. */
  watch_paths?: string[] | string | null;
  /** Which of these changes wake it. */
  watch_events?: ("change" | "create" | "delete")[] | null;
  /** When it goes idle, it shortens its conversation if the estimate passes `compact_threshold`. Not with `auto_compact: false`. */
  consolidate_on_idle?: boolean | null;
  /** After this many checks without a reason to wake, it ends as `watchdog`. */
  idle_watchdog_attempts?: number | null;
  /** Limits of one wake. */
  wake_budget?: {
    max_iterations?: number;
    max_tokens?: number;
    max_cost_usd?: number;
  } | null;
};

export type RunRequest = {
  prompt?: string | null | undefined;
  system?: string | null | undefined;
  options?: RunOptions | undefined;
};

export type RunResult = {
  run_id: string;
  session_id: string | null;
  status: "running" | "idle" | "awaiting_tool" | "awaiting_approval" | "done" | "stuck" | "budget_exhausted" | "watchdog" | "failed" | "error" | "cancelled";
  text: string;
  /** The text without reasoning, tool calls and other parts that are not meant for people. */
  visible_text: string;
  /** Why the last turn of the model ended, in the words of a model call; `null`: there was none. */
  stop_reason: string | null;
  /** The same in the provider's own word. */
  raw_stop_reason: string | null;
  iterations: number;
  duration_ms: number;
  tools_used: string[];
  successful_tools: string[];
  rejected_tools: string[];
  /** Messages that arrived too late for the run. */
  deferred_user_messages: Message[];
  tool_calling_mode: "native" | "text";
  input_tokens: number;
  output_tokens: number;
  /** Cost of the run and of its tasks and sub-agents. */
  cost_usd: number;
  /** Cost of the run alone. */
  own_cost_usd: number;
  /** Whether the price of every call in `cost_usd` is known; others count as 0. */
  price_known: boolean;
  daemon_state: "running" | "idle" | "awaiting_tool" | "awaiting_approval" | "done" | "stuck" | "budget_exhausted" | "watchdog" | "failed" | "error" | "cancelled" | null;
  daemon_snapshot_path: string | null;
  task_ledger: Record<string, unknown> | null;
  /** How often the run wanted to end with open items. */
  ledger_done_rejections: number;
  /** What can wake the daemon. */
  wake_sources?: string[];
  /** Tools that the policy asked for beyond its ceiling. */
  policy_dropped?: string[];
  /** How Hull chose the model, if it did, and which one of a chain of fallbacks answered last. */
  routing?: Record<string, unknown>;
  /** The answer as JSON, if the request asked for JSON. */
  data?: unknown;
  /** Summary of the messages that compaction removed from the conversation. */
  summary?: string;
  /** The last version of each; in a session without its content. */
  artifacts?: ({
    /** Unique in its session. */
    id: string;
    type: "code" | "html" | "markdown" | "svg" | "mermaid" | "react" | "image" | "custom" | "document";
    title: string;
    /** Text; for an image its URL; for type `custom` any JSON. */
    content: unknown;
    /** Only for `code` and `react`. */
    language?: string;
    metadata: Record<string, unknown>;
    plugin?: string;
    version: number;
  } | {
    /** Unique in its session. */
    id: string;
    type: "code" | "html" | "markdown" | "svg" | "mermaid" | "react" | "image" | "custom" | "document";
    title: string;
    version: number;
  })[];
  /** The last 1000 steps of the loop that appear in no message. */
  trace: Record<string, unknown>[];
  warnings?: {
    code: string;
    message: string;
    option?: string;
  }[];
  /** The call used up a soft budget. */
  budget_exceeded?: true;
  /** The calls that mocks answered: at most the last 1000, and at most 8 MiB. */
  mock_calls?: Record<string, unknown>[];
  /** How many earlier entries of `mock_calls` are missing. */
  mock_calls_left_out?: number;
  transcript: Transcript;
  /** The transcript holds only the last records of a very long run. */
  transcript_truncated?: true;
};

export type ServedCatalog = {
  /** `null`: no catalog is served. */
  id: Digest | null;
  /** What a rollback serves; `null`: there is none. */
  previous: Digest | null;
  /** `null`: the deployment came with it. */
  published_at: string | null;
  /** Id of the key; `null`: none was needed, or Hull did not store it. */
  published_by: string | null;
};

export type Session = SessionAncestry & {
  id: string;
  state: "active" | "archived" | "abandoned" | "closed";
  created_at: string;
  updated_at: string;
  /** Number of messages that the next model call would send. */
  length: number;
  /** Summary of the messages that compaction removed from the conversation. */
  summary: string | null;
  /** Number of the last event; 0: there is none. */
  last_event: number;
  metadata: Record<string, unknown>;
  /** The run under way. */
  run: {
    run_id: string;
    status: "running" | "idle" | "awaiting_tool" | "awaiting_approval" | "done" | "stuck" | "budget_exhausted" | "watchdog" | "failed" | "error" | "cancelled";
  } | null;
};

export type SessionAncestry = {
  parent_id: string | null;
  child_ids: string[];
  /** Where this session branched off: the number of messages that it took over from its parent. */
  branched_at_event_index: number | null;
};

export type SessionCassette = {
  session_id: string;
  /** As `options.mock` takes them. */
  mocks: Record<string, unknown>[];
  tool_results: ({
    run_id: string;
    tool_call_id: string;
    name: string;
    arguments: Record<string, unknown>;
    /** SHA-256 (hex) of name and arguments. */
    arguments_digest: string;
    status: "ok" | "error" | "rejected";
    content: string;
  })[];
};

export type SessionCost = {
  total_cost: number;
  input_tokens: number;
  output_tokens: number;
  call_count: number;
};

export type SessionEvents = {
  data: HullEvent[];
  next_cursor: string | null;
};

export type SessionFile = {
  path: string;
  size: number;
  sha256: Digest;
  modified_at: string;
};

export type SessionFiles = {
  data: SessionFile[];
  next_cursor: string | null;
};

export type SessionMessages = {
  data: Message[];
  next_cursor: string | null;
};

export type SessionRun = {
  run_id: string;
  session_id: string;
  status: "running" | "idle" | "awaiting_tool" | "awaiting_approval" | "done" | "stuck" | "budget_exhausted" | "watchdog" | "failed" | "error" | "cancelled";
  created_at: string;
  settled_at: string | null;
  result?: RunResult;
  error?: Problem;
  /** Calls that wait for the client's answer. */
  awaiting?: {
    tool_call_id: string;
    name: string;
    arguments: Record<string, unknown>;
  }[];
  /** Calls that wait for a person's decision. */
  approvals?: Approval[];
};

export type SessionRunResult = RunResult & {
  /** Calls that wait for the client's answer. */
  awaiting?: {
    tool_call_id: string;
    name: string;
    arguments: Record<string, unknown>;
  }[];
  /** Calls that wait for a person's decision. */
  approvals?: Approval[];
};

export type SessionRuns = {
  data: SessionRun[];
  next_cursor: string | null;
};

export type Sessions = {
  data: ({
    id: string;
    state: "active" | "archived" | "abandoned" | "closed";
    created_at: string;
    parent_id: string | null;
    metadata: Record<string, unknown>;
  })[];
  next_cursor: string | null;
};

export type ShownApiKey = ApiKey & {
  /** Shown this once. */
  key: string;
};

export type SoftBudget = {
  budget: number | null;
  /** USD; negative where it was passed. */
  remaining: number | null;
};

export type Stored = {
  digest: string;
  stored: string[];
};

export type StoredFile = {
  id: string;
  filename: string | null;
  mime: string;
  size: number;
  sha256: Digest;
  created_at: string;
  expires_at: string;
};

export type StoredWorkflow = {
  /** As it is stored, or `<skill>/<name>`. */
  name: string;
  /** `null`: a skill's, which has none of its own. */
  version: number | null;
  digest: string;
  created_at: string | null;
  graph: WorkflowGraph;
};

export type StructuredRequest = {
  prompt: string;
  schema: Record<string, unknown>;
  system?: string | null | undefined;
  options?: CallOptions | undefined;
};

export type StructuredResult = {
  ok: boolean;
  data: unknown;
  raw_text: string;
  error: unknown;
  /** `missing_json`, `schema_validation`, `repair_failed` or the category of a failed call. */
  error_category: string | null;
  attempts: number;
  repaired: boolean;
  extracted_json: boolean;
  usage: {
    input_tokens: number;
    output_tokens: number;
    cache_read_tokens: number;
    cache_write_tokens: number;
    cache_hit_ratio: number;
    cache_savings_usd: number;
    cost_usd: number;
    price_known: boolean;
  } | null;
  model: string | null;
  provider: string | null;
  warnings?: {
    code: string;
    message: string;
    option?: string;
  }[];
  /** The call used up a soft budget. */
  budget_exceeded?: true;
  /** The calls that mocks answered: at most the last 1000, and at most 8 MiB. */
  mock_calls?: Record<string, unknown>[];
  /** How many earlier entries of `mock_calls` are missing. */
  mock_calls_left_out?: number;
};

/** Options of the run, and further ones of the sub-agent. */
export type SubAgentOptions = RunOptions & {
  name?: string;
  system?: string;
  allowed_tools?: string[];
  returns?: {
    schema: Record<string, unknown>;
  };
  background?: boolean;
  session_id?: string;
  fork?: boolean;
  request?: Record<string, unknown>;
  payload?: unknown;
  research_questions?: string[];
  action_items?: string[];
  workflow_stages?: string[];
  verification_steps?: string[];
};

export type SubAgentRequest = {
  task: string;
  options?: SubAgentOptions | undefined;
  /** Its ceilings hold, and its stream tells of the run. */
  parent_session_id?: string | undefined;
};

export type SubAgentResult = {
  ok: boolean;
  status: string;
  summary: string;
  artifacts: unknown[];
  evidence_added: number;
  tokens_used: number;
  budget_exceeded: boolean;
  session_id: string;
  data?: unknown;
  /** Those of the run's result, e.g. that the model refused. */
  warnings?: unknown[];
  error?: {
    category: string;
    message: string;
    tool?: string;
  };
};

export type Task = {
  _type: "task_handle";
  id: string;
  name: string;
  task: string;
  mode: "workflow" | "stage" | "delegated_stage" | "sub_agent";
  status: "running" | "completed" | "failed" | "cancelled" | "awaiting" | "interrupted";
  created_at: string;
  started_at: string;
  finished_at: string | null;
  awaiting_started_at: string | null;
  history: string[];
  request: {
    task: string;
    system: string | null;
    payload: unknown;
    research_questions: unknown;
    action_items: unknown;
    workflow_stages: unknown;
    verification_steps: unknown;
    [name: string]: unknown;
  };
  provenance: Record<string, unknown>;
  result: Record<string, unknown> | null;
  error: Problem | null;
  artifact_count: number;
  has_transcript: boolean;
  parent_task_id: string | null;
  parent_stage_id: string | null;
  child_run_id: string | null;
  child_run_path: string | null;
  execution: Record<string, unknown> | null;
  snapshot_path: string | null;
  /** Requested tools that the run lacks: there are none of these names, or the policy does not allow them. */
  policy_dropped?: string[];
  audit: ({
    at: string;
    action: string;
    run_id: string | null;
  })[];
};

export type TaskRequest = {
  task: string;
  node?: {
    id?: string | undefined;
    mode?: "llm" | "agent" | undefined;
    prompt?: string | undefined;
    system?: string | undefined;
    task_label?: string | undefined;
    done_sentinel?: string | undefined;
    tools?: (string | Record<string, unknown>)[] | undefined;
    model_policy?: Record<string, unknown> | undefined;
    auto_compact?: Record<string, unknown> | undefined;
    context_policy?: {
      max_artifacts?: number | undefined;
      max_tokens?: number | undefined;
      reserve_tokens?: number | undefined;
      include_kinds?: string[] | undefined;
      exclude_kinds?: string[] | undefined;
      prioritize_kinds?: string[] | undefined;
      pinned_ids?: string[] | undefined;
      include_stages?: string[] | undefined;
      prefer_recent?: boolean | undefined;
      prefer_fresh?: boolean | undefined;
      render?: "json" | "xml" | undefined;
    } | undefined;
    capability_policy?: Policy | undefined;
    approval_policy?: {
      require_risk?: "none" | "safe" | "moderate" | "dangerous" | "critical" | undefined;
      auto_approve?: string[] | undefined;
      auto_deny?: string[] | undefined;
      require_approval?: string[] | undefined;
      write_path_allowlist?: string[] | undefined;
    } | undefined;
    output_contract?: {
      output_kinds?: string[] | undefined;
      schema?: Record<string, unknown> | undefined;
    } | undefined;
    exit_when_verified?: boolean | undefined;
    metadata?: Record<string, unknown> | undefined;
    kind?: "stage" | "subagent" | undefined;
  } | undefined;
  graph?: Record<string, unknown> | undefined;
  name?: string | undefined;
  wait?: boolean | undefined;
  artifacts?: WorkflowArtifact[] | undefined;
  options?: RunOptions | undefined;
  transcript?: Transcript | undefined;
  policy?: Policy | undefined;
  tools?: string[] | undefined;
  permissions?: Permissions | undefined;
  execution?: {
    cwd?: string | undefined;
    env?: Record<string, string> | undefined;
    worktree?: unknown | undefined;
  } | undefined;
  carry?: {
    artifact_mode?: "inherit" | "none" | undefined;
    transcript_mode?: "inherit" | "fork" | "reset" | "compact" | undefined;
    context_policy?: {
      max_artifacts?: number | undefined;
      max_tokens?: number | undefined;
      reserve_tokens?: number | undefined;
      include_kinds?: string[] | undefined;
      exclude_kinds?: string[] | undefined;
      prioritize_kinds?: string[] | undefined;
      pinned_ids?: string[] | undefined;
      include_stages?: string[] | undefined;
      prefer_recent?: boolean | undefined;
      prefer_fresh?: boolean | undefined;
      render?: "json" | "xml" | undefined;
    } | undefined;
    persist_state?: boolean | undefined;
    retriggerable?: boolean | undefined;
    resume_workflow?: boolean | undefined;
    policy?: Policy | undefined;
  } | undefined;
  parent_session_id?: string | undefined;
  payload?: unknown | undefined;
  research_questions?: string[] | undefined;
  action_items?: string[] | undefined;
  workflow_stages?: string[] | undefined;
  verification_steps?: string[] | undefined;
};

export type Tasks = {
  data: ({
    id: string;
    name: string;
    mode: "workflow" | "stage" | "delegated_stage" | "sub_agent";
    status: "running" | "completed" | "failed" | "cancelled" | "awaiting" | "interrupted";
    parent_task_id: string | null;
    created_at: string;
  })[];
  next_cursor: string | null;
};

export type ToolAnswer = {
  tool_call_id: string;
  content: unknown;
  is_error?: boolean | undefined;
};

export type ToolConfig = {
  skill: string;
  bot: string | null;
  tools: Record<string, {
    params: ConfigParam[];
    /** Of secrets `{set}`; without value and default: nothing. */
    values: Record<string, unknown>;
    sources: Record<string, "default" | "global" | "per_bot">;
    diagnostics: ({
      code: string;
      param: string;
      source: "global" | "per_bot";
      message: string;
    })[];
  }>;
};

export type ToolConfigChange = {
  /** Values by tool and parameter. */
  tools: Record<string, Record<string, unknown>>;
};

export type ToolDetails = {
  name: string;
  description: string;
  /** JSON Schema of its arguments. */
  parameters: Record<string, unknown>;
  tier: "isolate" | "runner" | "stub";
  /** Why the build chose the tier, for people. */
  tier_reason?: string;
  risk: "safe" | "moderate" | "dangerous" | "critical";
  /** Whether `tools` leaves it out. Models may call it in any case. */
  hidden: boolean;
  /** Its handler in the skill's folder. */
  script?: string;
  /** Earlier skills that have a tool of this name, which this one replaces. */
  overrides?: string[];
};

export type TotalUsage = {
  input_tokens: number;
  output_tokens: number;
  total_duration_ms: number;
  call_count: number;
};

export type Trace = {
  /** Whether the run was taken up after its process died. */
  recovered: boolean;
  /** What the model said last in the whole run. */
  text: string | null;
  /** What the run ended with. */
  error: {
    code: string;
    title: string;
    detail: string;
  } | null;
  warnings?: {
    code: string;
    message: string;
    option?: string;
  }[];
  data: ({
    /** In the order in which the steps began. */
    number: number;
    kind: "model" | "tool" | "hook" | "approval" | "message" | "compaction" | "wake" | "note";
    /** The provider, tool or hook; what kind of message; how the run ended. */
    name: string;
    started_at: string;
    /** `null`: it is under way. */
    duration_ms: number | null;
    /** `null`: it neither went well nor failed. */
    ok: boolean | null;
    /** What went in; of long values the beginning of their text. */
    input?: unknown;
    /** What came out, in the same way. */
    output?: unknown;
    /** What the model said to itself. */
    thoughts?: string;
    model?: string;
    /** Why the model ended its turn. */
    stop_reason?: string | null;
    usage?: {
      input_tokens: number;
      output_tokens: number;
      cache_read_tokens: number;
      cache_write_tokens: number;
    };
    cost_usd?: number;
  })[];
  next_cursor: string | null;
};

export type Transcript = {
  _type: "transcript";
  version: 2;
  id: string;
  messages: Message[];
  visible_messages?: Message[];
  events: {
    id: string;
    kind: string;
    [name: string]: unknown;
  }[];
  assets: unknown[];
  summary?: string;
  metadata?: Record<string, unknown>;
  state?: string;
  archived_messages?: number;
};

export type UploadResult = {
  slug: string;
  tenant: string;
  digest: Digest;
  created_at: string;
  updated_at: string;
  /** The published skill that has its slug or route; as long as there is one it is not served. */
  shadowed_by: {
    slug: string;
    route: string;
  } | null;
  /** `null`: a later version of Hull stored the skill in a form that this version cannot read, and does not serve. */
  card: Card | null;
  warnings: Diagnostic[];
};

/** Named by what it is grouped by; `null`: by no skill, in no session. */
export type Usage = {
  day?: string;
  skill?: string | null;
  session?: string | null;
  provider?: string;
  model?: string;
  calls: number;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  cost_usd: number;
  /** Whether the price of every call is known. */
  price_known: boolean;
  /** Calls whose tokens are estimates. */
  estimated_calls: number;
  duration_ms: number;
};

export type UsagePage = {
  data: Usage[];
  next_cursor: string | null;
};

export type Versions = {
  data: ({
    digest: Digest;
    /** `null`: of a catalog that a deployment pins and that was never published. */
    published_at: string | null;
    /** Whether this version is served. */
    current: boolean;
  })[];
  next_cursor: string | null;
};

export type WorkflowArtifact = {
  _type?: "artifact";
  id?: string;
  kind?: string;
  title?: string;
  text?: string | null;
  data?: unknown;
  source?: string | null;
  created_at?: string;
  freshness?: string | null;
  priority?: number;
  lineage?: string[];
  relevance?: number | null;
  estimated_tokens?: number;
  stage?: string | null;
  metadata?: Record<string, unknown>;
};

export type WorkflowGraph = {
  _type?: "workflow_graph";
  id?: string;
  name?: string;
  version?: number;
  entry?: string;
  nodes: Record<string, WorkflowNode>;
  edges?: {
    from: string;
    to: string;
    branch?: string;
    label?: string;
    max_traversals?: number;
  }[];
  capability_policy?: {
    tools?: string[];
    blocked_tools?: string[];
    capabilities?: Record<string, string[]>;
    workspace_roots?: string[];
    side_effect_level?: "none" | "read_only" | "workspace_write" | "process_exec" | "network";
    recursion_limit?: number;
    tool_arg_constraints?: {
      tool: string;
      arg_patterns: string[];
      arg_key?: string;
    }[];
    tool_annotations?: Record<string, {
      kind?: string;
      side_effect_level?: "none" | "read_only" | "workspace_write" | "process_exec" | "network";
      capabilities?: Record<string, string[]>;
      arg_schema?: Record<string, unknown>;
    }>;
  };
  approval_policy?: {
    require_risk?: "none" | "safe" | "moderate" | "dangerous" | "critical";
    auto_approve?: string[];
    auto_deny?: string[];
    require_approval?: string[];
    write_path_allowlist?: string[];
  };
  metadata?: Record<string, unknown>;
  audit_log?: unknown[];
};

export type WorkflowNode = {
  id?: string;
  kind?: "stage" | "verify" | "condition" | "fork" | "join" | "map" | "reduce" | "escalation" | "subagent" | "wait";
  mode?: "llm" | "agent";
  prompt?: string;
  system?: string;
  task_label?: string;
  done_sentinel?: string;
  tools?: (string | Record<string, unknown>)[];
  model_policy?: Record<string, unknown>;
  auto_compact?: Record<string, unknown>;
  output_visibility?: string;
  context_policy?: {
    max_artifacts?: number;
    max_tokens?: number;
    reserve_tokens?: number;
    include_kinds?: string[];
    exclude_kinds?: string[];
    prioritize_kinds?: string[];
    pinned_ids?: string[];
    include_stages?: string[];
    prefer_recent?: boolean;
    prefer_fresh?: boolean;
    render?: "json" | "xml";
  };
  retry_policy?: {
    max_attempts?: number;
    verify?: boolean;
    repair?: boolean;
    backoff_ms?: number;
    backoff_multiplier?: number;
    retry_on?: string[];
  };
  timeout_ms?: number;
  total_timeout_ms?: number;
  capability_policy?: {
    tools?: string[];
    blocked_tools?: string[];
    capabilities?: Record<string, string[]>;
    workspace_roots?: string[];
    side_effect_level?: "none" | "read_only" | "workspace_write" | "process_exec" | "network";
    recursion_limit?: number;
    tool_arg_constraints?: {
      tool: string;
      arg_patterns: string[];
      arg_key?: string;
    }[];
    tool_annotations?: Record<string, {
      kind?: string;
      side_effect_level?: "none" | "read_only" | "workspace_write" | "process_exec" | "network";
      capabilities?: Record<string, string[]>;
      arg_schema?: Record<string, unknown>;
    }>;
  };
  approval_policy?: {
    require_risk?: "none" | "safe" | "moderate" | "dangerous" | "critical";
    auto_approve?: string[];
    auto_deny?: string[];
    require_approval?: string[];
    write_path_allowlist?: string[];
  };
  input_contract?: {
    input_kinds?: string[];
    min_inputs?: number;
    max_inputs?: number;
    require_transcript?: boolean;
    schema?: Record<string, unknown>;
  };
  output_contract?: {
    output_kinds?: string[];
    schema?: Record<string, unknown>;
  };
  branch_semantics?: unknown;
  map_policy?: {
    items?: unknown[];
    item_artifact_kind?: string;
    output_kind?: string;
    max_items?: number;
    max_concurrent?: number;
  };
  join_policy?: {
    strategy?: "all" | "first" | "quorum";
    require_all_inputs?: boolean;
    min_completed?: number;
  };
  reduce_policy?: {
    strategy?: "concat";
    separator?: string;
    output_kind?: string;
  };
  escalation_policy?: {
    level?: string;
    queue?: string;
    reason?: string;
  };
  verify?: {
    command?: string;
    assert_text?: string;
    expect_status?: number;
    expect_text?: string;
  };
  wait?: {
    sleep_ms?: number;
    until?: string;
    event?: string;
    key?: string;
    approval?: string;
    timeout_ms?: number;
  };
  exit_when_verified?: boolean;
  compensation?: string;
  metadata?: Record<string, unknown>;
};

/** Options of the workflow run, together with those of a run, which apply to every stage. */
export type WorkflowOptions = RunOptions & {
  max_steps?: number;
  max_concurrent?: number;
  deadline_ms?: number;
  compensation_ms?: number;
  resume_run?: string | Record<string, unknown>;
  replay_run?: string | Record<string, unknown>;
  persist_path?: string;
  resume_path?: string;
  replay_path?: string;
  replay_mode?: "deterministic";
  parent_run_id?: string;
  root_run_id?: string;
  metadata?: Record<string, unknown>;
  audit?: Record<string, unknown>;
  policy?: Record<string, unknown>;
  test?: {
    virtual_time?: boolean;
    mocks?: Record<string, unknown[]>;
    approvals?: Record<string, "approve" | "deny">;
    signals?: ({
      name: string;
      key?: string | null;
      payload?: unknown;
    })[];
    crashes?: ({
      node: string;
      visit?: number;
      attempt?: number;
      item?: number;
      at: "begun" | "called" | "answered" | "settled";
    })[];
  };
};

export type WorkflowRequest = {
  task: string;
  graph?: WorkflowGraph | undefined;
  workflow?: string | undefined;
  artifacts?: GivenArtifacts | undefined;
  options?: WorkflowOptions | undefined;
};

export type WorkflowResult = {
  id: string;
  status: "running" | "waiting" | "paused" | "completed" | "failed" | "cancelled";
  run: WorkflowRun;
  artifacts: WorkflowArtifact[];
  transcript: unknown;
  path: string;
};

export type WorkflowRun = {
  _type: "run_record";
  id: string;
  workflow_id: string;
  workflow_name: string;
  /** `null`: the graph came with the request. */
  workflow: {
    name: string;
    /** `null`: a workflow of a skill. */
    version: number | null;
    digest: string;
  } | null;
  /** `null`: each stage takes the versions that are served at the time. */
  skills: {
    /** By the name that the run gives the skill. */
    digests: Record<string, string>;
    /** The skills that `*` means. */
    all?: string[];
  } | null;
  graph: WorkflowGraph;
  /** The run options that hold for every stage. */
  options: Record<string, unknown>;
  task: string;
  status: "running" | "waiting" | "paused" | "completed" | "failed" | "cancelled";
  /** One sentence: what the run does, or why it does not continue. */
  explanation: string;
  started_at: string;
  finished_at: string | null;
  parent_run_id: string | null;
  root_run_id: string;
  /** The earlier run that this one continues or repeats. */
  origin: {
    run_id: string;
    how: "resume" | "fork" | "replay";
    /** Ids of the stages that are not to be undone. */
    undone?: string[];
  } | null;
  stages: WorkflowStage[];
  compensations: WorkflowStage[];
  /** Ids of stages that the run has not undone yet. */
  uncompensated: string[];
  transitions: ({
    from: string;
    to: string;
    branch: string | null;
    at: string;
  })[];
  active: ({
    node_id: string;
    visit: number;
    started_at: string;
    attempt: number;
    /** Id of the stage that it undoes. */
    compensates?: string;
    /** The sessions of its runs under way. */
    child_session_ids?: string[];
    retry_at?: string;
    /** `null`: without end. */
    waits_until?: string | null;
    approval?: {
      question: string;
    };
    /** Of a map: the items that run. */
    items?: number[];
  })[];
  checkpoints: ({
    kind: "start" | "stage_complete" | "finalize";
    at: string;
    stage_id?: string;
  })[];
  pending_nodes: string[];
  completed_nodes: string[];
  /** Ids. */
  failed_stages: string[];
  child_runs: {
    stage_id: string;
    run_id: string;
  }[];
  artifacts: WorkflowArtifact[];
  /** The ceiling of every stage; `null`: none. */
  policy: Record<string, unknown> | null;
  usage: {
    input_tokens: number;
    output_tokens: number;
    total_duration_ms: number;
    call_count: number;
    total_cost: number;
    /** The price of a call is not known, so it counts as 0. Absent: all are known. */
    price_known?: false;
    models: string[];
  };
  /** That of the last stage that has one. */
  transcript: unknown;
  error: {
    code: string;
    /** Of a failed model call, e.g. `rate_limit`, which `retry_on` may also name. */
    category?: string;
    message: string;
  } | null;
  steps: number;
  max_steps: number;
  replay_fixture: null;
  trace_spans: ({
    span_id: string;
    /** `null`: the span of the run. */
    parent_id: string | null;
    kind: "workflow" | "stage" | "attempt" | "model" | "tool";
    name: string;
    /** Since the run began. */
    start_ms: number;
    /** `null`: it is under way. */
    duration_ms: number | null;
    metadata: Record<string, unknown>;
  })[];
  tool_recordings: ({
    stage_id: string;
    run_id: string;
    tool_call_id: string;
    name: string;
    /** The beginning of their text if they are long. */
    arguments: unknown;
    /** SHA-256 of name and arguments, as in a cassette. */
    arguments_digest: string;
    status: "ok" | "error" | "rejected";
    content: string;
    at: string;
    /** `null`: a client answered. */
    duration_ms: number | null;
  })[];
  trace_spans_left_out?: number;
  tool_recordings_left_out?: number;
  /** How far its time is ahead of the clock. */
  virtual_time_ms: number;
  /** Of a run that tries a graph: where its process died, and what it has not needed so far. */
  test: {
    /** Where its process died. */
    crashed: ({
      node: string;
      visit: number;
      attempt: number;
      /** Of a map: which item, counted from 0. */
      item?: number;
      at: "begun" | "called" | "answered" | "settled";
    })[];
    /** What its author provided and it has not needed so far. */
    unmet: {
      crashes: ({
        node: string;
        visit: number;
        attempt: number;
        /** Of a map: which item, counted from 0. */
        item?: number;
        at: "begun" | "called" | "answered" | "settled";
      })[];
      /** Answers for attempts that did not happen. */
      mocks: {
        node: string;
        attempt: number;
      }[];
      /** Nodes that did not ask. */
      approvals: string[];
      signals: ({
        name: string;
        key: string | null;
      })[];
    };
  } | null;
  metadata: Record<string, unknown>;
  /** Names the record in `resume_path`, `replay_path` and `session_restore`. */
  persisted_path: string;
};

export type WorkflowRuns = {
  data: ({
    id: string;
    workflow: string;
    task: string;
    status: "running" | "waiting" | "paused" | "completed" | "failed" | "cancelled";
    created_at: string;
    finished_at: string | null;
  })[];
  next_cursor: string | null;
};

export type WorkflowStage = {
  /** `<run>:<node>:<visit>`. */
  id: string;
  node_id: string;
  kind: string;
  status: "completed" | "failed" | "partial";
  /** Depends on the kind of node: `success`, `verified`, …. */
  outcome: string;
  /** Selects the edges to take next. */
  branch: string;
  error: {
    code: string;
    /** Of a failed model call, e.g. `rate_limit`, which `retry_on` may also name. */
    category?: string;
    message: string;
  } | null;
  usage: {
    input_tokens: number;
    output_tokens: number;
    total_duration_ms: number;
    call_count: number;
    total_cost: number;
    /** The price of a call is not known, so it counts as 0. Absent: all are known. */
    price_known?: false;
    models: string[];
  };
  started_at: string;
  finished_at: string;
  visible_text: string;
  private_reasoning: string | null;
  transcript: unknown;
  /** Of a verify node: `{ok, …}` of each check. */
  verification: unknown;
  artifacts: WorkflowArtifact[];
  consumed_artifact_ids: string[];
  produced_artifact_ids: string[];
  attempts: ({
    attempt: number;
    status: string;
    started_at: string;
    finished_at: string;
    /** Depends on the kind of node: `success`, `verified`, …. */
    outcome: string;
    /** Selects the edges to take next. */
    branch: string;
    error: {
      code: string;
      /** Of a failed model call, e.g. `rate_limit`, which `retry_on` may also name. */
      category?: string;
      message: string;
    } | null;
    usage: {
      input_tokens: number;
      output_tokens: number;
      total_duration_ms: number;
      call_count: number;
      total_cost: number;
      /** The price of a call is not known, so it counts as 0. Absent: all are known. */
      price_known?: false;
      models: string[];
    };
    child_run_id: string | null;
    /** The session of that run; absent before Hull recorded it. */
    child_session_id?: string | null;
  })[];
  /** SHA-256 (hex) of the stage's input. */
  input_digest: string;
  /** `tools`, `policy`, `items`, `wait` as the attempt used them; `stop_reason` and `warnings` of its run. */
  metadata: Record<string, unknown>;
};

export type WorkflowValidation = {
  valid: boolean;
  errors: {
    path: string;
    message: string;
    node?: string;
  }[];
  warnings: {
    path: string;
    message: string;
    node?: string;
  }[];
  /** In the order in which a walk from the entry reaches them. */
  reachable_nodes: string[];
};

export type WorkflowVersion = {
  name: string;
  version: number;
  digest: string;
};

export type Workflows = {
  data: ({
    /** As it is stored, or `<skill>/<name>`. */
    name: string;
    /** `null`: a skill's, which has none of its own. */
    version: number | null;
    digest: string;
    created_at: string | null;
  })[];
  next_cursor: string | null;
};

/** The data of each event, by the event's name. */
export interface EventData {
  /** The run has begun. Hull answers an invalid request before this, without a stream. */
  start: {
    /** For calls of skills and models, and for `POST /runs`. */
    execution_id?: string;
    /** For the same: id of the request that began the run. */
    request_id?: string;
    /** The slug; for calls of skills. */
    skill?: string;
    /** For calls of skills. */
    mode?: "script" | "static-file" | "proxy" | "llm";
    /** For calls of models, runs and workflow runs. */
    operation?: "llm/call" | "llm/structured" | "llm/completion" | "runs" | "workflows" | "responses";
    /** Of runs. */
    run_id?: string;
    /** For runs; `null` without a session. */
    session_id?: string | null;
  };
  /** A piece of the answer: output of a script, bytes of a file, text of the model. */
  delta: {
    text?: string;
    /** Instead of `text`, for bytes that are not UTF-8: Base64. */
    b64?: string;
    /** The model call, counted from 1. */
    round?: number;
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** A piece of the model's reasoning. */
  thought: {
    text?: string;
    /** Instead of `text`, for bytes that are not UTF-8: Base64. */
    b64?: string;
    /** The model call, counted from 1. */
    round: number;
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** A piece of what a script prints to stderr, in order with `delta`. */
  stderr: {
    text?: string;
    /** Instead of `text`, for bytes that are not UTF-8: Base64. */
    b64?: string;
  };
  /** A model call has ended, or begins again. */
  round: {
    /** The model call, counted from 1. */
    round: number;
    /** Why the model stopped, e.g. `end_turn`, `tool_use`, `max_tokens`; the provider's own word if Hull does not know it. */
    finish_reason?: string;
    usage?: {
      input_tokens: number;
      output_tokens: number;
      cache_read_tokens: number;
      cache_write_tokens: number;
    };
    /** Hull asks the model again: earlier `delta` and `thought` events of this round are void. */
    restarted?: true;
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** The model calls a tool. */
  tool_call: {
    /** The model call, counted from 1. */
    round: number;
    /** The id that the model gave the call. */
    call_id: string;
    name: string;
    /** As the model wrote them; if they are not JSON, `{_raw}` and the reason. */
    arguments: unknown;
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** What a handler emits or prints, sent immediately; up to 1 MB for each call. */
  tool_output: {
    /** The id that the model gave the call. */
    call_id: string;
    stream: "emit" | "stdout" | "stderr";
    text?: string;
    /** Instead of `text`, for bytes that are not UTF-8: Base64. */
    b64?: string;
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** A tool call has ended. Its content is for the model and not part of the event. */
  tool_result: {
    /** The model call, counted from 1. */
    round: number;
    /** The id that the model gave the call. */
    call_id: string;
    name: string;
    ok: boolean;
    status: "ok" | "error" | "rejected";
    /** For failures: exact for calls of skills, a category for runs. */
    code?: string;
    exit_code: number | null;
    duration_ms: number;
    /** Size of all that the tool wrote, before truncation. */
    bytes: number;
    /** Whether the model sees less than the tool wrote. */
    truncated: boolean;
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** A tool made something for people to look at, or a new version of it. */
  artifact: {
    /** The id that the model gave the call. */
    call_id?: string;
    /** Unique in its session. */
    id: string;
    type: "code" | "html" | "markdown" | "svg" | "mermaid" | "react" | "image" | "custom" | "document";
    title: string;
    /** Text; for an image its URL; for type `custom` any JSON. */
    content: unknown;
    /** Only for `code` and `react`. */
    language?: string;
    metadata: Record<string, unknown>;
    plugin?: string;
    version: number;
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** A call waits for a person's decision. */
  approval_request: {
    /** Decide it at `POST /sessions/{id}/approvals/{approval}`. */
    id: string;
    tool_call_id: string;
    tool: string;
    arguments: Record<string, unknown>;
    /** SHA-256 of the tool and the arguments: the decision holds only for these. */
    arguments_digest: string;
    risk: string;
    /** What requires the approval. */
    cause?: string;
    /** RFC 3339. */
    requested_at: string;
    /** RFC 3339. */
    expires_at: string;
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** Hull compared the run's skills with the latest message. */
  skill_matched: {
    strategy: string;
    /** Model calls before this event, including itself if it is one. */
    iteration: number;
    /** Whether skills had been matched before in this run. */
    reassess: boolean;
    candidates: {
      name: string;
      score: number;
      reason: string;
    }[];
    working_files: string[];
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** A skill became active: its text is part of the system text. */
  skill_activated: {
    name: string;
    description: string;
    /** Model calls before this event, including itself if it is one. */
    iteration: number;
    score: number;
    reason: string;
    allowed_tools: string[];
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** An active skill no longer matches. */
  skill_deactivated: {
    name: string;
    /** Model calls before this event, including itself if it is one. */
    iteration: number;
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** An active skill limits the tools on offer. */
  skill_scope_tools: {
    name: string;
    allowed_tools: string[];
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** A skill's MCP server is connected; `tools` names its tools. */
  skill_mcp_bound: {
    name: string;
    server: string;
    tools: string[];
    /** Model calls before this event, including itself if it is one. */
    iteration: number;
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** The skill is no longer active, so the run no longer has its MCP server. */
  skill_mcp_unbound: {
    name: string;
    server: string;
    /** Model calls before this event, including itself if it is one. */
    iteration: number;
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** Hull could not connect a skill's MCP server; the run continues without it. */
  skill_mcp_bind_failed: {
    name: string;
    server: string;
    error: string;
    /** Model calls before this event, including itself if it is one. */
    iteration: number;
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** The model searches for deferred tools. */
  tool_search_query: {
    type: "tool_search_query";
    id: string;
    name: string;
    /** The arguments as the model gave them. */
    query: unknown;
    strategy?: string;
    mode: "anthropic" | "openai" | "client";
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** What the search found. */
  tool_search_result: {
    type: "tool_search_result";
    tool_use_id: string;
    tool_references: {
      tool_name: string;
    }[];
    mode: "anthropic" | "openai" | "client";
    /** Tools that became callable. */
    promoted: string[];
    strategy?: string;
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** Hull or a host gave the model feedback. */
  feedback_injected: {
    kind: string;
    content: string;
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** A summary replaced older messages. */
  transcript_compacted: {
    mode: "auto" | "preflight" | "manual" | "hard_limit" | "idle";
    strategy: string;
    engine_strategy: string;
    archived_messages: number;
    estimated_tokens_before: number;
    estimated_tokens_after: number;
    keep_first: number;
    keep_last: number;
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** An attempt of a workflow's node began, waits or ended. */
  stage: {
    /** `<run>:<node>:<visit>`, as in the run's record. */
    stage_id: string;
    node_id: string;
    /** Counted from 1. */
    attempt: number;
    /** Of a map: which item, counted from 0. */
    item?: number;
    status: "running" | "waiting" | "completed" | "partial" | "failed";
    /** How it ended, e.g. `success`, `verified`, `condition_true`. */
    outcome?: string;
    /** Which edges the run takes next. */
    branch?: string;
    /** RFC 3339. */
    waits_until?: string;
    /** Id of the stage that it undoes, after `cancel`. */
    compensates?: string;
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** A daemon woke. */
  daemon_wake: {
    reason: "message" | "event" | "resume" | "watch" | "cron" | "timer";
    /** The files that changed. */
    watch_paths: string[];
    resumed: boolean;
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** A part of a stored response. Hull builds the response's stream from it and never sends it itself. */
  response_part: {
    /** Blocks of a finished turn; `delta` events have already sent its text. */
    turn?: Record<string, unknown>[];
    /** A call that Hull carries out. */
    call?: Record<string, unknown>;
    /** The result of such a call. */
    result?: Record<string, unknown>;
    /** Files that the response leaves in its container. */
    files?: Record<string, unknown>[];
  };
  /** A sub-agent has begun. Its events follow among those of the session above, with `run_id` and `parent_run_id`. */
  sub_agent_start: {
    run_id: string;
    parent_run_id: string | null;
    /** The session in which it runs; also the id of its task. */
    session_id: string;
    name: string;
    task: string;
  };
  /** A sub-agent has ended. */
  sub_agent_result: {
    run_id: string;
    parent_run_id: string | null;
    session_id: string;
    name: string;
    /** `false`: its run failed. */
    ok: boolean;
    status: string;
    /** Of its own calls and those of its sub-agents. */
    cost_usd: number;
  };
  /** The status of a task changed. */
  task_update: {
    task_id: string;
    name: string;
    /** `progressed`: a trigger begins another cycle; `running` follows. */
    status: "running" | "progressed" | "awaiting_input" | "completed" | "failed" | "cancelled" | "interrupted";
    run_id?: string;
    parent_run_id?: string | null;
  };
  /** The problem document of a run that failed; `done` follows. */
  error: {
    type: string;
    title: string;
    status: number;
    detail: string;
    instance: string;
    code: string;
    request_id: string;
    [name: string]: unknown;
  };
  /** The run has ended, or waits; always the last event. For model calls and runs it holds the whole result; for workflow runs that is the answer of `execute`, for tasks the handle, and the stream of their session has only `run_id` and `status`. */
  done: {
    /** `false` follows one `error`, unless `done` itself says why: `status` of a workflow run, `error` of an envelope or a task. */
    ok: boolean;
    duration_ms?: number;
    /** How much of it calls of models took. */
    llm_ms?: number;
    /** The same of calls of tools, added up. */
    tools_ms?: number;
    /** Of scripts: how much of it the script waited for the runner. */
    queue_ms?: number;
    /** Of scripts: how much of it the script ran. */
    run_ms?: number;
    /** Of scripts. */
    exit_code?: number | null;
    /** Of llm skills. */
    finish_reason?: string;
    /** Of llm skills and model calls; `null` if no model answered `/llm/structured`. */
    usage?: Record<string, unknown> | null;
    /** Of llm skills: the files that the call made. */
    files?: Record<string, unknown>[];
    /** Of llm skills, as of a run's result. */
    warnings?: Record<string, unknown>[];
    [name: string]: unknown;
  };
}

/** What each route takes and answers. `keyed`: whether it takes an `Idempotency-Key`. `later`: its answer if the run continues. */
export interface Routes {
  "GET /skills": {
    takes: {
      query?: {
        /** Items per page. */
        limit?: number | undefined;
        /** Where the page before ended. */
        cursor?: string | undefined;
        /** Words that must all occur in name, slug, description or tool names. */
        q?: string | undefined;
        /** Only skills of this mode. */
        mode?: "script" | "static-file" | "proxy" | "llm" | undefined;
      };
    };
    keyed: false;
    answer: Card[];
  };
  "GET /skills/{slug}/card": {
    takes: {
      path: { slug: string };
    };
    keyed: false;
    answer: Card;
  };
  "POST /files": {
    takes: {
      query?: {
        /** The file's name; it wins over every other name in the request. */
        filename?: string | undefined;
      };
    };
    keyed: true;
    answer: StoredFile;
  };
  "GET /files/{id}": {
    takes: {
      path: { id: string };
    };
    keyed: false;
    answer: null;
  };
  "DELETE /files/{id}": {
    takes: {
      path: { id: string };
    };
    keyed: false;
    answer: null;
  };
  "GET /executions/{id}": {
    takes: {
      path: { id: string };
    };
    keyed: false;
    answer: Execution;
  };
  "DELETE /executions/{id}": {
    takes: {
      path: { id: string };
    };
    keyed: false;
    answer: Execution;
  };
  "GET /executions/{id}/result": {
    takes: {
      path: { id: string };
    };
    keyed: false;
    answer: null;
  };
  "GET /executions/{id}/events": {
    takes: {
      path: { id: string };
      query?: {
        /** Events after this number only. */
        after?: number | undefined;
      };
    };
    keyed: false;
    answer: null;
  };
  "GET /executions/{id}/trace": {
    takes: {
      path: { id: string };
      query?: {
        /** Items per page. */
        limit?: number | undefined;
        /** Where the page before ended. */
        cursor?: string | undefined;
      };
    };
    keyed: false;
    answer: Trace;
  };
  "GET /_hull/bundles": {
    takes: {
      query?: {
        /** Where the page before ended. */
        cursor?: string | undefined;
      };
    };
    keyed: false;
    answer: ObjectKeys;
  };
  "PUT /_hull/bundles/{digest}": {
    takes: {
      path: { digest: string };
    };
    keyed: false;
    answer: Stored;
  };
  "GET /_hull/catalog": {
    takes: Record<never, never>;
    keyed: false;
    answer: ServedCatalog;
  };
  "POST /_hull/catalog": {
    takes: {
      json: CatalogRequest;
    };
    keyed: false;
    answer: CatalogPointer;
  };
  "GET /_hull/catalog/{slug}": {
    takes: {
      path: { slug: string };
    };
    keyed: false;
    answer: PublishedSkill;
  };
  "GET /admin/keys": {
    takes: {
      query?: {
        /** Items per page. */
        limit?: number | undefined;
        /** Where the page before ended. */
        cursor?: string | undefined;
        /** One tenant's keys only; for the operator. */
        tenant?: string | undefined;
      };
    };
    keyed: false;
    answer: ApiKeys;
  };
  "POST /admin/keys": {
    takes: {
      json: NewApiKey;
    };
    keyed: true;
    answer: ShownApiKey;
  };
  "DELETE /admin/keys/{id}": {
    takes: {
      path: { id: string };
    };
    keyed: false;
    answer: null;
  };
  "GET /admin/mcp": {
    takes: Record<never, never>;
    keyed: false;
    answer: McpServers;
  };
  "POST /admin/mcp/{name}/login": {
    takes: {
      path: { name: string };
      json: McpLoginBegin;
    };
    keyed: false;
    answer: McpLoginBegun;
  };
  "PUT /admin/mcp/{name}/login": {
    takes: {
      path: { name: string };
      json: McpLoginAnswer;
    };
    keyed: false;
    answer: McpServerEntry;
  };
  "DELETE /admin/mcp/{name}/login": {
    takes: {
      path: { name: string };
    };
    keyed: false;
    answer: null;
  };
  "GET /skills/{slug}/config": {
    takes: {
      path: { slug: string };
      query?: {
        /** A profile's values instead of those that count for every profile. */
        bot?: string | undefined;
      };
    };
    keyed: false;
    answer: ToolConfig;
  };
  "PUT /skills/{slug}/config": {
    takes: {
      path: { slug: string };
      query?: {
        /** A profile's values instead of those that count for every profile. */
        bot?: string | undefined;
      };
      json: ToolConfigChange;
    };
    keyed: false;
    answer: ToolConfig;
  };
  "POST /runs": {
    takes: {
      query?: {
        /** Until when a daemon lives: its end, or its first rest, as without it. `none` answers 202. */
        wait?: "terminal" | "idle" | "none" | undefined;
        /** `1`: answer as server-sent events. */
        stream?: "0" | "1" | undefined;
      };
      json: RunRequest;
    };
    keyed: true;
    answer: RunResult;
    later: ExecutionAccepted;
  };
  "GET /runs": {
    takes: {
      query?: {
        /** Items per page. */
        limit?: number | undefined;
        /** Where the page before ended. */
        cursor?: string | undefined;
        /** Only runs in this state. */
        state?: "running" | "idle" | "awaiting_tool" | "awaiting_approval" | "done" | "stuck" | "budget_exhausted" | "watchdog" | "failed" | "error" | "cancelled" | "waiting" | "paused" | "completed" | undefined;
        /** Only runs of this kind. */
        kind?: "run" | "daemon" | "call" | "workflow" | undefined;
        /** Only runs of this skill, operation or workflow. */
        name?: string | undefined;
        /** Only runs in this session. */
        session?: string | undefined;
        /** Only runs with this model, as `provider/model`. */
        model?: string | undefined;
        /** Only runs that ended with this error. */
        code?: string | undefined;
        /** Whether the runs of workflow stages are among them; `true` if absent. */
        stages?: "true" | "false" | undefined;
      };
    };
    keyed: false;
    answer: IndexedRuns;
  };
  "GET /runs/figures": {
    takes: Record<never, never>;
    keyed: false;
    answer: RunFigures;
  };
  "GET /runs/{id}": {
    takes: {
      path: { id: string };
    };
    keyed: false;
    answer: IndexedRun;
  };
  "POST /llm/call": {
    takes: {
      query?: {
        /** `1`: answer as server-sent events. */
        stream?: "0" | "1" | undefined;
      };
      json: CallRequest;
    };
    keyed: true;
    answer: CallResult;
    later: ExecutionAccepted;
  };
  "POST /llm/stream": {
    takes: {
      query?: {
        /** `1`: answer as server-sent events. */
        stream?: "0" | "1" | undefined;
      };
      json: {
        prompt?: string | null | undefined;
        system?: string | null | undefined;
        options?: CallOptions | undefined;
      };
    };
    keyed: true;
    answer: null;
    later: ExecutionAccepted;
  };
  "POST /llm/structured": {
    takes: {
      query?: {
        /** `1`: answer as server-sent events. */
        stream?: "0" | "1" | undefined;
      };
      json: StructuredRequest;
    };
    keyed: true;
    answer: StructuredResult;
    later: ExecutionAccepted;
  };
  "POST /llm/completion": {
    takes: {
      query?: {
        /** `1`: answer as server-sent events. */
        stream?: "0" | "1" | undefined;
      };
      json: CompletionRequest;
    };
    keyed: true;
    answer: CallResult;
    later: ExecutionAccepted;
  };
  "GET /llm/info": {
    takes: Record<never, never>;
    keyed: false;
    answer: ModelInfo;
  };
  "GET /llm/models": {
    takes: {
      query?: {
        /** The id of a model, or an alias. */
        id?: string | undefined;
      };
    };
    keyed: false;
    answer: ModelAliases | Model;
  };
  "GET /llm/resolve": {
    takes: {
      query: {
        /** The id of a model, or an alias. */
        model: string;
      };
    };
    keyed: false;
    answer: ModelTarget;
  };
  "GET /llm/infer": {
    takes: {
      query: {
        /** The id of a model, or an alias. */
        model: string;
      };
    };
    keyed: false;
    answer: {
      provider: string;
    };
  };
  "GET /llm/tier": {
    takes: {
      query: {
        /** The id of a model, or an alias. */
        model: string;
      };
    };
    keyed: false;
    answer: {
      tier: "small" | "mid" | "frontier";
    };
  };
  "GET /llm/pick": {
    takes: {
      query: {
        /** An alias or a tier. */
        target: string;
      };
    };
    keyed: false;
    answer: ModelTarget;
  };
  "GET /llm/cost": {
    takes: {
      query: {
        /** The id of a model, or an alias. */
        model: string;
        /** Whose price counts where none is known for the model. */
        provider?: string | undefined;
        /** Of the prompt. */
        input_tokens?: number | undefined;
        /** Of the answer. */
        output_tokens?: number | undefined;
        /** Read from the provider's cache. */
        cache_read_tokens?: number | undefined;
        /** Written to the provider's cache. */
        cache_write_tokens?: number | undefined;
      };
    };
    keyed: false;
    answer: {
      cost_usd: number;
      price_known: boolean;
    };
  };
  "GET /llm/capabilities": {
    takes: {
      query: {
        /** The name of a provider. */
        provider: string;
        /** The id of a model; the provider's default one without it. */
        model?: string | undefined;
      };
    };
    keyed: false;
    answer: ModelCapabilities;
  };
  "GET /llm/providers": {
    takes: Record<never, never>;
    keyed: false;
    answer: ModelProviders;
  };
  "GET /llm/providers/available": {
    takes: Record<never, never>;
    keyed: false;
    answer: ModelProviders;
  };
  "GET /llm/providers/{name}": {
    takes: {
      path: { name: string };
    };
    keyed: false;
    answer: ModelProvider;
  };
  "GET /llm/providers/{name}/health": {
    takes: {
      path: { name: string };
    };
    keyed: false;
    answer: ProviderHealth;
  };
  "GET /usage": {
    takes: {
      query?: {
        /** Items per page. */
        limit?: number | undefined;
        /** Where the page before ended. */
        cursor?: string | undefined;
        /** First day, UTC. */
        from?: string | undefined;
        /** Last day, UTC. */
        to?: string | undefined;
        /** What to sum by. */
        group_by?: "skill" | "session" | "model" | "day" | undefined;
        /** Only what this session spent. */
        session?: string | undefined;
      };
    };
    keyed: false;
    answer: UsagePage;
  };
  "GET /budgets": {
    takes: {
      query?: {
        /** Items per page. */
        limit?: number | undefined;
        /** Where the page before ended. */
        cursor?: string | undefined;
      };
    };
    keyed: false;
    answer: Budgets;
  };
  "GET /budgets/{scope}": {
    takes: {
      path: { scope: string };
    };
    keyed: false;
    answer: Budget;
  };
  "PUT /budgets/{scope}": {
    takes: {
      path: { scope: string };
      json: NewBudget;
    };
    keyed: false;
    answer: Budget;
  };
  "DELETE /budgets/{scope}": {
    takes: {
      path: { scope: string };
    };
    keyed: false;
    answer: null;
  };
  "GET /llm/usage": {
    takes: Record<never, never>;
    keyed: false;
    answer: TotalUsage;
  };
  "GET /llm/session-cost": {
    takes: {
      query?: {
        /** A session's ledger instead of the caller's own. */
        session_id?: string | undefined;
      };
    };
    keyed: false;
    answer: SessionCost;
  };
  "GET /llm/budget": {
    takes: {
      query?: {
        /** A session's ledger instead of the caller's own. */
        session_id?: string | undefined;
      };
    };
    keyed: false;
    answer: SoftBudget;
  };
  "PUT /llm/budget": {
    takes: {
      query?: {
        /** A session's ledger instead of the caller's own. */
        session_id?: string | undefined;
      };
      json: NewSoftBudget;
    };
    keyed: false;
    answer: SoftBudget;
  };
  "DELETE /llm/budget": {
    takes: {
      query?: {
        /** A session's ledger instead of the caller's own. */
        session_id?: string | undefined;
      };
    };
    keyed: false;
    answer: null;
  };
  "GET /sessions": {
    takes: {
      query?: {
        /** Items per page. */
        limit?: number | undefined;
        /** Where the page before ended. */
        cursor?: string | undefined;
        /** Whether those are among them in which stages of workflow runs ran. */
        stages?: "true" | "false" | undefined;
      };
    };
    keyed: false;
    answer: Sessions;
  };
  "POST /sessions": {
    takes: {
      json?: NewSession;
    };
    keyed: true;
    answer: Session;
  };
  "GET /sessions/{id}": {
    takes: {
      path: { id: string };
    };
    keyed: false;
    answer: Session;
  };
  "DELETE /sessions/{id}": {
    takes: {
      path: { id: string };
    };
    keyed: false;
    answer: null;
  };
  "GET /sessions/{id}/exists": {
    takes: {
      path: { id: string };
    };
    keyed: false;
    answer: {
      exists: boolean;
    };
  };
  "GET /sessions/{id}/length": {
    takes: {
      path: { id: string };
    };
    keyed: false;
    answer: {
      length: number;
    };
  };
  "GET /sessions/{id}/ancestry": {
    takes: {
      path: { id: string };
    };
    keyed: false;
    answer: SessionAncestry;
  };
  "GET /sessions/{id}/messages": {
    takes: {
      path: { id: string };
      query?: {
        /** Items per page. */
        limit?: number | undefined;
        /** Where the page before ended. */
        cursor?: string | undefined;
      };
    };
    keyed: false;
    answer: SessionMessages;
  };
  "POST /sessions/{id}/messages": {
    takes: {
      path: { id: string };
      json: NewMessage;
    };
    keyed: true;
    answer: Delivered;
  };
  "GET /sessions/{id}/transcript": {
    takes: {
      path: { id: string };
      query?: {
        /** As text what everybody may see, or all of it; or the transcript itself. */
        view?: "visible" | "full" | "raw" | undefined;
      };
    };
    keyed: false;
    answer: Transcript;
  };
  "GET /sessions/{id}/cassette": {
    takes: {
      path: { id: string };
    };
    keyed: false;
    answer: SessionCassette;
  };
  "GET /sessions/{id}/events": {
    takes: {
      path: { id: string };
      query?: {
        /** Events after this number only. */
        after?: number | undefined;
      };
    };
    keyed: false;
    answer: null;
  };
  "GET /sessions/{id}/events/list": {
    takes: {
      path: { id: string };
      query?: {
        /** Items per page. */
        limit?: number | undefined;
        /** Where the page before ended. */
        cursor?: string | undefined;
        /** Only events of this name. */
        event?: string | undefined;
      };
    };
    keyed: false;
    answer: SessionEvents;
  };
  "POST /sessions/{id}/reset": {
    takes: {
      path: { id: string };
      json?: Record<string, never>;
    };
    keyed: true;
    answer: Session;
  };
  "POST /sessions/{id}/trim": {
    takes: {
      path: { id: string };
      json: {
        keep_last: number;
      };
    };
    keyed: true;
    answer: Session;
  };
  "POST /sessions/{id}/compact": {
    takes: {
      path: { id: string };
      json?: CompactRequest;
    };
    keyed: true;
    answer: CompactedSession;
  };
  "POST /sessions/{id}/inject": {
    takes: {
      path: { id: string };
      json: {
        message: Message;
      };
    };
    keyed: true;
    answer: Session;
  };
  "POST /sessions/{id}/fork": {
    takes: {
      path: { id: string };
      json?: {
        /** The id that the new session is to have. */
        dst?: string | undefined;
      };
    };
    keyed: true;
    answer: Session;
  };
  "POST /sessions/{id}/fork-at": {
    takes: {
      path: { id: string };
      json: {
        keep_first: number;
        /** The id that the new session is to have. */
        dst?: string | undefined;
      };
    };
    keyed: true;
    answer: Session;
  };
  "POST /sessions/{id}/archive": {
    takes: {
      path: { id: string };
      json?: Record<string, never>;
    };
    keyed: true;
    answer: Session;
  };
  "POST /sessions/{id}/abandon": {
    takes: {
      path: { id: string };
      json?: Record<string, never>;
    };
    keyed: true;
    answer: Session;
  };
  "POST /sessions/{id}/close": {
    takes: {
      path: { id: string };
      json?: Record<string, never>;
    };
    keyed: true;
    answer: Session;
  };
  "POST /sessions/{id}/resume": {
    takes: {
      path: { id: string };
      json?: Record<string, never>;
    };
    keyed: true;
    answer: ResumedSession;
  };
  "POST /sessions/{id}/feedback": {
    takes: {
      path: { id: string };
      json: {
        kind: string;
        content: string;
      };
    };
    keyed: true;
    answer: Delivered;
  };
  "POST /sessions/{id}/tool-results": {
    takes: {
      path: { id: string };
      json: ToolAnswer;
    };
    keyed: true;
    answer: {
      tool_call_id: string;
      run_id: string;
    };
  };
  "GET /sessions/{id}/artifacts": {
    takes: {
      path: { id: string };
      query?: {
        /** Items per page. */
        limit?: number | undefined;
        /** Where the page before ended. */
        cursor?: string | undefined;
      };
    };
    keyed: false;
    answer: Artifacts;
  };
  "GET /sessions/{id}/artifacts/{artifact}": {
    takes: {
      path: { id: string; artifact: string };
      query?: {
        /** Instead of the last one. */
        version?: number | undefined;
        /** `1`: the content alone, always as an attachment. */
        download?: "0" | "1" | undefined;
      };
    };
    keyed: false;
    answer: Artifact;
  };
  "GET /sessions/{id}/approvals": {
    takes: {
      path: { id: string };
    };
    keyed: false;
    answer: Approvals;
  };
  "POST /sessions/{id}/approvals/{approval}": {
    takes: {
      path: { id: string; approval: string };
      json: ApprovalDecision;
    };
    keyed: true;
    answer: {
      id: string;
      decision: "approve" | "deny";
      run_id: string;
    };
  };
  "GET /sessions/{id}/runs": {
    takes: {
      path: { id: string };
      query?: {
        /** Items per page. */
        limit?: number | undefined;
        /** Where the page before ended. */
        cursor?: string | undefined;
      };
    };
    keyed: false;
    answer: SessionRuns;
  };
  "POST /sessions/{id}/runs": {
    takes: {
      path: { id: string };
      query?: {
        /** `1`: answer as server-sent events. */
        stream?: "0" | "1" | undefined;
        /** Until when the answer waits: the run's end, until it rests (it is idle, or waits for its client or an approval), or not at all. Without it a daemon, and a run with tools of the client, is answered when it rests. */
        wait?: "terminal" | "idle" | "none" | undefined;
      };
      json: RunRequest;
    };
    keyed: true;
    answer: SessionRunResult;
    later: RunAccepted;
  };
  "GET /sessions/{id}/runs/{run}": {
    takes: {
      path: { id: string; run: string };
    };
    keyed: false;
    answer: SessionRun;
  };
  "GET /sessions/{id}/runs/{run}/trace": {
    takes: {
      path: { id: string; run: string };
      query?: {
        /** Items per page. */
        limit?: number | undefined;
        /** Where the page before ended. */
        cursor?: string | undefined;
      };
    };
    keyed: false;
    answer: Trace;
  };
  "GET /sessions/{id}/runs/{run}/events": {
    takes: {
      path: { id: string; run: string };
      query?: {
        /** Events after this number only. */
        after?: number | undefined;
      };
    };
    keyed: false;
    answer: null;
  };
  "POST /sessions/{id}/runs/{run}/cancel": {
    takes: {
      path: { id: string; run: string };
      json?: Record<string, never>;
    };
    keyed: false;
    answer: SessionRun;
  };
  "GET /daemons": {
    takes: {
      query?: {
        /** Items per page. */
        limit?: number | undefined;
        /** Where the page before ended. */
        cursor?: string | undefined;
      };
    };
    keyed: false;
    answer: Daemons;
  };
  "POST /daemons": {
    takes: {
      json: DaemonRequest;
    };
    keyed: true;
    answer: Daemon;
  };
  "POST /daemons/resume": {
    takes: {
      json: {
        persist_path: string;
      };
    };
    keyed: true;
    answer: Daemon;
  };
  "GET /daemons/{id}": {
    takes: {
      path: { id: string };
    };
    keyed: false;
    answer: DaemonSnapshot;
  };
  "GET /daemons/{id}/wakes": {
    takes: {
      path: { id: string };
      query?: {
        /** Items per page. */
        limit?: number | undefined;
        /** Where the page before ended. */
        cursor?: string | undefined;
      };
    };
    keyed: false;
    answer: DaemonWakes;
  };
  "DELETE /daemons/{id}": {
    takes: {
      path: { id: string };
    };
    keyed: false;
    answer: null;
  };
  "POST /daemons/{id}/events": {
    takes: {
      path: { id: string };
      json?: unknown;
    };
    keyed: true;
    answer: Daemon;
  };
  "POST /daemons/{id}/wake": {
    takes: {
      path: { id: string };
      json?: Record<string, never>;
    };
    keyed: true;
    answer: Daemon;
  };
  "POST /daemons/{id}/stop": {
    takes: {
      path: { id: string };
      json?: Record<string, never>;
    };
    keyed: true;
    answer: Daemon;
  };
  "POST /daemons/{id}/resume": {
    takes: {
      path: { id: string };
      json?: Record<string, never>;
    };
    keyed: true;
    answer: Daemon;
  };
  "GET /tasks": {
    takes: {
      query?: {
        /** Items per page. */
        limit?: number | undefined;
        /** Where the page before ended. */
        cursor?: string | undefined;
      };
    };
    keyed: false;
    answer: Tasks;
  };
  "POST /tasks": {
    takes: {
      query?: {
        /** `1`: answer as server-sent events. */
        stream?: "0" | "1" | undefined;
      };
      json: TaskRequest;
    };
    keyed: true;
    answer: Task;
    later: {
      id: string;
      run_id: string | null;
      session_id: string;
      status: "running" | "completed" | "failed" | "cancelled" | "awaiting" | "interrupted";
    };
  };
  "POST /tasks/wait": {
    takes: {
      json: {
        ids: string | string[];
        timeout_ms?: number | undefined;
      };
    };
    keyed: true;
    answer: Task | Task[];
  };
  "POST /tasks/resume": {
    takes: {
      json: {
        id?: string | undefined;
        snapshot_path?: string | undefined;
        run?: boolean | undefined;
      };
    };
    keyed: true;
    answer: Task;
  };
  "GET /tasks/{id}": {
    takes: {
      path: { id: string };
    };
    keyed: false;
    answer: Task;
  };
  "POST /tasks/{id}/input": {
    takes: {
      path: { id: string };
      json: {
        task: string;
      };
    };
    keyed: true;
    answer: Task;
  };
  "POST /tasks/{id}/trigger": {
    takes: {
      path: { id: string };
      json?: {
        payload?: unknown | undefined;
      };
    };
    keyed: true;
    answer: Task;
  };
  "POST /tasks/{id}/close": {
    takes: {
      path: { id: string };
      json?: Record<string, never>;
    };
    keyed: true;
    answer: Task;
  };
  "POST /sub-agents": {
    takes: {
      query?: {
        /** `none` answers 202. */
        wait?: "terminal" | "none" | undefined;
        /** `1`: answer as server-sent events. */
        stream?: "0" | "1" | undefined;
      };
      json: SubAgentRequest;
    };
    keyed: true;
    answer: SubAgentResult;
    later: {
      id: string;
      run_id: string | null;
      session_id: string;
      status: "running" | "completed" | "failed" | "cancelled" | "awaiting" | "interrupted";
    };
  };
  "GET /sessions/{id}/files": {
    takes: {
      path: { id: string };
      query?: {
        /** Items per page. */
        limit?: number | undefined;
        /** Where the page before ended. */
        cursor?: string | undefined;
      };
    };
    keyed: false;
    answer: SessionFiles;
  };
  "GET /sessions/{id}/files/{path}": {
    takes: {
      path: { id: string; path: string };
    };
    keyed: false;
    answer: null;
  };
  "PUT /sessions/{id}/files/{path}": {
    takes: {
      path: { id: string; path: string };
    };
    keyed: false;
    answer: SessionFile;
  };
  "DELETE /sessions/{id}/files/{path}": {
    takes: {
      path: { id: string; path: string };
    };
    keyed: false;
    answer: null;
  };
  "POST /workflows/validate": {
    takes: {
      json: {
        graph: WorkflowGraph;
        ceiling?: Policy | null | undefined;
      };
    };
    keyed: false;
    answer: WorkflowValidation;
  };
  "POST /workflows/execute": {
    takes: {
      query?: {
        /** Until when the answer waits. */
        wait?: "terminal" | "none" | undefined;
        /** `1`: answer as server-sent events. */
        stream?: "0" | "1" | undefined;
      };
      json: WorkflowRequest;
    };
    keyed: true;
    answer: WorkflowResult;
    later: WorkflowResult;
  };
  "GET /workflows/runs": {
    takes: {
      query?: {
        /** Items per page. */
        limit?: number | undefined;
        /** Where the page before ended. */
        cursor?: string | undefined;
        /** Only runs of this status. */
        status?: "running" | "waiting" | "paused" | "completed" | "failed" | "cancelled" | undefined;
      };
    };
    keyed: false;
    answer: WorkflowRuns;
  };
  "GET /workflows/runs/{id}": {
    takes: {
      path: { id: string };
      query?: {
        /** Until when the answer waits. */
        wait?: "terminal" | "none" | undefined;
      };
    };
    keyed: false;
    answer: WorkflowRun;
  };
  "DELETE /workflows/runs/{id}": {
    takes: {
      path: { id: string };
    };
    keyed: false;
    answer: null;
  };
  "GET /workflows/runs/{id}/events": {
    takes: {
      path: { id: string };
      query?: {
        /** Events after this number only. */
        after?: number | undefined;
      };
    };
    keyed: false;
    answer: null;
  };
  "POST /workflows/runs/{id}/cancel": {
    takes: {
      path: { id: string };
      json?: {
        reason?: string | undefined;
      };
    };
    keyed: true;
    answer: WorkflowRun;
  };
  "POST /workflows/runs/{id}/kill": {
    takes: {
      path: { id: string };
      json?: {
        reason?: string | undefined;
      };
    };
    keyed: true;
    answer: WorkflowRun;
  };
  "POST /workflows/runs/{id}/pause": {
    takes: {
      path: { id: string };
      json?: Record<string, never>;
    };
    keyed: true;
    answer: WorkflowRun;
  };
  "POST /workflows/runs/{id}/resume": {
    takes: {
      path: { id: string };
      query?: {
        /** Until when the answer waits. */
        wait?: "terminal" | "none" | undefined;
        /** `1`: answer as server-sent events. */
        stream?: "0" | "1" | undefined;
      };
      json?: Record<string, never>;
    };
    keyed: true;
    answer: WorkflowRun | WorkflowResult;
    later: WorkflowResult;
  };
  "POST /workflows/runs/{id}/migrate": {
    takes: {
      path: { id: string };
      json: {
        graph?: WorkflowGraph | undefined;
        workflow?: string | undefined;
      };
    };
    keyed: true;
    answer: WorkflowRun;
  };
  "POST /workflows/runs/{id}/fork": {
    takes: {
      path: { id: string };
      query?: {
        /** Until when the answer waits. */
        wait?: "terminal" | "none" | undefined;
        /** `1`: answer as server-sent events. */
        stream?: "0" | "1" | undefined;
      };
      json: {
        from: string;
        input?: {
          task?: string | undefined;
          artifacts?: GivenArtifacts | undefined;
        } | undefined;
      };
    };
    keyed: true;
    answer: WorkflowResult;
    later: WorkflowResult;
  };
  "POST /workflows/runs/{id}/signals": {
    takes: {
      path: { id: string };
      json: {
        name: string;
        key?: string | null | undefined;
        payload?: unknown | undefined;
      };
    };
    keyed: true;
    answer: WorkflowRun & {
      /** How many signals no node has taken yet. */
      queued_events: number;
    };
  };
  "POST /workflows/runs/{id}/approvals": {
    takes: {
      path: { id: string };
      json: {
        node: string;
        decision: "approve" | "deny";
        reason?: string | null | undefined;
      };
    };
    keyed: true;
    answer: WorkflowRun;
  };
  "GET /workflows": {
    takes: {
      query?: {
        /** Items per page. */
        limit?: number | undefined;
        /** Where the page before ended. */
        cursor?: string | undefined;
      };
    };
    keyed: false;
    answer: Workflows;
  };
  "GET /workflows/{name}": {
    takes: {
      path: { name: string };
    };
    keyed: false;
    answer: StoredWorkflow;
  };
  "GET /workflows/{skill}/{name}": {
    takes: {
      path: { skill: string; name: string };
    };
    keyed: false;
    answer: StoredWorkflow;
  };
  "PUT /workflows/{name}": {
    takes: {
      path: { name: string };
      json: NewWorkflow;
    };
    keyed: false;
    answer: WorkflowVersion;
  };
  "DELETE /workflows/{name}": {
    takes: {
      path: { name: string };
    };
    keyed: false;
    answer: null;
  };
  "GET /skills/{slug}/versions": {
    takes: {
      path: { slug: string };
      query?: {
        /** Items per page. */
        limit?: number | undefined;
        /** Where the page before ended. */
        cursor?: string | undefined;
      };
    };
    keyed: false;
    answer: Versions;
  };
  "PUT /_hull/skills/{slug}": {
    takes: {
      path: { slug: string };
      json?: {
        skill_id: string;
        version?: string | number | undefined;
      } | {
        digest: string;
      };
    };
    keyed: false;
    answer: UploadResult;
  };
  "DELETE /_hull/skills/{slug}": {
    takes: {
      path: { slug: string };
    };
    keyed: false;
    answer: null;
  };
}
