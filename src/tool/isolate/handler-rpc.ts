/** What Hull and the main module of a handler's isolate (`handler-harness.mjs`) say to each other. */
import type { NoteKind } from "../handler/call.ts";

/** The harness's input for each call, as JSON. Times in ms, sizes in UTF-16 units or bytes. */
export interface HarnessCall {
  /** Name of the handler's module, relative to the harness. */
  module: string;
  args: object;
  config: object;
  env: Record<string, string>;
  models: object;
  callId: string;
  sessionId: string | null;
  bot: string | null;
  /** Whether `ctx.python` exists. */
  python: boolean;
  timeout: number;
  /** Longest result. */
  most: number;
  /** Limit of all notes together. */
  mostStreamed: number;
  /** The most bytes of changed files. */
  mostChanged: number;
}

/** A file of the work folder; `path` is relative to it. */
export interface FolderFile {
  path: string;
  bytes: Uint8Array;
}

/**
 * Receives a handler's messages while it works: `emit` and `stderr` with text; `artifact` with JSON; `python` with
 * `{code, timeoutMs}` as JSON, answered with JSON; `cancelled`, answered with a text when the call is cancelled, else without
 * one when it is over.
 */
export type HostCallback = (kind: HostKind, text: string) => Promise<string>;
type HostKind = NoteKind | "stderr" | "python" | "cancelled";

/** The interface of the harness. Hull checks its answers, since they come from possibly hostile code. */
export interface HandlerRpc extends Rpc.WorkerEntrypointBranded {
  /** @param call JSON of a `HarnessCall` */
  run(call: string, files: FolderFile[], host: HostCallback): Promise<unknown>;
  /** Loads the module; returns why it cannot be called, or `null`. */
  check(module: string, timeout: number): Promise<string | null>;
}
