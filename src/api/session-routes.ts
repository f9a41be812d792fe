/** The routes of sessions and of runs in them, and their request and response shapes. */
import { SESSION_STATES } from "../engine/agent/records.ts";
import { callBody } from "../run/request-bodies.ts";
import {
  acceptedRun,
  ancestryShape,
  answeredCall,
  approvalView,
  artifactEntry,
  artifactView,
  cassetteShape,
  compactedSession,
  decidedShape,
  deliveredShape,
  resumedSession,
  runAnswerShape,
  runShape,
  runSteps,
  sessionShape,
} from "../session/conversation/answers.ts";
import { figuresShape, RUN_KINDS, RUN_STATES, runEntryShape } from "../session/run-entry.ts";
import { sessionRowShape } from "../session/session-entry.ts";
import type { JsonObject } from "../skill/manifest.ts";
import {
  compactBody,
  decisionBody,
  feedbackBody,
  forkAtBody,
  forkBody,
  injectBody,
  messageBody,
  nothing,
  openBody,
  toolResultBody,
  trimBody,
} from "./bodies/sessions.ts";
import {
  answer,
  COUNT,
  LOCATED,
  MAYBE_COUNT,
  MAYBE_TIME,
  object,
  pageOf,
  query,
  ref,
  TEXT,
  TIME,
} from "./openapi-parts.ts";
import {
  ANSWERED,
  body,
  EVENTS,
  follows,
  json,
  KEY,
  lists,
  maybeBody,
  type Operation,
  type Operations,
  reads,
  removes,
  type Schema,
  schema,
} from "./operation.ts";
import { bodySchema, schemaOf, schemasOf } from "./shape-schema.ts";

const FLAG: JsonObject = { type: "boolean" };
const DST = { dst: { description: "The id that the new session is to have." } };
const NOTHING = maybeBody(nothing);

const ofSession = (
  summary: string,
  shape: Schema,
  more: Partial<Operation> & { outcome?: string } = {},
): Operation => reads("sessions", summary, shape, more);

/** Operations that change what the path names, and answer with it. @param name of its schema */
export const changesOf =
  (outcome: string, name: string) =>
  (summary: string, read: JsonObject, more: Partial<Operation> = {}): Operation =>
    reads("sessions", summary, schema(name), {
      outcome,
      parameters: [KEY],
      body: read,
      faults: [409],
      ...more,
    });
const changes = changesOf("The session as it is now", "Session");
const FORKED = { parameters: [], answers: { 201: answer("The fork", json("Session"), LOCATED) } };

/** Statuses of a run of a model that the request begins, in addition to those of its input. */
export const RUN_FAULTS = [402, 404, 409, 499, 502, 504];

