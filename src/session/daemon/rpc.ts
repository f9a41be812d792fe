/** The messages between the Worker and a daemon's object. */
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { Json } from "../../skill/manifest.ts";
import type { Named, NamedRequest } from "../named-request.ts";
import type { DaemonSnapshot, DaemonSummary, DaemonWake } from "./answers.ts";

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
    in: { spec: AgentSpec; settings: DaemonSettings; exclusive: boolean } & Named;
    out: DaemonSummary;
  };
  /**
   * The same for a daemon that a skill declares. A declaration of another version replaces the existing daemon.
   * @param late the caller may know an earlier publish alone: a run that has just begun stays
   */
  declare: { in: { spec: AgentSpec; settings: DaemonSettings; late: boolean }; out: DaemonSummary };
  /** A skill no longer declares the daemon. */
  undeclare: { in: { late: boolean }; out: DaemonSummary };
  /** Waits for the daemon to become idle, as `spawn` does. */
  rested: { in: null; out: DaemonSummary };
  /** The summary with the snapshot. */
  daemon: { in: null; out: DaemonSnapshot };
  /** A page of its wakes, newest first. @param before cursor of the page, a number of a row of records */
  wakes: { in: { limit: number; before: number }; out: { data: DaemonWake[]; next: number | null } };
  trigger: { in: { payload: Json } & Named; out: DaemonSummary };
  wake: { in: Named; out: DaemonSummary };
  /** @param request `null`: the caller never repeats it */
  stop: { in: { request: NamedRequest | null }; out: DaemonSummary };
  /** @param failures how often the daemon has failed in a row, if Hull resumes it; absent: a person does */
  restart: { in: { run_id: string; failures?: number } & Named; out: DaemonSummary };
  /** Handles what is due. */
  poke: { in: null; out: DaemonSummary };
}
