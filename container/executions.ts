/** All executions by id, and the requests that were cancelled. */
import type { ServerResponse } from "node:http";
import type { EndedStatus, ExecutionSpec, Refusal } from "../src/tool/protocol.ts";
import { attach } from "./attachment.ts";
import { Execution, type RunnerServices } from "./execution.ts";
import { log } from "./log.ts";
import { Refused } from "./refusal.ts";

/** How long, and how many, cancelled requests are kept in memory. */
const CANCELLED_MS = 600_000;
const CANCELLED_MOST = 100_000;

export class Executions {
  /** Number of ended executions by cause, for the metrics. */
  readonly endings = new Map<EndedStatus["cause"], number>();
  /** Number of executions that were never admitted, by the code of the refusal, for the metrics. */
  readonly refusals = new Map<Refusal["code"], number>();
  readonly #services: RunnerServices;
  readonly #live = new Map<string, Execution>();
  /** Cancelled request ids with the time of their cancelling, oldest first. */
  readonly #cancelled = new Map<string, number>();
  #onIdle: (() => void) | null = null;

  constructor(services: RunnerServices) {
    this.#services = services;
  }

  /**
   * Registers a new execution.
   * @throws Refused 424 `bundle_missing`, `workspace_missing`
   */
  create(spec: ExecutionSpec, specDigest: string): Execution {
    const dir = this.#services.bundles.useSkill(spec.digest);
    if (dir === null) throw new Refused("bundle_missing", "The runner lacks the files of this skill.");
    const { workspace: wanted } = spec;
    const workspace = wanted === undefined ? null : this.#services.workspaces.use(wanted.id, wanted.version);
    if (wanted !== undefined && workspace === null) {
      this.#services.bundles.release(spec.digest);
      throw new Refused(
        "workspace_missing",
        "The runner lacks the files of this session, or has another version of them.",
      );
    }
    const folders = { bundle: dir, workspace };
    try {
      if (spec.skills !== undefined) this.#services.skillFolders.use(spec.skills);
    } catch (error) {
      this.#services.bundles.release(spec.digest);
      if (workspace !== null) this.#services.workspaces.release(workspace);
      throw error;
    }
    const execution = new Execution(spec, specDigest, folders, this.#services, (cause, durationMs) => {
      this.#remove(execution);
      this.endings.set(cause, (this.endings.get(cause) ?? 0) + 1);
      const { id, request_id, skill } = spec;
      log("info", "execution_ended", { id, request_id, skill, cause, duration_ms: Math.round(durationMs) });
    });
    this.#live.set(spec.id, execution);
    return execution;
  }

  /**
   * Resolves when no cancelled execution uses a session's folder any more. One that began earlier would see its changes,
   * and report them as its own.
   */
  async vacated(workspace: string): Promise<void> {
    const leaving = [...this.#live.values()].flatMap(({ spec, leaving }) =>
      spec.workspace?.id === workspace && leaving !== null ? [leaving] : [],
    );
    if (leaving.length === 0) return;
    await Promise.all(leaving);
    await this.vacated(workspace);
  }

  /** Ends an execution that was never admitted. */
  refuse(execution: Execution, reason: unknown): void {
    this.#remove(execution);
    const { id, request_id, skill } = execution.spec;
    const code = reason instanceof Refused ? reason.refusal.code : "internal";
    this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1);
    log("warn", "execution_refused", { id, request_id, skill, code });
    execution.refuse(reason);
  }

  /** The spec digest of an id; undefined if the id is unknown. */
  specDigestOf(id: string): string | undefined {
    return this.#live.get(id)?.specDigest ?? this.#services.journal.find(id)?.spec;
  }

  /**
   * Waits until a known execution is admitted. `true`: its client left the queue instead, so another one, which has the
   * input too, may begin it.
   * @throws Refused the queue's refusal
   */
  async wasLeft(id: string): Promise<boolean> {
    const live = this.#live.get(id);
    try {
      await live?.admitted;
      return false;
    } catch (error) {
      if (live?.left === true) return true;
      throw error;
    }
  }

  /**
   * Attaches a response to a known execution, live or in the journal.
   * @throws Refused 404 `execution_not_found`, 502 `execution_lost`, or the queue's refusal
   */
  async attach(id: string, response: ServerResponse, seq: number): Promise<void> {
    const live = this.#live.get(id);
    if (live !== undefined) {
      await live.admitted;
      return live.attach(response, seq);
    }
    if (this.#services.journal.find(id)?.state === "lost") {
      throw new Refused(
        "execution_lost",
        "The runner ended before this execution did. It was not run again.",
      );
    }
    const frames = await this.#services.journal.replay(id);
    if (frames === null) throw new Refused("execution_not_found", "There is no such execution.");
    try {
      attach(frames, response, await frames.offsetOf(seq), () => {});
    } finally {
      frames.release();
    }
  }

  /**
   * Passes a message to an execution that is an MCP server.
   * @throws Refused 404 `execution_not_found` if it does not run
   */
  message(id: string, text: string, response: ServerResponse): void {
    const live = this.#live.get(id);
    if (live === undefined) throw new Refused("execution_not_found", "There is no such MCP server.");
    live.message(text, response);
  }

  /**
   * Cancels one execution; an ended one stays unchanged.
   * @throws Refused 404 `execution_not_found`
   */
  cancel(id: string): void {
    const execution = this.#live.get(id);
    if (execution !== undefined) this.#stop(execution);
    else if (this.#services.journal.find(id) === undefined) {
      throw new Refused("execution_not_found", "There is no such execution.");
    }
  }

  /** Cancels every execution of a request, including future ones. */
  cancelRequest(requestId: string): void {
    const now = Date.now();
    for (const [id, at] of this.#cancelled) {
      if (now - at < CANCELLED_MS && this.#cancelled.size < CANCELLED_MOST) break;
      this.#cancelled.delete(id);
    }
    this.#cancelled.set(requestId, now);
    for (const execution of this.#live.values()) {
      if (execution.spec.request_id === requestId) this.#stop(execution);
    }
  }

  isCancelled(requestId: string): boolean {
    return this.#cancelled.has(requestId);
  }

  /** Ends all running executions. */
  stopAll(graceMs: number): void {
    for (const execution of this.#live.values()) execution.stop("cancelled", graceMs);
  }

  /** Sends SIGKILL to all executions, immediately. */
  killAll(): void {
    for (const execution of this.#live.values()) execution.killNow();
  }

  /** Resolves when no execution is left. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#onIdle = resolve;
      if (this.#live.size === 0) resolve();
    });
  }

  #stop(execution: Execution): void {
    execution.abandon?.(new Refused("client_closed_request", "The request was cancelled."));
    execution.stop("cancelled");
  }

  #remove(execution: Execution): void {
    if (this.#live.get(execution.spec.id) === execution) this.#live.delete(execution.spec.id);
    if (this.#live.size === 0) this.#onIdle?.();
  }
}
