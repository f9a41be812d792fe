/**
 * A workflow run as its routes show it, and what else they answer: shapes, from which the types and the schemas of the
 * API come. The Worker uses only the types and never loads this module.
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
  ordinal,
  text,
  texts,
  time,
  usd,
} from "../../answer-shape.ts";
import { TOOL_STATUSES } from "../agent/records.ts";
import type { WorkflowArtifact } from "./artifacts.ts";
import { CRASH_PLACES } from "./crash-places.ts";
import type { Graph } from "./graph.ts";
import { WORKFLOW_STATUSES } from "./status.ts";

const graph = document<Graph>("WorkflowGraph");
const artifacts = z.array(document<WorkflowArtifact>("WorkflowArtifact"));
const status = z.enum(WORKFLOW_STATUSES);

export type Usage = z.infer<typeof usageShape>;
const usageShape = z.object({
  input_tokens: count(),
  output_tokens: count(),
  total_duration_ms: z.int(),
  call_count: count(),
  total_cost: usd(),
  price_known: maybe(
    about(z.literal(false), "The price of a call is not known, so it counts as 0. Absent: all are known."),
  ),
  models: texts(),
});

export type StageError = z.infer<typeof stageError>;
const stageError = z.object({
  code: text(),
  category: maybe(
    about(text(), "Of a failed model call, e.g. `rate_limit`, which `retry_on` may also name."),
  ),
  message: text(),
});

/** How an attempt or a visit ended. */
const outcome = {
  outcome: about(text(), "Depends on the kind of node: `success`, `verified`, …."),
  branch: about(text(), "Selects the edges to take next."),
  error: z.nullable(stageError),
  usage: usageShape,
};

export type Attempt = z.infer<typeof attemptShape>;
const attemptShape = z.object({
  attempt: ordinal(),
  status: text(),
  started_at: time(),
  finished_at: time(),
  ...outcome,
  child_run_id: z.nullable(text()),
  child_session_id: maybe(
    about(z.nullable(text()), "The session of that run; absent before Hull recorded it."),
  ),
});

/** A finished visit of a node; `usage` is that of all its attempts. */
export type Stage = z.infer<typeof stageShape>;
export const stageShape = named(
  "WorkflowStage",
  z.object({
    id: about(text(), "`<run>:<node>:<visit>`."),
    node_id: text(),
    kind: text(),
    status: z.enum(["completed", "failed", "partial"]),
    ...outcome,
    started_at: time(),
    finished_at: time(),
    visible_text: text(),
    private_reasoning: z.nullable(text()),
    transcript: json(),
    verification: about(json(), "Of a verify node: `{ok, …}` of each check."),
    artifacts,
    consumed_artifact_ids: texts(),
    produced_artifact_ids: texts(),
    attempts: z.array(attemptShape),
    input_digest: about(text(), "SHA-256 (hex) of the stage's input."),
    metadata: about(
      object(),
      "`tools`, `policy`, `items`, `wait` as the attempt used them; `stop_reason` and `warnings` of its run.",
    ),
  }),
);

export type Transition = z.infer<typeof transitionShape>;
const transitionShape = z.object({ from: text(), to: text(), branch: z.nullable(text()), at: time() });

/** The versions of skills that a run uses from its beginning to its end. */
export type PinnedSkills = z.infer<typeof pinnedSkills>;
const pinnedSkills = z.object({
  digests: about(z.record(text(), text()), "By the name that the run gives the skill."),
  all: maybe(about(texts(), "The skills that `*` means.")),
});

/** A visit of a node that has not ended. */
export type ActiveVisit = z.infer<typeof activeVisit>;
const activeVisit = z.object({
  node_id: text(),
  visit: ordinal(),
  started_at: time(),
  attempt: count(),
  compensates: maybe(about(text(), "Id of the stage that it undoes.")),
  child_session_ids: maybe(about(texts(), "The sessions of its runs under way.")),
  retry_at: maybe(time()),
  waits_until: maybe(about(z.nullable(time()), "`null`: without end.")),
  approval: maybe(z.object({ question: text() })),
  items: maybe(about(z.array(count()), "Of a map: the items that run.")),
});

const duration = (description: string) => about(z.nullable(z.int()), description);
export type TraceSpan = z.infer<typeof traceSpan>;
const traceSpan = z.object({
  span_id: text(),
  parent_id: about(z.nullable(text()), "`null`: the span of the run."),
  kind: z.enum(["workflow", "stage", "attempt", "model", "tool"]),
  name: text(),
  start_ms: about(z.int(), "Since the run began."),
  duration_ms: duration("`null`: it is under way."),
  metadata: object(),
});

/** A tool's result, and the stage in which the tool was called. */
export type ToolRecording = z.infer<typeof toolRecording>;
const toolRecording = z.object({
  stage_id: text(),
  run_id: text(),
  tool_call_id: text(),
  name: text(),
  arguments: about(json(), "The beginning of their text if they are long."),
  arguments_digest: about(text(), "SHA-256 of name and arguments, as in a cassette."),
  status: z.enum(TOOL_STATUSES),
  content: text(),
  at: time(),
  duration_ms: duration("`null`: a client answered."),
});

