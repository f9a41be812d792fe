/**
 * What runs and the routes of sessions answer: shapes, from which the types and the schemas of the API come. The Worker
 * uses only the types and never loads this module.
 */
import * as z from "zod/mini";
import {
  about,
  count,
  document,
  flag,
  json,
  maybe,
  named,
  object,
  objects,
  ordinal,
  text,
  texts,
  time,
  usd,
} from "../../answer-shape.ts";
import type { TraceEntry } from "../../engine/agent/reader.ts";
import {
  approvalShape,
  compactionShape,
  DELIVERIES,
  SESSION_STATES,
  TOOL_STATUSES,
} from "../../engine/agent/records.ts";
import type { TaskLedger } from "../../engine/agent/task-ledger.ts";
import { artifactHead, artifactShape } from "../../engine/artifact.ts";
import { usageShape, warnings } from "../../engine/messages.ts";
import { RUN_STATUSES } from "../../engine/run-status.ts";
import { messageShape } from "../../llm/messages.ts";
import { callExtras, routing, shownText, structuredData } from "../../llm/result.ts";
import { transcriptShape } from "../../llm/transcript.ts";

const status = () => z.enum(RUN_STATUSES);
const ids = { run_id: text(), session_id: text() };
const conversationSummary = "Summary of the messages that compaction removed from the conversation.";

const ancestry = {
  parent_id: z.nullable(text()),
  child_ids: texts(),
  branched_at_event_index: about(
    z.nullable(count()),
    "Where this session branched off: the number of messages that it took over from its parent.",
  ),
};
export const ancestryShape = z.object(ancestry);

/** A session as its routes return it. */
export type SessionView = z.infer<typeof sessionShape>;
export const sessionShape = named(
  "Session",
  z.object({
    id: text(),
    state: z.enum(SESSION_STATES),
    created_at: time(),
    updated_at: time(),
    length: about(count(), "Number of messages that the next model call would send."),
    summary: about(z.nullable(text()), conversationSummary),
    ...ancestry,
    last_event: about(count(), "Number of the last event; 0: there is none."),
    metadata: object(),
    run: about(z.nullable(z.object({ run_id: text(), status: status() })), "The run under way."),
  }),
);
export type CompactedSession = z.infer<typeof compactedSession>;
export const compactedSession = z.extend(sessionShape, {
  compacted: about(z.nullable(compactionShape()), "`null`: there was nothing to compact."),
  warnings: warnings(),
});
export type ResumedSession = z.infer<typeof resumedSession>;
export const resumedSession = z.extend(sessionShape, {
  woken: about(flag(), "Whether an idle run of it continues."),
});

/** A message or feedback is stored. */
export type Delivered = z.infer<typeof deliveredShape>;
export const deliveredShape = z.object({
  session_id: text(),
  run_id: z.nullable(text()),
  delivery: maybe(z.enum(DELIVERIES)),
});

/** A call of a tool, for whoever answers it. */
const call = { tool_call_id: text(), name: text(), arguments: object() };

/** The result of a tool in a cassette. */
export type RecordedResult = z.infer<typeof recordedResult>;
const recordedResult = z.object({
  run_id: text(),
  ...call,
  arguments_digest: about(text(), "SHA-256 (hex) of name and arguments."),
  status: z.enum(TOOL_STATUSES),
  content: text(),
});
export const cassetteShape = z.object({
  session_id: text(),
  mocks: about(objects(), "As `options.mock` takes them."),
  tool_results: z.array(recordedResult),
});

