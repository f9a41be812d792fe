/** The routes of daemons, and their request and response shapes. */
import { daemonShape, daemonSnapshot, daemonWake } from "../session/daemon/answers.ts";
import { listedDaemon } from "../session/daemon/listed.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { nothing, resumeDaemonBody } from "./bodies/sessions.ts";
import { answer, LOCATED, pageOf, TEXT, TIME } from "./openapi-parts.ts";
import { body, json, lists, maybeBody, type Operations, reads, removes } from "./operation.ts";
import { changesOf } from "./session-routes.ts";
import { bodySchema, schemaOf, schemasOf } from "./shape-schema.ts";

const daemon = changesOf("The daemon as it is now", "Daemon");
const NOTHING = maybeBody(nothing);

export const DAEMON_OPERATIONS = {
  listDaemons: lists("sessions", "The tenant's daemons, the newest first", "Daemons"),
  spawnDaemon: daemon(
    "Starts an agent that waits, and wakes when something comes or is due",
    body("DaemonRequest"),
    {
      answers: { 201: answer("It runs", json("Daemon"), LOCATED) },
      faults: [404, 409],
    },
  ),
  resumeDaemonAt: daemon("Starts the daemon again that last had a path", body(resumeDaemonBody), {
    faults: [404, 409],
  }),
  getDaemon: reads(
    "sessions",
    "A daemon with its snapshot and the beginning of its queue",
    "DaemonSnapshot",
    { outcome: "The daemon" },
  ),
  listDaemonWakes: lists("sessions", "The wakes of a daemon, the newest first", "DaemonWakes"),
  deleteDaemon: removes("sessions", "Stops a daemon and removes all its data, including its session"),
  sendEvent: daemon(
    "Puts an event into the daemon's queue: the body, JSON or text. Wants a key, or the signature of the daemon's webhook",
    { required: true, content: { ...json({}), "text/plain": { schema: TEXT } } },
    { answers: { 202: answer("It is stored", json("Daemon")) } },
  ),
  wakeDaemon: daemon("Wakes a daemon once it is idle", NOTHING),
  stopDaemon: daemon("Stops a daemon; an event in flight goes back to the front of its queue", NOTHING),
  resumeDaemon: daemon("Starts a daemon again that was stopped or has failed", NOTHING),
} satisfies Operations;

/** All of `components/schemas` that these routes use. */
export const daemonSchemas = (): JsonObject => ({
  ...schemasOf({ Daemon: daemonShape, DaemonSnapshot: daemonSnapshot }),
  DaemonWakes: pageOf(schemaOf(daemonWake)),
  Daemons: pageOf(
    bodySchema(listedDaemon(), { skill: { description: "The skill that declares it." }, created_at: TIME }),
  ),
});
