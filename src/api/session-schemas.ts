/** The request and response shapes of session routes. */

import { SESSION_STATES, TOOL_STATUSES } from "../engine/agent/records.ts";
import { ARTIFACT_TYPES } from "../engine/artifact.ts";
import { RUN_STATUSES } from "../engine/run-status.ts";
import { callBody } from "../run/request-bodies.ts";
import type {
  ApprovalView,
  ArtifactEntry,
  ArtifactView,
  RunView,
  SessionView,
} from "../session/conversation/answers.ts";
import { STEP_KINDS, type TraceStep } from "../session/conversation/trace.ts";
import { RUN_KINDS, RUN_STATES, type RunEntry } from "../session/run-entry.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { compactBody, decisionBody } from "./bodies/sessions.ts";
import { COUNT, MAYBE_TEXT, type Members, object, pageOf, ref, TEXT, view } from "./openapi-parts.ts";
import { bodySchema } from "./shape-schema.ts";

const OBJECT: JsonObject = { type: "object" };
const TIME: JsonObject = { type: "string", format: "date-time" };
const STATE: JsonObject = { enum: [...SESSION_STATES] };
const RUN_STATUS: JsonObject = { enum: [...RUN_STATUSES] };

const ANCESTRY = {
  parent_id: MAYBE_TEXT,
  child_ids: { type: "array", items: TEXT },
  branched_at_event_index: {
    type: ["integer", "null"],
    description: "Number of the parent's last event when this session branched off.",
  },
};
const SESSION: Members<SessionView> = {
  id: TEXT,
  state: STATE,
  created_at: TIME,
  updated_at: TIME,
  length: COUNT,
  summary: {
    ...MAYBE_TEXT,
    description: "Summary of the messages that compaction removed from the conversation.",
  },
  ...ANCESTRY,
  last_event: { ...COUNT, description: "Number of the last event." },
  metadata: OBJECT,
  run: { oneOf: [{ type: "null" }, object({ run_id: TEXT, status: RUN_STATUS })] },
};
const ARTIFACT = {
  id: TEXT,
  type: { enum: [...ARTIFACT_TYPES] },
  title: TEXT,
  language: { ...TEXT, description: "Only for `code` and `react`." },
  version: { type: "integer", minimum: 1 },
};
const APPROVAL = view<ApprovalView>()(
  {
    id: TEXT,
    run_id: TEXT,
    tool_call_id: TEXT,
    tool: TEXT,
    arguments: OBJECT,
    arguments_digest: {
      ...TEXT,
      description: "SHA-256 of the tool and the arguments: the decision holds only for these.",
    },
    risk: TEXT,
    cause: { ...TEXT, description: "What requires the approval." },
    said: { ...TEXT, description: "What the model said together with the call." },
    requested_at: TIME,
    expires_at: TIME,
  },
  { cause: true },
);
const CALL: JsonObject = { tool_call_id: TEXT, name: TEXT, arguments: OBJECT };

const INDEXED_RUN = view<RunEntry>()(
  {
    id: TEXT,
    kind: {
      enum: [...RUN_KINDS],
      description:
        "`run`: in a session; `daemon`: of a daemon; `call`: of a skill, or without a session; `workflow`: of a graph, its stages are runs too.",
    },
    name: { ...MAYBE_TEXT, description: "The skill that it is, the operation, or the workflow." },
    session: MAYBE_TEXT,
    state: { enum: [...RUN_STATES] },
    created_at: TIME,
    settled_at: { type: ["string", "null"], format: "date-time" },
    duration_ms: { type: ["integer", "null"] },
    input_tokens: COUNT,
    output_tokens: COUNT,
    cost_usd: { type: "number" },
    code: { ...MAYBE_TEXT, description: "Of the error that it ended with." },
  },
  {},
);
const TRACE_STEP = view<TraceStep>()(
  {
    number: { type: "integer", minimum: 1 },
    kind: { enum: [...STEP_KINDS] },
    name: { ...TEXT, description: "The provider, tool or hook; what kind of message; how the run ended." },
    started_at: TIME,
    duration_ms: { type: ["integer", "null"], description: "`null`: it is under way." },
    ok: { type: ["boolean", "null"], description: "`null`: it neither went well nor failed." },
    input: { description: "What went in; of long values the beginning of their text." },
    output: { description: "What came out, in the same way." },
    thoughts: { ...TEXT, description: "What the model said to itself." },
    model: TEXT,
    usage: OBJECT,
    cost_usd: { type: "number" },
  },
  { input: true, output: true, thoughts: true, model: true, usage: true, cost_usd: true },
);

