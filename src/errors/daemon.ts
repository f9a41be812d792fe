/** Errors of daemons. */

import { define } from "../errors.ts";
import { counted } from "../plural.ts";

// 401
export const WebhookRefused = define<{ reason: string }>("webhook_refused", 401, (d) => ({
  title: "Signed call refused",
  detail: `The daemon refused this call: ${d.reason}.`,
}));

// 409
export const DaemonNotRunning = define<{ daemon: string; status: string }>(
  "daemon_not_running",
  409,
  (d) => ({
    detail: `Daemon "${d.daemon}" is ${d.status}. POST /daemons/${d.daemon}/resume starts it again.`,
    members: { status: d.status },
  }),
);
export const DaemonRunning = define<{ daemon: string }>("daemon_running", 409, (d) => ({
  detail: `Daemon "${d.daemon}" is running already.`,
}));
export const DaemonPathTaken = define<{ path: string }>("daemon_path_taken", 409, (d) => ({
  title: "Path of a daemon taken",
  detail: `Another running daemon has the persist_path "${d.path}". Stop it, or give this one another path.`,
  members: { persist_path: d.path },
}));

// 429
export const DaemonQueueFull = define<{ daemon: string; capacity: number }>(
  "daemon_queue_full",
  429,
  (d) => ({
    title: "Queue of the daemon full",
    detail: `The queue of daemon "${d.daemon}" is full with ${counted(d.capacity, "event")}. Hull did not store this one; send it again later.`,
    members: { reason: "daemon_queue_full", event_queue_capacity: d.capacity },
    retry_after_s: 1,
  }),
);
