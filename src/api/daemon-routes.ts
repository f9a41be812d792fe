/** The routes of daemons, and their request and response shapes. */
import { daemonShape, daemonSnapshot, daemonWake } from "../session/daemon/answers.ts";
import { listedDaemon } from "../session/daemon/listed.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { nothing, resumeDaemonBody } from "./bodies/sessions.ts";
import { answer, pageOf, TEXT, TIME } from "./openapi-parts.ts";
import { body, json, maybeBody, type Operation, type Operations, schema } from "./operation.ts";
import { ID, KEY, LOCATED, PAGE } from "./session-routes.ts";
import { bodySchema, schemaOf, schemasOf } from "./shape-schema.ts";

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
  listDaemonWakes: {
    ...read,
    summary: "The wakes of a daemon, the newest first",
    parameters: [ID, ...PAGE],
    answers: { 200: answer("The page", json(schema("DaemonWakes"))) },
    faults: [400, 404],
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

/** All of `components/schemas` that these routes use. */
export const daemonSchemas = (): JsonObject => ({
  ...schemasOf({ Daemon: daemonShape, DaemonSnapshot: daemonSnapshot }),
  DaemonWakes: pageOf(schemaOf(daemonWake)),
  Daemons: pageOf(
    bodySchema(listedDaemon(), {
      skill: { description: "The skill that declares it." },
      created_at: TIME,
    }),
  ),
});