export const SESSION_OPERATIONS = {
  listAllRuns: lists(
    "sessions",
    "The tenant's runs of the last 30 days, and older ones that have not ended, over all surfaces, the newest first",
    "IndexedRuns",
    {
      parameters: [
        query("state", "Only runs in this state.", { enum: [...RUN_STATES] }),
        query("kind", "Only runs of this kind.", { enum: [...RUN_KINDS] }),
        query("name", "Only runs of this skill, operation or workflow.", TEXT),
        query("session", "Only runs in this session.", TEXT),
        query("model", "Only runs with this model, as `provider/model`.", TEXT),
        query("code", "Only runs that ended with this error.", TEXT),
        query("stages", "Whether the runs of workflow stages are among them; `true` if absent.", {
          enum: ["true", "false"],
        }),
      ],
    },
  ),
  getRunFigures: reads(
    "sessions",
    "Sums over the runs of the last 24 hours by skill, and how many runs wait for an approval",
    "RunFigures",
    { outcome: "The sums" },
  ),
  getIndexedRun: ofSession("One run of that list", "IndexedRun", { outcome: "The run" }),
  traceExecution: lists("sessions", "The steps of an execution's run so far; a script has none", "Trace", {
    usual: 200,
  }),
  traceRun: lists("sessions", "The steps of a run so far", "Trace", { usual: 200 }),
  followRun: follows("sessions", "Events of a run: those so far, then future ones, up to its end"),
  listSessions: lists("sessions", "The tenant's sessions, the newest first", "Sessions", {
    parameters: [
      query("stages", "Whether those are among them in which stages of workflow runs ran.", {
        enum: ["true", "false"],
      }),
    ],
  }),
  openSession: changes(
    "Opens a session: a new one, or the one that has this id",
    maybeBody(openBody, { id: DST.dst }),
    {
      parameters: [],
      answers: {
        200: answer("It was there", json("Session"), LOCATED),
        201: answer("It is new", json("Session"), LOCATED),
      },
      faults: [],
    },
  ),
  getSession: ofSession("One session", "Session"),
  deleteSession: removes("sessions", "Stops a session's run and removes all its data"),
  sessionExists: ofSession("Whether there is such a session", object({ exists: FLAG }), { never: [404] }),
  sessionLength: ofSession("How many messages the next model call would send", object({ length: COUNT })),
  sessionAncestry: ofSession("What the session was forked from, and into", "SessionAncestry"),
  listMessages: lists(
    "sessions",
    "The messages that the next model call would send, oldest first",
    "SessionMessages",
  ),
  sendMessage: changes("Sends a message to the run under way, or to the next one", body(messageBody), {
    answers: { 202: answer("It is stored", json("Delivered")) },
  }),
  getTranscript: {
    tag: "sessions",
    summary: "The whole conversation of the session",
    parameters: [
      query("view", "As text what everybody may see, or all of it; or the transcript itself.", {
        enum: ["visible", "full", "raw"],
        default: "visible",
      }),
    ],
    answers: {
      200: answer("The transcript", { "text/plain": { schema: TEXT }, ...json("Transcript") }),
    },
  },
  getCassette: ofSession("What the session's models and tools answered", "SessionCassette"),
  followSession: follows("sessions", "Events of the session: missed ones, then future ones, without end"),
  listSessionEvents: lists("sessions", "Events that the session has, oldest first", "SessionEvents", {
    parameters: [query("event", "Only events of this name.", TEXT)],
  }),
  resetSession: changes("Empties the conversation", NOTHING),
  trimSession: changes("Keeps the last messages only", body(trimBody)),
  compactSession: changes("Replaces older messages by a summary", maybeBody("CompactRequest"), {
    answers: { 200: answer("The session, and what was done", json("CompactedSession")) },
    faults: [409, 502, 504],
  }),
  injectMessage: changes("Adds a message of any role", body(injectBody)),
  forkSession: changes(
    "Makes a session that begins in this one's present state",
    maybeBody(forkBody, DST),
    FORKED,
  ),
  forkSessionAt: changes(
    "Makes a session that begins with this one's first messages",
    body(forkAtBody, DST),
    FORKED,
  ),
  archiveSession: changes("Archives the session: it accepts no more runs", NOTHING),
  abandonSession: changes("Abandons the conversation; cancels its run", NOTHING),
  closeSession: changes("Ends the conversation; cancels its run", NOTHING),
  resumeSession: changes("Makes it active again, and wakes an idle run", NOTHING, {
    answers: { 200: answer("The session as it is now", json("ResumedSession")) },
  }),
  sendFeedback: changes("Gives the model feedback at its next turn", body(feedbackBody), {
    answers: { 202: answer("It is stored", json("Delivered")) },
  }),
  answerToolCall: changes(
    "The client's answer to a call of a tool that it declared without a handler",
    body(toolResultBody),
    { answers: { 200: answer("The run has it", json(schemaOf(answeredCall))) } },
  ),
  listArtifacts: lists(
    "sessions",
    "What the session's tools made, in the order in which it was made, without content",
    "Artifacts",
  ),
  getArtifact: {
    tag: "sessions",
    summary: "A version of an artifact, or its content as a file",
    parameters: [
      query("version", "Instead of the last one.", { type: "integer", minimum: 1 }),
      query("download", "`1`: the content alone, always as an attachment.", { enum: ["0", "1"] }),
    ],
    answers: { 200: answer("The artifact", { ...json("Artifact"), "*/*": {} }) },
  },
  listApprovals: ofSession("Calls that wait for a decision", "Approvals"),
  decideApproval: changes("Decides about a call, once", body("ApprovalDecision"), {
    answers: { 200: answer("It is decided", json(schemaOf(decidedShape))) },
  }),
  listRuns: lists("sessions", "The runs of a session, the newest first, without their results", "Runs"),
  startRun: changes("Runs an agent in the session", body("RunRequest"), {
    parameters: [
      ...ANSWERED,
      query(
        "wait",
        "Until when the answer waits: the run's end, until it rests (it is idle, or waits for its client or an approval), or not at all. Without it a daemon, and a run with tools of the client, is answered when it rests.",
        { enum: ["terminal", "idle", "none"] },
      ),
    ],
    answers: {
      200: answer("The result, and what the run waits for if it rests", {
        ...json("SessionRunResult"),
        ...EVENTS,
      }),
      202: answer("It continues; its state and result are at `Location`", json("RunAccepted"), LOCATED),
    },
    faults: RUN_FAULTS,
  }),
  getRun: ofSession("A run, with its result once it has ended", "Run"),
  cancelRun: changes("Ends a run; an ended run stays unchanged", NOTHING, {
    parameters: [],
    answers: { 200: answer("The run", json("Run")) },
  }),
} satisfies Operations;

