/** The routes of daemons, and their request and response shapes. */
import { WAKE_REASONS } from "../engine/agent/records.ts";
import { WAKE_LIMITS } from "../engine/agent/spec.ts";
import { DAEMON_STATUSES, type DaemonEvent, type DaemonSummary } from "../session/daemon/rpc.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { nothing, resumeDaemonBody } from "./bodies/sessions.ts";
import { answer, COUNT, MAYBE_TEXT, type Members, object, pageOf, ref, TEXT, view } from "./openapi-parts.ts";
import { body, json, maybeBody, type Operation, type Operations, schema } from "./operation.ts";
import { ID, KEY, LOCATED, PAGE } from "./session-routes.ts";

const TIME: JsonObject = { type: "string", format: "date-time" };
const MAYBE_TIME: JsonObject = { type: ["string", "null"], format: "date-time" };
const STATUS: JsonObject = { enum: [...DAEMON_STATUSES] };
const REASON: JsonObject = { enum: [...WAKE_REASONS] };
const POSITIVE: JsonObject = { type: "integer", minimum: 1 };

const daemon = (summary: string, more: Partial<Operation> = {}): Operation => ({
  tag: "sessions",
  summary,
  parameters: [ID, KEY],
  body: maybeBody(nothing),
  answers: { 200: answer("The daemon as it is now", json(schema("Daemon"))) },
  faults: [400, 404, 408, 409, 413, 422],
  ...more,
});
const read = { tag: "sessions" } as const;

export const DAEMON_OPERATIONS = {
  listDaemons: {
    ...read,
    summary: "The tenant's daemons, the newest first",
    parameters: PAGE,
    answers: { 200: answer("The page", json(schema("Daemons"))) },
    faults: [400],
  },
  spawnDaemon: daemon("Starts an agent that waits, and wakes when something comes or is due", {
    parameters: [KEY],
    body: body(schema("DaemonRequest")),
    answers: { 201: answer("It runs", json(schema("Daemon")), LOCATED) },
    faults: [400, 404, 408, 409, 413, 422],
  }),
  resumeDaemonAt: daemon("Starts the daemon again that last had a path", {
    parameters: [KEY],
    body: body(resumeDaemonBody),
  }),
  getDaemon: {
    ...read,
    summary: "A daemon with its snapshot and the beginning of its queue",
    parameters: [ID],
    answers: { 200: answer("The daemon", json(schema("DaemonSnapshot"))) },
    faults: [404],
  },
  deleteDaemon: {
    ...read,
    summary: "Stops a daemon and removes all its data, including its session",
    parameters: [ID],
    answers: { 204: answer("It is removed", null) },
    faults: [404],
  },
  sendEvent: daemon(
    "Puts an event into the daemon's queue: the body, JSON or text. Wants a key, or the signature of the daemon's webhook",
    {
      body: { required: true, content: { ...json({}), "text/plain": { schema: TEXT } } },
      answers: { 202: answer("It is stored", json(schema("Daemon"))) },
      faults: [400, 404, 408, 409, 413, 422],
    },
  ),
  wakeDaemon: daemon("Wakes a daemon once it is idle"),
  stopDaemon: daemon("Stops a daemon; an event in flight goes back to the front of its queue"),
  resumeDaemon: daemon("Starts a daemon again that was stopped or has failed"),
} satisfies Operations;

const EVENT = view<DaemonEvent>()({ seq: POSITIVE, enqueued_at: TIME, payload: {} }, {});
const LISTED = {
  id: TEXT,
  name: MAYBE_TEXT,
  status: STATUS,
  persist_path: MAYBE_TEXT,
  skill: { ...MAYBE_TEXT, description: "The skill that declares it." },
  created_at: TIME,
};
const SUMMARY: Members<DaemonSummary> = {
  ...LISTED,
  session_id: TEXT,
  run_id: TEXT,
  snapshot_path: MAYBE_TEXT,
  pending_event_count: { ...COUNT, description: "How many events wait, without the event in flight." },
  queued_event_count: { ...COUNT, description: "How many events wait, with the event in flight." },
  event_queue_capacity: POSITIVE,
  daemon_state: { ...TEXT, description: "`active`, `idle`, or how its run ended." },
  saved_at: MAYBE_TIME,
  next_wake_at: MAYBE_TIME,
  last_wake: { oneOf: [{ type: "null" }, object({ reason: REASON, at: TIME })] },
  wake_budget_reached: {
    enum: [...WAKE_LIMITS, null],
    description: "The limit of `wake_budget` that ended its last wake.",
  },
  pending_wakes: {
    type: "array",
    items: REASON,
    description: "The reasons that wake it as soon as it is idle.",
  },
  inflight_event: EVENT,
  error: ref("schemas", "Problem"),
  result: {
    type: "object",
    description: "Result of its run without the transcript, once the run has ended.",
  },
};
const OPTIONAL = ["inflight_event", "error", "result"];
const LIST: JsonObject = { type: "array" };

/** All of `components/schemas` that these routes use. */
export function daemonSchemas(): JsonObject {
  const snapshot = {
    _type: { const: "daemon_snapshot" },
    visible_messages: LIST,
    recorded_messages: LIST,
    transcript_events: LIST,
    transcript_summary: MAYBE_TEXT,
    total_text: TEXT,
    last_iteration_text: TEXT,
    all_tools_used: LIST,
    rejected_tools: LIST,
    deferred_user_messages: LIST,
    total_iterations: COUNT,
    idle_backoff_ms: COUNT,
    last_run_exit_code: { type: ["integer", "null"] },
    watch_state: { type: "object" },
    pending_events: { type: "array", items: EVENT },
  };
  return {
    Daemon: view<DaemonSummary>()(SUMMARY, { inflight_event: true, error: true, result: true }),
    Daemons: pageOf(object(LISTED)),
    DaemonSnapshot: object({ ...SUMMARY, ...snapshot }, OPTIONAL),
  };
}
