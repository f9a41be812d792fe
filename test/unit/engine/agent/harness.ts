/** Runs the agent loop in memory with scripted models, tools and hooks. */

import { applyAgentRecord } from "../../../../src/engine/agent/apply.ts";
import { driveAgent, type Rest } from "../../../../src/engine/agent/drive.ts";
import type { Vault } from "../../../../src/engine/agent/next.ts";
import type { AgentRecord, AgentToolResult } from "../../../../src/engine/agent/records.ts";
import type {
  AgentSkill,
  AgentSpec,
  AgentTool,
  DaemonOptions,
  ToolAnnotations,
} from "../../../../src/engine/agent/spec.ts";
import { type AgentState, EMPTY_SESSION, type RunState } from "../../../../src/engine/agent/state.ts";
import type { AgentRequest, PlannedCall } from "../../../../src/engine/agent/step.ts";
import type { Block, ModelTurn } from "../../../../src/engine/messages.ts";
import type { HullError } from "../../../../src/errors.ts";
import type { Json, JsonObject } from "../../../../src/skill/manifest.ts";

/** A model's turn: its text, calls as `[name, arguments]`, or a failure. */
export type Reply =
  | string
  | {
      text?: string;
      calls?: [string, JsonObject | string][];
      output_tokens?: number;
      stop?: ModelTurn["stop_reason"];
    }
  | HullError;

export interface Script {
  spec?: Partial<AgentSpec> | undefined;
  replies: Reply[];
  /** By tool; a list is used up one by one. */
  results?: Record<string, (Partial<AgentToolResult> | string)[]>;
  /** Carries calls out in place of `results`. */
  runTool?: (
    planned: PlannedCall,
    signal: AbortSignal,
    attempt: number,
  ) => Promise<Partial<AgentToolResult> | string>;
  signal?: AbortSignal;
  /** In place of a clock that advances by 1 ms with each reading. */
  now?: () => number;
  after?: (ms: number, fire: () => void) => () => void;
  hooks?: Record<string, (payload: Json) => Json>;
  vault?: Vault;
  /** Called for each search for tools; the search ends when it resolves. */
  search?: () => Promise<void>;
  /** What servers bring when a skill binds them. */
  bind?: (servers: string[]) => {
    servers: string[];
    tools: AgentTool[];
    failed: { server: string; message: string }[];
  };
  /** Records that come from outside, by the number of model calls that were begun. */
  incoming?: Record<number, AgentRecord[]>;
  state?: AgentState;
  summary?: string | HullError;
  cost_usd?: number;
}

export interface Played extends Rest {
  run: RunState;
  requests: AgentRequest[];
  records: AgentRecord[];
  /** With those that came from outside. */
  all: AgentRecord[];
  /** Rows: what was stored at once. */
  rows: AgentRecord[][];
  /** Tools as they were executed. */
  executed: { name: string; args: JsonObject | null; again: boolean }[];
  pauses: number[];
  hooks: { hook: string; payload: Json }[];
}

export function tool(name: string, annotations: ToolAnnotations = {}, required: string[] = []): AgentTool {
  const properties = Object.fromEntries(required.map((key) => [key, { type: "string" }]));
  return {
    definition: { name, description: name, parameters: { type: "object", properties, required } },
    executor: "command",
    annotations,
    handler: null,
    skill: null,
  };
}

/** A daemon that nothing wakes. */
export const DAEMON: DaemonOptions = {
  bounded: false,
  wake_interval_ms: 0,
  cron: null,
  time_zone: "UTC",
  watch_paths: [],
  watch_events: [],
  consolidate_on_idle: false,
  idle_watchdog_attempts: null,
  persist_path: null,
  resume_path: null,
};

export const SPEC: AgentSpec = {
  run_id: "run_1",
  session_id: "s1",
  system: "Be good.",
  prompt: [{ role: "user", content: [{ type: "text", text: "go" }] }],
  tools: [],
  tool_format: "native",
  tool_search: null,
  tool_examples: null,
  tool_choice: null,
  skills: [],
  skill_match: { strategy: "metadata", top_n: 1, sticky: true },
  working_files: [],
  persistent: false,
  done_sentinel: "##DONE##",
  max_iterations: 50,
  max_nudges: 3,
  nudge: null,
  tool_retries: 0,
  tool_backoff_ms: 1000,
  turn_policy: null,
  stop_after_successful_tools: [],
  require_successful_tools: [],
  loop_detect: { warn: 2, block: 3, skip: 4 },
  exit_when_verified: false,
  token_budget: null,
  total_budget_usd: null,
  native_tool_fallback: "allow",
  break_unless_phase: null,
  task_ledger: null,
  context_callback: null,
  post_turn_callback: null,
  policies: { policy: null, approval_policy: null, permissions: null, approval_timeout_s: 86_400 },
  compaction: {
    auto: null,
    threshold_tokens: null,
    keep_first: 0,
    keep_last: 12,
    strategy: "observation_mask",
    hard_limit_tokens: null,
    hard_limit_strategy: "llm",
    tool_output_max_chars: 16_000,
    compact_callback: null,
    mask_callback: null,
    compress_callback: null,
  },
  daemon: null,
  call: {},
  model: {
    provider: "mock",
    model: "mock",
    context_window: null,
    native_tools: true,
    defer_loading: false,
    tool_search: [],
  },
};

let now = 1_700_000_000_000;