/** All of `components/schemas` that these routes use. */
export function sessionSchemas(): JsonObject {
  return {
    Session: view<SessionView>()(SESSION, {}),
    Sessions: pageOf(
      object({ id: TEXT, state: STATE, created_at: TIME, parent_id: MAYBE_TEXT, metadata: OBJECT }),
    ),
    SessionAncestry: object(ANCESTRY),
    SessionMessages: pageOf(object({ role: { enum: ["user", "assistant", "tool"] }, content: {} })),
    SessionCassette: object({
      session_id: TEXT,
      mocks: { type: "array", items: OBJECT, description: "As `options.mock` takes them." },
      tool_results: {
        type: "array",
        items: object({
          run_id: TEXT,
          ...CALL,
          arguments_digest: { ...TEXT, description: "SHA-256 (hex) of name and arguments." },
          status: { enum: [...TOOL_STATUSES] },
          content: TEXT,
        }),
      },
    }),
    Delivered: object({ session_id: TEXT, run_id: MAYBE_TEXT, delivery: TEXT }, ["delivery"]),
    CompactedSession: object({
      ...SESSION,
      compacted: { type: ["object", "null"], description: "`null`: there was nothing to compact." },
    }),
    Artifacts: pageOf(
      view<ArtifactEntry>()(
        {
          ...ARTIFACT,
          versions: { ...COUNT, description: "How many versions there are." },
          run_id: TEXT,
          call_id: TEXT,
          created_at: TIME,
          updated_at: TIME,
        },
        { language: true },
      ),
    ),
    Artifact: view<ArtifactView>()(
      {
        ...ARTIFACT,
        content: { description: "Text; for an image its URL; for type `custom` any JSON." },
        metadata: OBJECT,
        plugin: TEXT,
        run_id: TEXT,
        call_id: TEXT,
        created_at: TIME,
        versions: { type: "array", items: object({ version: COUNT, created_at: TIME }) },
      },
      { language: true, plugin: true },
    ),
    Approvals: pageOf(APPROVAL),
    CompactRequest: bodySchema(compactBody, {
      summary: { description: "Replaces the summary that Hull would make." },
      options: ref("schemas", "CallOptions"),
    }),
    ApprovalDecision: bodySchema(decisionBody, {
      arguments_digest: {
        description: "Required to approve: the digest of the arguments that the person saw.",
      },
    }),
    RunRequest: bodySchema(callBody, { options: ref("schemas", "RunOptions") }),
    RunAccepted: object({ id: TEXT, run_id: TEXT, session_id: TEXT, status: RUN_STATUS }),
    Run: view<RunView>()(
      {
        run_id: TEXT,
        session_id: TEXT,
        status: RUN_STATUS,
        created_at: TIME,
        settled_at: { type: ["string", "null"], format: "date-time" },
        result: ref("schemas", "RunResult"),
        error: ref("schemas", "Problem"),
        awaiting: {
          type: "array",
          items: object(CALL),
          description: "Calls that wait for the client's answer.",
        },
        approvals: {
          type: "array",
          items: APPROVAL,
          description: "Calls that wait for a person's decision.",
        },
      },
      { result: true, error: true, awaiting: true, approvals: true },
    ),
    Runs: pageOf(ref("schemas", "Run")),
    IndexedRun: INDEXED_RUN,
    SessionEvents: pageOf(ref("schemas", "Event")),
    IndexedRuns: pageOf(ref("schemas", "IndexedRun")),
    RunFigures: object({
      since: TIME,
      awaiting_approval: { ...COUNT, description: "Runs that wait for an approval, whenever they began." },
      data: {
        type: "array",
        items: object({
          name: { ...TEXT, description: "The skill, or the operation." },
          calls: COUNT,
          failures: COUNT,
          p50_ms: { type: ["integer", "null"], description: "Median duration of those that ended." },
          cost_usd: { type: "number" },
        }),
      },
    }),
    Trace: object({
      recovered: {
        type: "boolean",
        description: "Whether the run was taken up after its process died.",
      },
      text: { ...MAYBE_TEXT, description: "What the model said last in the whole run." },
      error: {
        oneOf: [{ type: "null" }, object({ code: TEXT, title: TEXT, detail: TEXT })],
        description: "What the run ended with.",
      },
      data: { type: "array", items: TRACE_STEP },
      next_cursor: MAYBE_TEXT,
    }),
  };
}
