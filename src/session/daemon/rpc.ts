/** The messages between the Worker and a daemon's object. */
import type { WakeReason } from "../../engine/agent/records.ts";
import type { AgentSpec, WakeLimit } from "../../engine/agent/spec.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { NamedRequest } from "../named-request.ts";

/** How `POST /daemons/{id}/events` verifies the signature of a call without a key. */
export interface Webhook {
  /** Name of the variable with the secret. */
  secret_env: string;
  /** Name of the header with the signature. */
  header: string;
  algorithm: "hmac-sha256";
  /** Name of the header with the time, in Unix seconds; `null`: the signature covers only the body. */
  timestamp_header: string | null;
  /** By how many seconds that time may differ from the present. */
  tolerance_s: number;
}

export const DAEMON_STATUSES = ["running", "stopped", "failed"] as const;
export type DaemonStatus = (typeof DAEMON_STATUSES)[number];

export interface DaemonEvent {
  seq: number;
  /** RFC 3339. */
  enqueued_at: string;
  payload: Json;
}

/** Times are RFC 3339. */
export interface DaemonSummary {
  id: string;
  name: string | null;
  status: DaemonStatus;
  session_id: string;
  /** The skill that declares it; `null`: a request spawned it. */
  skill: string | null;
  /** A folder of the workspace; `null`: a run of an ordinary session. */
  persist_path: string | null;
  snapshot_path: string | null;
  run_id: string;
  /** Number of waiting events; `queued` also counts the one in flight. */
  pending_event_count: number;
  queued_event_count: number;
  event_queue_capacity: number;
  daemon_state: string;
  created_at: string;
  saved_at: string | null;
  next_wake_at: string | null;
  last_wake: { reason: WakeReason; at: string } | null;
  /** The limit of `wake_budget` that ended its last wake; `null`: none. */
  wake_budget_reached: WakeLimit | null;
  /** What will wake it once it is idle, the most urgent first. */
  pending_wakes: WakeReason[];
  inflight_event?: DaemonEvent;
  /** The error of its ended run, as a problem document. */
  error?: JsonObject;
  /** The result of its ended run, without the transcript. */
  result?: JsonObject;
}

/** Settings of a daemon besides its run's specification. */
export interface DaemonSettings {
  name: string | null;
  persist_path: string;
  capacity: number;
  webhook: Webhook | null;
  /** The skill that declares it, and the skill's version. */
  declared: { skill: string; version: string } | null;
}

/** By name: input and output. JSON-safe. */
export interface DaemonOperations {
  /** Creates the session and its daemon. @param exclusive no other daemon may have its path */
  spawn: {
    in: { spec: AgentSpec; settings: DaemonSettings; exclusive: boolean; request: NamedRequest };
    out: DaemonSummary;
  };
  /** The same for a daemon that a skill declares. A declaration of another version replaces the existing daemon. */
  declare: { in: { spec: AgentSpec; settings: DaemonSettings }; out: DaemonSummary };
  /** A skill no longer declares the daemon. */
  undeclare: { in: null; out: DaemonSummary };
  /** Waits for the daemon to become idle, as `spawn` does. */
  rested: { in: null; out: DaemonSummary };
  /** The summary with the snapshot. */
  daemon: { in: null; out: JsonObject };
  trigger: { in: { payload: Json; request: NamedRequest }; out: DaemonSummary };
  wake: { in: { request: NamedRequest }; out: DaemonSummary };
  /** @param request `null`: the caller never repeats it */
  stop: { in: { request: NamedRequest | null }; out: DaemonSummary };
  restart: { in: { run_id: string; request: NamedRequest }; out: DaemonSummary };
  /** Handles what is due. */
  poke: { in: null; out: DaemonSummary };
}