/** The result of a run, as its routes return it. */
export type RunResult = z.infer<typeof runResultShape>;
export const runResultShape = named(
  "RunResult",
  z.object({
    run_id: text(),
    session_id: z.nullable(text()),
    status: status(),
    text: text(),
    visible_text: shownText(),
    stop_reason: about(
      z.nullable(text()),
      "Why the last turn of the model ended, in the words of a model call; `null`: there was none.",
    ),
    raw_stop_reason: about(z.nullable(text()), "The same in the provider's own word."),
    iterations: count(),
    duration_ms: count(),
    tools_used: texts(),
    successful_tools: texts(),
    rejected_tools: texts(),
    deferred_user_messages: about(z.array(messageShape), "Messages that arrived too late for the run."),
    tool_calling_mode: z.enum(["native", "text"]),
    input_tokens: count(),
    output_tokens: count(),
    cost_usd: about(usd(), "Cost of the run and of its tasks and sub-agents."),
    own_cost_usd: about(usd(), "Cost of the run alone."),
    price_known: about(flag(), "Whether the price of every call in `cost_usd` is known; others count as 0."),
    daemon_state: z.nullable(status()),
    daemon_snapshot_path: z.nullable(text()),
    task_ledger: z.nullable(object<TaskLedger>()),
    ledger_done_rejections: about(count(), "How often the run wanted to end with open items."),
    wake_sources: maybe(about(texts(), "What can wake the daemon.")),
    policy_dropped: maybe(about(texts(), "Tools that the policy asked for beyond its ceiling.")),
    routing: routing(),
    data: structuredData(),
    summary: maybe(about(text(), conversationSummary)),
    artifacts: maybe(
      about(
        z.array(z.union([artifactShape(), artifactHead()])),
        "The last version of each; in a session without its content.",
      ),
    ),
    trace: about(z.array(object<TraceEntry>()), "The last 1000 steps of the loop that appear in no message."),
    warnings: warnings(),
    ...callExtras().shape,
    transcript: transcriptShape,
    transcript_truncated: maybe(
      about(z.literal(true), "The transcript holds only the last records of a very long run."),
    ),
  }),
);

/** A call that waits for a person's decision. */
export type ApprovalView = z.infer<typeof approvalView>;
export const approvalView = named(
  "Approval",
  z.extend(approvalShape(), {
    run_id: text(),
    said: about(text(), "What the model said together with the call."),
    requested_at: time(),
    expires_at: time(),
  }),
);

/** What a run waits for. */
const waits = {
  awaiting: maybe(about(z.array(z.object(call)), "Calls that wait for the client's answer.")),
  approvals: maybe(about(z.array(approvalView), "Calls that wait for a person's decision.")),
};
export type RunView = z.infer<typeof runShape>;
export const runShape = named(
  "Run",
  z.object({
    ...ids,
    status: status(),
    created_at: time(),
    settled_at: z.nullable(time()),
    result: maybe(document("RunResult")),
    error: maybe(document("Problem")),
    ...waits,
  }),
);
export const runAnswerShape = z.extend(runResultShape, waits);
export const acceptedRun = z.object({ id: text(), ...ids, status: status() });

const maker = { run_id: text(), call_id: text(), created_at: time() };

/** The latest version of an artifact, without its content. */
export type ArtifactEntry = z.infer<typeof artifactEntry>;
export const artifactEntry = z.extend(
  z.pick(artifactShape(), { id: true, type: true, title: true, language: true, version: true }),
  { versions: about(count(), "How many versions there are."), ...maker, updated_at: time() },
);

/** One version. */
export type ArtifactView = z.infer<typeof artifactView>;
export const artifactView = z.extend(artifactShape(), {
  ...maker,
  versions: about(
    z.array(z.object({ version: ordinal(), created_at: time() })),
    "All of them, oldest first.",
  ),
});

export type Decided = z.infer<typeof decidedShape>;
export const decidedShape = z.object({ id: text(), decision: z.enum(["approve", "deny"]), run_id: text() });
export type AnsweredCall = z.infer<typeof answeredCall>;
export const answeredCall = z.object({ tool_call_id: text(), run_id: text() });

/** One step of a run. */
export type TraceStep = z.infer<typeof traceStep>;
const traceStep = z.object({
  number: about(ordinal(), "In the order in which the steps began."),
  kind: z.enum(["model", "tool", "hook", "approval", "message", "compaction", "wake", "note"]),
  name: about(text(), "The provider, tool or hook; what kind of message; how the run ended."),
  started_at: time(),
  duration_ms: about(z.nullable(count()), "`null`: it is under way."),
  ok: about(z.nullable(flag()), "`null`: it neither went well nor failed."),
  input: maybe(about(json(), "What went in; of long values the beginning of their text.")),
  output: maybe(about(json(), "What came out, in the same way.")),
  thoughts: maybe(about(text(), "What the model said to itself.")),
  model: maybe(text()),
  stop_reason: maybe(about(z.nullable(text()), "Why the model ended its turn.")),
  usage: maybe(usageShape()),
  cost_usd: maybe(usd()),
});

/** A page of a run's steps. */
export type RunSteps = z.infer<typeof runSteps>;
export const runSteps = z.object({
  recovered: about(flag(), "Whether the run was taken up after its process died."),
  text: about(z.nullable(text()), "What the model said last in the whole run."),
  error: about(
    z.nullable(z.object({ code: text(), title: text(), detail: text() })),
    "What the run ended with.",
  ),
  warnings: warnings(),
  data: z.array(traceStep),
  next_cursor: z.nullable(text()),
});