/** Plays a run from its start, or continues from a given state. */
export async function play(script: Script): Promise<Played> {
  const spec = { ...SPEC, ...script.spec };
  const start: AgentRecord = { v: 1, at: now, type: "run_started", run: spec.run_id, spec };
  const initial = script.state ?? applyAgentRecord(EMPTY_SESSION, start);
  const replies = [...script.replies];
  const results = Object.fromEntries(
    Object.entries(script.results ?? {}).map(([name, list]) => [name, [...list]]),
  );
  const requests: AgentRequest[] = [];
  const coming = { ...script.incoming };
  const rows: AgentRecord[][] = [];
  const all: AgentRecord[] = [];
  const executed: Played["executed"] = [];
  const pauses: number[] = [];
  const hooks: Played["hooks"] = [];
  const rest = await driveAgent(initial, {
    vault: script.vault ?? null,
    clock: { now: () => script.now?.() ?? ++now, after: script.after ?? (() => () => {}) },
    signal: script.signal ?? new AbortController().signal,
    inbox: {
      take() {
        const come = coming[requests.length] ?? [];
        delete coming[requests.length];
        all.push(...come);
        return come;
      },
      watch() {},
    },
    append(batch) {
      const records = batch.map(({ record }) => record);
      rows.push([...records]);
      all.push(...records);
    },
    effects: {
      async callModel({ request }) {
        requests.push(request);
        const reply = replies.shift() ?? "";
        if (reply instanceof Error) throw reply;
        return { turn: turnOf(reply), cost_usd: script.cost_usd ?? 0, warnings: [] };
      },
      async runTool(planned, { signal, attempt }) {
        const { call, again } = planned;
        executed.push({ name: call.name, args: call.arguments, again });
        const list = results[call.name] ?? [];
        const scripted = () => (list.length > 1 ? list.shift() : list[0]);
        const given = await (script.runTool?.(planned, signal, attempt) ?? scripted());
        const base: AgentToolResult = {
          status: "ok",
          content: "ok",
          value: null,
          error_category: null,
          exit_code: 0,
          duration_ms: 1,
        };
        return typeof given === "string" ? { ...base, content: given } : { ...base, ...given };
      },
      attemptOf: () => 0,
      async callHook({ hook, payload }) {
        hooks.push({ hook, payload });
        return script.hooks?.[hook]?.(payload) ?? null;
      },
      async pause(ms) {
        pauses.push(ms);
      },
      async summarize() {
        const summary = script.summary ?? "summary";
        if (summary instanceof Error) throw summary;
        const usage = { input_tokens: 1000, output_tokens: 100, cache_read_tokens: 0, cache_write_tokens: 0 };
        return { text: summary, spent: { ...usage, cost_usd: 0.5 }, fault: null, warnings: [] };
      },
      async bindServers({ servers }) {
        return script.bind?.(servers) ?? { servers, tools: [], failed: [] };
      },
      async searchTools() {
        await script.search?.();
        return { state: null, result: "{}", events: [] };
      },
    },
  });
  const { run } = rest.state;
  if (run === null) throw new TypeError("no run");
  return { ...rest, run, requests, records: rows.flat(), all, rows, executed, pauses, hooks };
}

function turnOf(reply: Exclude<Reply, HullError>): ModelTurn {
  const {
    text = "",
    calls = [],
    output_tokens = 5,
    stop,
  } = typeof reply === "string" ? { text: reply } : reply;
  const blocks: Block[] = [
    ...(text === "" ? [] : [{ type: "output_text" as const, text }]),
    ...calls.map(
      ([name, args], n): Block => ({
        type: "tool_call",
        id: `c${++ids}_${n}`,
        name,
        arguments: typeof args === "string" ? null : args,
        raw: typeof args === "string" ? args : JSON.stringify(args),
      }),
    ),
  ];
  return {
    blocks,
    stop_reason: stop ?? (calls.length > 0 ? "tool_use" : "end_turn"),
    raw_stop_reason: null,
    usage: { input_tokens: 10, output_tokens, cache_read_tokens: 0, cache_write_tokens: 0 },
    provider: "mock",
    model: "mock",
  };
}
let ids = 0;

/** The texts of the user messages of a request. */
export function userTexts({ messages }: AgentRequest): string[] {
  return messages.flatMap((message) =>
    message.role === "user"
      ? message.content.flatMap((part) => (part.type === "text" ? [part.text] : []))
      : [],
  );
}

/** The results of tools that the model reads. */
export function toolTexts({ messages }: AgentRequest): string[] {
  return messages.flatMap((message) =>
    message.role === "tool" ? message.results.map(({ content }) => content) : [],
  );
}

/** A skill of a run. */
export function skill(name: string, changes: Partial<AgentSkill> = {}): AgentSkill {
  return {
    name,
    description: `About ${name}`,
    when_to_use: "",
    prompt: `BODY OF ${name}`,
    paths: [],
    allowed_tools: [],
    disable_model_invocation: false,
    on_activate: null,
    on_deactivate: null,
    digest: `digest-${name}`,
    ...changes,
  };
}

/** A prompt of one text. */
export const says = (text: string): AgentSpec["prompt"] => [
  { role: "user", content: [{ type: "text", text }] },
];

/** The user sends a message while the run continues. */
export const received = (text: string) => ({
  v: 1 as const,
  at: 1,
  type: "message_received" as const,
  run: null,
  delivery: "finish_step" as const,
  message: { role: "user" as const, content: [{ type: "text" as const, text }] },
});

/** Names of the tools of a request. */
export const offered = ({ tools }: AgentRequest): string[] => tools.map(({ name }) => name);

export const started = (spec: Partial<AgentSpec>): AgentRecord => ({
  v: 1,
  at: 1,
  type: "run_started",
  run: spec.run_id ?? SPEC.run_id,
  spec: { ...SPEC, ...spec },
});
/** A further run of the session. */
export const goOn = ({ state }: Played, spec: Partial<AgentSpec>) => applyAgentRecord(state, started(spec));
