// `npm run docs` writes this file from the schemas of the API.

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
  scope?: "once" | "session";
  reason?: string | null;
  /** Required to approve: the digest of the arguments that the person saw. */
  arguments_digest?: string;
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
  /** The same as an object or its `kind`: `"text"`, `"json_object"`, `"json_schema"`. */
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
  prompt?: string | null;
  system?: string | null;
  options?: CallOptions;
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

export type CompactRequest = {
  strategy?: "observation_mask" | "truncate" | "llm";
  keep_first?: number;
  keep_last?: number;
  /** Replaces the summary that Hull would make. */
  summary?: string;
  options?: CallOptions;
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
  task?: string;
  /** Another name of `task`. */
  prompt?: string;
  /** Its system text. */
  system?: string | null;
  /** A name for people. */
  name?: string;
  /** A folder of the session's files: Hull keeps the snapshot there as `daemon.json` and the summary as `daemon.meta.json`. Only one running daemon of a tenant may have a path (409 `daemon_path_taken`). */
  persist_path?: string;
  /** Another name of `persist_path`. */
  state_dir?: string;
  /** How many events may wait, the one in flight included. */
  event_queue_capacity?: number;
  /** Another name of `event_queue_capacity`. */
  queue_capacity?: number;
  /** Who may send events without a key, see signed events. */
  webhook?: {
    secret_env: string;
    header: string;
    algorithm?: "hmac-sha256";
    timestamp_header?: string;
    tolerance_s?: number;
  };
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

export type NewMessage = {
  content: string | MessagePart[];
  delivery?: "interrupt_immediate" | "finish_step" | "wait_for_completion";
};

export type NewSession = {
  /** The id that the new session is to have. */
  id?: string;
  metadata?: Record<string, unknown>;
  transcript?: Transcript;
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
  code: "answer_lost" | "approval_closed" | "auth_not_configured" | "bad_encoding" | "bad_path" | "bad_request" | "body_too_large" | "budget_exceeded" | "budget_not_found" | "bundle_invalid" | "capability_missing" | "catalog_missing" | "catalog_moved" | "catalog_unreadable" | "client_closed_request" | "command_not_found" | "concurrency_limited" | "content_policy" | "context_overflow" | "daemon_not_running" | "daemon_path_taken" | "daemon_queue_full" | "daemon_running" | "deadline_exceeded" | "execution_cancelled" | "execution_conflict" | "execution_lost" | "execution_not_found" | "file_expired" | "file_not_downloadable" | "file_not_found" | "file_required" | "forbidden" | "form_not_trusted" | "hook_failed" | "hook_invalid" | "hook_timeout" | "hooks_unavailable" | "host_delegate_failed" | "host_not_allowed" | "idempotency_key_reused" | "input_invalid" | "input_required" | "input_schema_mismatch" | "internal" | "invalid_request" | "key_not_found" | "malformed_json" | "malformed_multipart" | "malformed_toml" | "mcp_login_failed" | "mcp_server_not_found" | "method_not_allowed" | "mock_unmatched" | "mocked_failure" | "model_not_resolved" | "model_refused" | "model_unavailable" | "not_acceptable" | "not_found" | "operation_not_found" | "origin_not_allowed" | "out_of_memory" | "output_invalid_json" | "output_missing" | "output_too_large" | "precondition_failed" | "price_unknown" | "provider_auth_failed" | "provider_bad_response" | "provider_empty_answer" | "provider_error" | "provider_misconfigured" | "provider_not_configured" | "provider_not_found" | "provider_rate_limited" | "provider_redirect_refused" | "provider_rejected_request" | "provider_timeout" | "provider_unreachable" | "proxy_not_configured" | "range_not_satisfiable" | "rate_limited" | "replay_mismatch" | "replay_missing" | "request_timeout" | "run_cancelled" | "run_in_progress" | "run_lost" | "runner_busy" | "runner_draining" | "runner_protocol_error" | "runner_unavailable" | "schema_validation" | "script_failed" | "script_killed" | "script_timeout" | "secret_key_missing" | "session_exists" | "session_not_active" | "setting_unreadable" | "skill_not_found" | "skill_not_trusted" | "skill_read_only" | "slug_taken" | "spawn_failed" | "storage_quota_exceeded" | "task_closed" | "task_not_awaiting" | "task_running" | "thread_unsupported_request" | "too_many_delegated" | "tool_call_closed" | "tool_rejected" | "tool_rounds_exhausted" | "unauthenticated" | "unsupported_media_type" | "upload_limit" | "upstream_body_truncated" | "upstream_redirect_refused" | "upstream_timeout" | "upstream_unreachable" | "webhook_refused" | "workflow_ended" | "workflow_invalid" | "workflow_misfit" | "workflow_not_waiting" | "workflow_queue_full" | "workspace_full";
  request_id: string;
  [name: string]: unknown;
};

export type RunAccepted = {
  id: string;
  run_id: string;
  session_id: string;
  status: "running" | "idle" | "awaiting_tool" | "awaiting_approval" | "done" | "stuck" | "budget_exhausted" | "watchdog" | "failed" | "error" | "cancelled";
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
  prompt?: string | null;
  system?: string | null;
  options?: RunOptions;
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

export type Session = {
  id: string;
  state: "active" | "archived" | "abandoned" | "closed";
  created_at: string;
  updated_at: string;
  /** Number of messages that the next model call would send. */
  length: number;
  /** Summary of the messages that compaction removed from the conversation. */
  summary: string | null;
  parent_id: string | null;
  child_ids: string[];
  /** Where this session branched off: the number of messages that it took over from its parent. */
  branched_at_event_index: number | null;
  /** Number of the last event; 0: there is none. */
  last_event: number;
  metadata: Record<string, unknown>;
  /** The run under way. */
  run: {
    run_id: string;
    status: "running" | "idle" | "awaiting_tool" | "awaiting_approval" | "done" | "stuck" | "budget_exhausted" | "watchdog" | "failed" | "error" | "cancelled";
  } | null;
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

export type StoredFile = {
  id: string;
  filename: string | null;
  mime: string;
  size: number;
  sha256: Digest;
  created_at: string;
  expires_at: string;
};

export type StructuredRequest = {
  prompt: string;
  schema: Record<string, unknown>;
  system?: string | null;
  options?: CallOptions;
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

export type ToolAnswer = {
  tool_call_id: string;
  content: unknown;
  is_error?: boolean;
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
