/** One process group: start, streams, time limit, end (serving.md §6.2). */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import type { Socket } from "node:net";
import type { Writable } from "node:stream";
import { codeOf } from "./log.ts";
import type { Pipes } from "./pipes.ts";
import { killProcessesOf } from "./sweep.ts";

/** How long the streams may stay open after the leader ended. */
const PIPES_MS = 250;
/** How long they may after everybody who holds them was sent SIGKILL: while bytes still come, and without any. */
const KILLED_MS = 150;
const SILENT_MS = 25;
/** A killed group is asked about this often, and no longer than this in all. */
const GONE_POLL_MS = 5;
const GONE_LIMIT_MS = 2000;

/** Why the runner itself ended a process. */
export type StopReason = "timed_out" | "cancelled" | "output_too_large" | "lost";

export interface ProcessSpec {
  executionId: string;
  file: string;
  argv0: string;
  args: string[];
  cwd: string;
  environment: Record<string, string>;
  /** All of stdin, or `stream` for what is then written to `GroupProcess.stdin`; null for an empty one. */
  stdin: Uint8Array | "stream" | null;
  timeoutMs: number;
  graceMs: number;
  onStdout(chunk: Uint8Array): void;
  onStderr(chunk: Uint8Array): void;
  /** Called once, after the last chunk; the group has been sent SIGKILL by then. */
  onEnd(outcome: ProcessOutcome): void;
}

export interface ProcessOutcome {
  exitCode: number | null;
  signal: string | null;
  stopped: StopReason | null;
  /** The system's code when the process could not start. */
  startError: string | null;
}

/** Needed of `Pipes` for one process with stdin. */
export const PIPES_PER_PROCESS = 3;

export class GroupProcess {
  readonly stdin: Writable | null;
  readonly #spec: ProcessSpec;
  readonly #child: ChildProcess | null;
  readonly #outputs: Socket[];
  #open: number;
  #exit: { exitCode: number | null; signal: string | null } | null = null;
  #stopped: StopReason | null = null;
  #ended = false;
  #gone = false;
  #paused = false;
  #lastRead = 0;
  #timeout: NodeJS.Timeout | undefined;
  #escalation: NodeJS.Timeout | undefined;

  /** Starts the process. A failure to start is an outcome, not an exception. `pipes` must have three ready. */
  constructor(spec: ProcessSpec, pipes: Pipes) {
    this.#spec = spec;
    const stdin = spec.stdin === "stream" ? pipes.input() : null;
    const childStdin = stdin?.child ?? (spec.stdin instanceof Uint8Array ? pipes.file(spec.stdin) : null);
    const stdout = pipes.output();
    const stderr = pipes.output();
    this.stdin = stdin?.own ?? null;
    // The process may close its stdin whenever it likes.
    stdin?.own.on("error", () => {});
    this.#outputs = [stdout.own, stderr.own];
    this.#open = this.#outputs.length;
    this.#child = this.#start([childStdin ?? "ignore", stdout.child, stderr.child]);
    for (const fd of [childStdin, stdout.child, stderr.child]) if (fd !== null) closeSync(fd);
    if (this.#child === null) return;
    this.#read(stdout.own, spec.onStdout);
    this.#read(stderr.own, spec.onStderr);
    this.#timeout = setTimeout(() => this.stop("timed_out"), spec.timeoutMs);
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** Ends the group: SIGTERM, after the grace SIGKILL; too much output: SIGKILL at once. The first reason stays. */
  stop(reason: StopReason, graceMs = this.#spec.graceMs): void {
    if (this.#ended || this.#stopped !== null) return;
    this.#stopped = reason;
    if (this.#exit !== null) return;
    clearTimeout(this.#timeout);
    if (reason === "output_too_large" || reason === "lost") {
      this.#kill();
      return;
    }
    this.#signal("SIGTERM");
    this.#escalation = setTimeout(() => this.#kill(), graceMs);
  }

  /** Holds the process back by no longer reading its streams. */
  pauseOutput(): void {
    this.#paused = true;
    for (const output of this.#outputs) output.pause();
  }

  resumeOutput(): void {
    this.#paused = false;
    for (const output of this.#outputs) output.resume();
  }

  /** SIGKILL to the whole group, without waiting for anything; for the death of the runner. */
  killNow(): void {
    this.#signal("SIGKILL");
  }

  /** Calls back when no process of the group is left; at once, in the common case. */
  whenGone(done: () => void): void {
    const limit = performance.now() + GONE_LIMIT_MS;
    const look = (): void => {
      if (!this.#gone && this.#signal(0) && performance.now() < limit) setTimeout(look, GONE_POLL_MS);
      else done();
    };
    look();
  }

  #start(stdio: (number | "ignore")[]): ChildProcess | null {
    const { file, argv0, args, cwd, environment } = this.#spec;
    try {
      const child = spawn(file, args, {
        argv0,
        cwd,
        env: environment,
        detached: true,
        stdio,
      });
      child.once("error", (error) => {
        if (child.pid === undefined) this.#failToStart(error);
      });
      child.once("exit", (exitCode, signal) => this.#exited(exitCode, signal));
      return child;
    } catch (error) {
      setImmediate(() => this.#failToStart(error));
      return null;
    }
  }

  #failToStart(error: unknown): void {
    this.#conclude({ exitCode: null, signal: null }, codeOf(error) ?? "EINVAL");
  }

  #read(output: Socket, onChunk: (chunk: Uint8Array) => void): void {
    output.on("data", (chunk: Uint8Array) => {
      this.#lastRead = performance.now();
      if (!this.#ended) onChunk(chunk);
    });
    output.on("error", () => {});
    output.once("close", () => {
      this.#open -= 1;
      if (this.#open === 0 && this.#exit !== null) this.#conclude(this.#exit, null);
    });
  }

  #exited(exitCode: number | null, signal: string | null): void {
    this.#exit = { exitCode, signal };
    clearTimeout(this.#timeout);
    if (this.#open === 0) this.#conclude(this.#exit, null);
    else if (!this.#ended) setTimeout(() => this.#kill(), PIPES_MS);
  }

  /** Ends the group and whoever left it. The streams' ends follow, and with them the outcome. */
  #kill(): void {
    if (this.#ended) return;
    clearTimeout(this.#escalation);
    this.#signal("SIGKILL");
    killProcessesOf(new Set([this.#spec.executionId]));
    const since = performance.now();
    // Bytes written before the end still arrive; only a process out of reach keeps a stream open beyond that.
    const giveUp = (): void => {
      const now = performance.now();
      const waiting = this.#paused || now - this.#lastRead < SILENT_MS || now - since < KILLED_MS;
      if (this.#ended) return;
      if (waiting && (this.#paused || now - since < 10 * KILLED_MS)) setTimeout(giveUp, SILENT_MS);
      else this.#conclude(this.#exit ?? { exitCode: null, signal: "SIGKILL" }, null);
    };
    setTimeout(giveUp, SILENT_MS);
  }

  #conclude(exit: { exitCode: number | null; signal: string | null }, startError: string | null): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timeout);
    clearTimeout(this.#escalation);
    this.#gone = !this.#signal("SIGKILL");
    this.stdin?.destroy();
    for (const output of this.#outputs) output.destroy();
    this.#spec.onEnd({ ...exit, stopped: this.#stopped, startError });
  }

  /** Signals the group; `false` when it has no process any more. */
  #signal(signal: NodeJS.Signals | 0): boolean {
    const pid = this.#child?.pid;
    if (pid === undefined) return false;
    try {
      process.kill(-pid, signal);
      return true;
    } catch (error) {
      return codeOf(error) === "EPERM";
    }
  }
}