/** Identifies an attempt of a visit of a node. */
export type AttemptKey = z.infer<typeof attemptKey>;
const attemptKey = z.object({
  node: text(),
  visit: ordinal(),
  attempt: ordinal(),
  item: maybe(about(count(), "Of a map: which item, counted from 0.")),
});
/** Of a map without `item`: the map as a whole, or the first item that is called or answers. */
export type CrashPoint = z.infer<typeof crashPoint>;
const crashPoint = z.extend(attemptKey, { at: z.enum(CRASH_PLACES) });

/** What a run that tries a graph reports. */
export type Trial = z.infer<typeof trialShape>;
const trialShape = z.object({
  crashed: about(z.array(crashPoint), "Where its process died."),
  unmet: about(
    z.object({
      crashes: z.array(crashPoint),
      mocks: about(
        z.array(z.object({ node: text(), attempt: ordinal() })),
        "Answers for attempts that did not happen.",
      ),
      approvals: about(texts(), "Nodes that did not ask."),
      signals: z.array(z.object({ name: text(), key: z.nullable(text()) })),
    }),
    "What its author provided and it has not needed so far.",
  ),
});

/** The stored workflow of a run. */
const ofWorkflow = z.object({
  name: text(),
  version: about(z.nullable(z.int()), "`null`: a workflow of a skill."),
  digest: text(),
});

/** The run's record. */
export type RunDocument = z.infer<typeof runDocument>;
export const runDocument = named(
  "WorkflowRun",
  z.object({
    _type: z.literal("run_record"),
    id: text(),
    workflow_id: text(),
    workflow_name: text(),
    workflow: about(z.nullable(ofWorkflow), "`null`: the graph came with the request."),
    skills: about(
      z.nullable(pinnedSkills),
      "`null`: each stage takes the versions that are served at the time.",
    ),
    graph,
    options: about(object(), "The run options that hold for every stage."),
    task: text(),
    status,
    explanation: about(text(), "One sentence: what the run does, or why it does not continue."),
    started_at: time(),
    finished_at: z.nullable(time()),
    parent_run_id: z.nullable(text()),
    root_run_id: text(),
    origin: about(
      z.nullable(
        z.object({
          run_id: text(),
          how: z.enum(["resume", "fork", "replay"]),
          undone: maybe(about(texts(), "Ids of the stages that are not to be undone.")),
        }),
      ),
      "The earlier run that this one continues or repeats.",
    ),
    stages: z.array(stageShape),
    compensations: z.array(stageShape),
    uncompensated: about(texts(), "Ids of stages that the run has not undone yet."),
    transitions: z.array(transitionShape),
    active: z.array(activeVisit),
    checkpoints: z.array(
      z.object({
        kind: z.enum(["start", "stage_complete", "finalize"]),
        at: time(),
        stage_id: maybe(text()),
      }),
    ),
    pending_nodes: texts(),
    completed_nodes: texts(),
    failed_stages: about(texts(), "Ids."),
    child_runs: z.array(z.object({ stage_id: text(), run_id: text() })),
    artifacts,
    policy: about(z.nullable(object()), "The ceiling of every stage; `null`: none."),
    usage: usageShape,
    transcript: about(json(), "That of the last stage that has one."),
    error: z.nullable(stageError),
    steps: count(),
    max_steps: ordinal(),
    replay_fixture: z.null(),
    trace_spans: z.array(traceSpan),
    tool_recordings: z.array(toolRecording),
    trace_spans_left_out: maybe(count()),
    tool_recordings_left_out: maybe(count()),
    virtual_time_ms: about(count(), "How far its time is ahead of the clock."),
    test: about(
      z.nullable(trialShape),
      "Of a run that tries a graph: where its process died, and what it has not needed so far.",
    ),
    metadata: object(),
    persisted_path: about(text(), "Names the record in `resume_path`, `replay_path` and `session_restore`."),
  }),
);

/** The answer to a signal. */
export const signalledRun = z.intersection(
  runDocument,
  z.object({ queued_events: about(count(), "How many signals no node has taken yet.") }),
);

/** The result of an execution: the run's record, and those of its members that clients use most. */
export const workflowResult = z.object({
  id: text(),
  status,
  run: runDocument,
  artifacts,
  transcript: json(),
  path: text(),
});

export type GraphFinding = z.infer<typeof graphFinding>;
const graphFinding = z.object({ path: text(), message: text(), node: maybe(text()) });
export type Validation = z.infer<typeof validationShape>;
export const validationShape = z.object({
  valid: flag(),
  errors: z.array(graphFinding),
  warnings: z.array(graphFinding),
  reachable_nodes: about(texts(), "In the order in which a walk from the entry reaches them."),
});