/** All of `components/schemas` that these routes use. */
export function sessionSchemas(): JsonObject {
  return {
    ...schemasOf({
      Session: sessionShape,
      SessionAncestry: ancestryShape,
      SessionCassette: cassetteShape,
      Delivered: deliveredShape,
      CompactedSession: compactedSession,
      ResumedSession: resumedSession,
      Artifact: artifactView,
      Approval: approvalView,
      RunAccepted: acceptedRun,
      Run: runShape,
      SessionRunResult: runAnswerShape,
      Trace: runSteps,
    }),
    Sessions: pageOf(
      bodySchema(sessionRowShape, {
        state: { enum: [...SESSION_STATES] },
        created_at: TIME,
        metadata: { type: "object" },
      }),
    ),
    SessionMessages: pageOf(ref("schemas", "Message")),
    Artifacts: pageOf(schemaOf(artifactEntry)),
    Approvals: pageOf(ref("schemas", "Approval")),
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
    Runs: pageOf(ref("schemas", "Run")),
    IndexedRun: bodySchema(runEntryShape, {
      kind: {
        enum: [...RUN_KINDS],
        description:
          "`run`: in a session; `daemon`: of a daemon; `call`: of a skill, or without a session; `workflow`: of a graph, its stages are runs too.",
      },
      name: { description: "The skill that it is, the operation, or the workflow." },
      model: {
        description:
          "The model that it asks, as `provider/model`; that of the fallback if a fallback answered last. `null`: none, or an earlier version of Hull listed it.",
      },
      state: { enum: [...RUN_STATES] },
      created_at: TIME,
      settled_at: MAYBE_TIME,
      duration_ms: MAYBE_COUNT,
      input_tokens: COUNT,
      output_tokens: COUNT,
      price_known: {
        description: "Whether the price of every call in `cost_usd` is known; others count as 0.",
      },
      code: { description: "Of the error that it ended with." },
    }),
    SessionEvents: pageOf(ref("schemas", "Event")),
    IndexedRuns: pageOf(ref("schemas", "IndexedRun")),
    RunFigures: object({
      since: TIME,
      awaiting_approval: { ...COUNT, description: "Runs that wait for an approval, whenever they began." },
      data: {
        type: "array",
        items: bodySchema(figuresShape, {
          name: { description: "The skill, or the operation." },
          calls: COUNT,
          failures: COUNT,
          p50_ms: { ...MAYBE_COUNT, description: "Median duration of those that ended." },
        }),
      },
    }),
  };
}
