/** The routes of sessions, and of runs in them. */
import type { Json, JsonObject } from "../skill/manifest.ts";
import { json, type Operation, type Operations, schema } from "./operation.ts";
import { answer, answerHeaders, COUNT, inPath, object, query, ref, TEXT } from "./parts.ts";

export const ID = inPath("id", { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$" });
const RUN = inPath("run");
export const PAGE = [
  query("limit", "Items per page.", { type: "integer", minimum: 1, maximum: 1000, default: 20 }),
  query("cursor", "Where the page before ended.", TEXT),
];
export const KEY = ref("parameters", "idempotency-key");
export const LOCATED: JsonObject = {
  ...answerHeaders(),
  Location: { schema: { type: "string", format: "uri-reference" } },
};
const FLAG: JsonObject = { type: "boolean" };
const OBJECT: JsonObject = { type: "object" };
const SESSION_ID: JsonObject = { ...TEXT, description: "The id that the new session is to have." };

export const body = (shape: Json, required = true): JsonObject => ({ required, content: json(shape) });
const reads = (id: string, summary: string, shape: Json, more: Partial<Operation> = {}): Operation => ({
  id,
  tag: "sessions",
  summary,
  scope: "invoke",
  parameters: [ID],
  answers: { 200: answer("The answer", json(shape)) },
  faults: [404],
  ...more,
});
const changes = (
  id: string,
  summary: string,
  shape: JsonObject | null,
  more: Partial<Operation> = {},
): Operation => ({
  id,
  tag: "sessions",
  summary,
  scope: "invoke",
  parameters: [ID, KEY],
  body: body(shape ?? object({}), shape !== null),
  answers: { 200: answer("The session as it is now", json(schema("Session"))) },
  faults: [400, 404, 408, 409, 413, 422],
  ...more,
});
const FORKED = { answers: { 201: answer("The fork", json(schema("Session")), LOCATED) } };

export const SESSION_OPERATIONS: Operations = {
  "/sessions": {
    get: reads("listSessions", "The tenant's sessions, the newest first", schema("Sessions"), {
      parameters: PAGE,
      faults: [400],
    }),
    post: changes("openSession", "Opens a session: a new one, or the one that has this id", null, {
      parameters: [KEY],
      body: body(
        object({ id: SESSION_ID, metadata: OBJECT, transcript: OBJECT }, ["id", "metadata", "transcript"]),
        false,
      ),
      answers: {
        200: answer("It was there", json(schema("Session")), LOCATED),
        201: answer("It is new", json(schema("Session")), LOCATED),
      },
      faults: [400, 408, 413, 422],
    }),
  },
  "/sessions/{id}": {
    get: reads("getSession", "One session", schema("Session")),
    delete: reads(
      "deleteSession",
      "Stops a session's run and removes everything of it",
      {},
      {
        answers: { 204: answer("It is removed", null) },
      },
    ),
  },
  "/sessions/{id}/exists": {
    get: reads("sessionExists", "Whether there is such a session", object({ exists: FLAG }), { faults: [] }),
  },
  "/sessions/{id}/length": {
    get: reads(
      "sessionLength",
      "How many messages the next model call would be sent",
      object({ length: COUNT }),
    ),
  },
  "/sessions/{id}/ancestry": {
    get: reads("sessionAncestry", "What the session was forked from, and into", schema("SessionAncestry")),
  },
  "/sessions/{id}/messages": {
    get: reads(
      "listMessages",
      "What the next model call would be sent, oldest first",
      schema("SessionMessages"),
      {
        parameters: [ID, ...PAGE],
        faults: [400, 404],
      },
    ),
    post: changes(
      "sendMessage",
      "Says something to the run under way, or to the next one",
      object(
        {
          content: { type: ["string", "array"] },
          delivery: { enum: ["interrupt_immediate", "finish_step", "wait_for_completion"] },
        },
        ["delivery"],
      ),
      { answers: { 202: answer("It is stored", json(schema("Delivered"))) } },
    ),
  },
  "/sessions/{id}/transcript": {
    get: reads(
      "getTranscript",
      "Everything that was ever said in the session",
      {},
      {
        parameters: [
          ID,
          query("view", "As text what everybody may see, or all of it; or the transcript itself.", {
            enum: ["visible", "full", "raw"],
            default: "visible",
          }),
        ],
        answers: {
          200: answer("The transcript", { "text/plain": { schema: TEXT }, ...json({ type: "object" }) }),
        },
        faults: [400, 404],
      },
    ),
  },
  "/sessions/{id}/cassette": {
    get: reads("getCassette", "What the session's models and tools answered", schema("SessionCassette")),
  },
  "/sessions/{id}/events": {
    get: reads(
      "followSession",
      "Events of the session: those missed, then those to come, for ever",
      {},
      {
        parameters: [ID, ref("parameters", "last-event-id"), ref("parameters", "after")],
        answers: { 200: answer("Events", { "text/event-stream": { schema: schema("Events") } }) },
        faults: [400, 404],
      },
    ),
  },
  "/sessions/{id}/reset": { post: changes("resetSession", "Empties the conversation", null) },
  "/sessions/{id}/trim": {
    post: changes("trimSession", "Keeps the last messages only", object({ keep_last: COUNT })),
  },
  "/sessions/{id}/compact": {
    post: changes("compactSession", "Puts a summary in place of older messages", null, {
      parameters: [ID],
      body: body(schema("CompactRequest"), false),
      answers: { 200: answer("The session, and what was done", json(schema("CompactedSession"))) },
      faults: [400, 404, 408, 409, 413, 422, 502, 504],
    }),
  },
  "/sessions/{id}/inject": {
    post: changes("injectMessage", "Adds a message of any role", object({ message: OBJECT })),
  },
  "/sessions/{id}/fork": {
    post: changes("forkSession", "Makes a session that begins as this one stands", null, {
      body: body(object({ dst: SESSION_ID }, ["dst"]), false),
      ...FORKED,
    }),
  },
  "/sessions/{id}/fork-at": {
    post: changes(
      "forkSessionAt",
      "Makes a session that begins with this one's first messages",
      object({ keep_first: COUNT, dst: SESSION_ID }, ["dst"]),
      FORKED,
    ),
  },
  "/sessions/{id}/archive": { post: changes("archiveSession", "Takes no runs any more", null) },
  "/sessions/{id}/abandon": {
    post: changes("abandonSession", "Gives the conversation up; cancels its run", null),
  },
  "/sessions/{id}/close": { post: changes("closeSession", "Ends the conversation; cancels its run", null) },
  "/sessions/{id}/resume": {
    post: changes("resumeSession", "Makes it active again, and wakes an idle run", null),
  },
  "/sessions/{id}/feedback": {
    post: changes(
      "sendFeedback",
      "Tells the model something at its next turn",
      object({ kind: TEXT, content: TEXT }),
      {
        answers: { 202: answer("It is stored", json(schema("Delivered"))) },
      },
    ),
  },
  "/sessions/{id}/tool-results": {
    post: changes(
      "answerToolCall",
      "The client's answer to a call of a tool that it declared without a handler",
      object({ tool_call_id: TEXT, content: {}, is_error: FLAG }, ["is_error"]),
      { answers: { 200: answer("The run has it", json(object({ tool_call_id: TEXT, run_id: TEXT }))) } },
    ),
  },
  "/sessions/{id}/artifacts": {
    get: reads(
      "listArtifacts",
      "What the session's tools made, in the order in which it was made, without content",
      schema("Artifacts"),
      { parameters: [ID, ...PAGE], faults: [400, 404] },
    ),
  },
  "/sessions/{id}/artifacts/{artifact}": {
    get: reads("getArtifact", "A version of an artifact, or its content as a file", schema("Artifact"), {
      parameters: [
        ID,
        inPath("artifact"),
        query("version", "Instead of the last one.", { type: "integer", minimum: 1 }),
        query("download", "`1`: the content alone, always as an attachment.", { enum: ["0", "1"] }),
      ],
      answers: { 200: answer("The artifact", { ...json(schema("Artifact")), "*/*": {} }) },
      faults: [400, 404],
    }),
  },
  "/sessions/{id}/approvals": {
    get: reads("listApprovals", "Calls that wait for a decision", schema("Approvals")),
  },
  "/sessions/{id}/approvals/{approval}": {
    post: changes("decideApproval", "Decides about a call, once", schema("ApprovalDecision"), {
      parameters: [ID, inPath("approval"), KEY],
      answers: {
        200: answer("It is decided", json(object({ id: TEXT, decision: TEXT, run_id: TEXT }))),
      },
    }),
  },
  "/sessions/{id}/runs": {
    get: reads("listRuns", "The runs of a session, the newest first, without their results", schema("Runs"), {
      parameters: [ID, ...PAGE],
      faults: [400, 404],
    }),
    post: changes("startRun", "Runs an agent in the session", schema("RunRequest"), {
      parameters: [
        ID,
        KEY,
        ref("parameters", "prefer"),
        query(
          "wait",
          "Until when the answer waits: the run's end, until it rests (it is idle, or waits for its client or an approval), or not at all. Without it a daemon, and a run with tools of the client, is answered when it rests.",
          { enum: ["terminal", "idle", "none"] },
        ),
        ref("parameters", "last-event-id"),
      ],
      answers: {
        200: answer("The result", {
          ...json(schema("RunResult")),
          "text/event-stream": { schema: schema("Events") },
        }),
        202: answer(
          "It goes on; its state and result are at `Location`",
          json(schema("RunAccepted")),
          LOCATED,
        ),
      },
      faults: [400, 402, 404, 408, 409, 413, 422, 499, 502, 504],
    }),
  },
  "/sessions/{id}/runs/{run}": {
    get: reads("getRun", "A run, with its result once it has ended", schema("Run"), {
      parameters: [ID, RUN],
    }),
  },
  "/sessions/{id}/runs/{run}/cancel": {
    post: changes("cancelRun", "Ends a run; one that has ended stays as it is", null, {
      parameters: [ID, RUN],
      answers: { 200: answer("The run", json(schema("Run"))) },
    }),
  },
};
