/** One process group: start, streams, time limit, end (serving.md §6.2). */
import type { Writable } from "node:stream";
import type { Cgroup } from "./cgroup.ts";
import type { Launcher } from "./launcher.ts";
import { codeOf } from "./log.ts";
import type { Gate, Pipe, Pipes } from "./pipes.ts";

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
  /** See `Launch`; those of the streams are added. */
  rooms: readonly string[];
  environment: Record<string, string>;
  /** All of stdin, or `stream` for what is then written to `GroupProcess.stdin`; null for an empty one. */
  stdin: Uint8Array | "stream" | null;
  /** Its result comes by descriptor 3, and is read as stdout; what it writes to 1 and 2 is stderr. */
  resultApart: boolean;
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
  /** Whether the kernel killed one of its processes for the memory limit. */
  outOfMemory: boolean;
}

/** Needed of `Pipes` for one process with stdin and a gate. */
export const PIPES_PER_PROCESS = 4;

interface ProcessTools {
  launcher: Launcher;
  /** Must have `PIPES_PER_PROCESS` ready. */
  pipes: Pipes;
  /** Where the process is to be before it begins; null for the runner's own. */
  cgroup: Cgroup | null;
}

export class GroupProcess {
  readonly stdin: Writable | null;
  readonly #spec: ProcessSpec;
  readonly #launcher: Launcher;
  readonly #cgroup: Cgroup | null;
  readonly #outputs: [Pipe, Pipe];
  #pid: number | null = null;
  /** To be sent as soon as there is a group to send it to. */
  #early: NodeJS.Signals | null = null;
  #open = 2;
  #exit: { exitCode: number | null; signal: string | null } | null = null;
  #stopped: StopReason | null = null;
  #ended = false;
  #gone = false;
  #paused = false;
  #lastRead = 0;
  #timeout: NodeJS.Timeout | undefined;
  #escalation: NodeJS.Timeout | undefined;

  /** Starts the process. A failure to start is an outcome, not an exception. */
  constructor(spec: ProcessSpec, { launcher, pipes, cgroup }: ProcessTools) {
    this.#spec = spec;
    this.#launcher = launcher;
    this.#cgroup = cgroup;
    const input = spec.stdin === "stream" ? pipes.input() : null;
    const file = spec.stdin instanceof Uint8Array ? pipes.file(spec.stdin) : null;
    const gate = cgroup === null ? null : pipes.gate();
    this.stdin = input?.own ?? null;
    // The process may close its stdin whenever it likes.
    input?.own.on("error", () => {});
    this.#outputs = [pipes.output(), pipes.output()];
    const [stdout, stderr] = this.#outputs;
    this.#read(stdout, spec.onStdout);
    this.#read(stderr, spec.onStderr);
    this.#timeout = setTimeout(() => this.stop("timed_out"), spec.timeoutMs);
    /** The process has its streams, or never will. */
    const settled = (): void => {
      for (const pipe of [input, file, gate, stdout, stderr]) pipe?.unname();
    };
    const { argv0, args, cwd, environment, resultApart } = spec;
    const rooms = [...spec.rooms, pipes.dir];
    const paths = {
      stdin: input?.path ?? file?.path ?? null,
      stdout: resultApart ? stderr.path : stdout.path,
      stderr: stderr.path,
      result: resultApart ? stdout.path : null,
    };
    launcher.launch({
      ...{ file: spec.file, argv0, args, cwd, rooms, environment, ...paths, gate: gate?.path ?? null },
      onStarted: (pid) => {
        this.#pid = pid;
        if (this.#ended) this.#signal("SIGKILL");
        else if (this.#early !== null) this.#signal(this.#early);
        this.#admit(pid, gate);
        settled();
      },
      onFailed: (code) => {
        settled();
        this.#pid = null;
        this.#conclude({ exitCode: null, signal: null }, code);
      },
      onExit: (exitCode, signal) => {
        settled();
        this.#exited(exitCode, signal);
      },
      onLost: () => {
        settled();
        this.#stopped ??= "lost";
        this.#kill();
      },
    });
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
    for (const { own } of this.#outputs) own.pause();
  }

  resumeOutput(): void {
    this.#paused = false;
    for (const { own } of this.#outputs) own.resume();
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

  /** Puts the process into its cgroup, then lets it become its program. */
  #admit(pid: number, gate: Gate | null): void {
    if (this.#cgroup === null || gate === null) return;
    try {
      this.#cgroup.admit(pid);
      gate.open();
    } catch (error) {
      this.#conclude({ exitCode: null, signal: null }, codeOf(error) ?? "EIO");
    }
  }

  #read({ own }: Pipe, onChunk: (chunk: Uint8Array) => void): void {
    own.on("data", (chunk: Uint8Array) => {
      this.#lastRead = performance.now();
      if (!this.#ended) onChunk(chunk);
    });
    own.on("error", () => {});
    own.once("close", () => {
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
    void this.#launcher.killProcessesOf(new Set([this.#spec.executionId]));
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
    for (const { own } of this.#outputs) own.destroy();
    const outOfMemory = this.#cgroup !== null && this.#cgroup.oomKills() > 0;
    this.#spec.onEnd({ ...exit, stopped: this.#stopped, startError, outOfMemory });
  }

  /** Signals the group; `false` when it has no process any more, or none yet. */
  #signal(signal: NodeJS.Signals | 0): boolean {
    if (this.#pid !== null) return this.#launcher.signalGroup(this.#pid, signal);
    if (signal !== 0 && this.#early !== "SIGKILL") this.#early = signal;
    return false;
  }
}
