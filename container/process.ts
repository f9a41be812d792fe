/** One process group: start, streams, time limit, end. */
import type { Writable } from "node:stream";
import type { Cgroup } from "./cgroup.ts";
import type { Launch, Launched, Launcher } from "./launcher.ts";
import { codeOf } from "./log.ts";
import type { ExecutionPipes, Gate, Pipe, Pipes } from "./pipes.ts";

/** How long the streams may stay open after the leader ended. */
const PIPES_MS = 250;
/** How long the streams may stay open after SIGKILL to all processes: while bytes still arrive, and without any. */
const KILLED_MS = 150;
const SILENT_MS = 25;
/** The longest wait until no process is left: the system may hold a process in spite of SIGKILL. */
const GONE_LIMIT_MS = 2000;

/** Why the runner itself ended a process. */
export type StopReason = "timed_out" | "cancelled" | "output_too_large" | "lost";

/** `allowedPaths` without those of the streams. */
interface ProcessSpec
  extends Pick<Launch, "file" | "argv0" | "args" | "cwd" | "allowedPaths" | "skills" | "environment"> {
  /** All of stdin, or `stream` if the caller writes it to `GroupProcess.stdin`; null for an empty one. */
  stdin: Uint8Array | "stream" | null;
  /** The process sends its result through descriptor 3, which is read as stdout; what it writes to 1 and 2 is stderr. */
  separateResultFd: boolean;
  timeoutMs: number;
  graceMs: number;
  onStdout(chunk: Uint8Array): void;
  onStderr(chunk: Uint8Array): void;
  /** Called once, after the last chunk, when the remaining processes are already being ended. */
  onEnd(outcome: ProcessOutcome): void;
}

export interface ProcessOutcome {
  exitCode: number | null;
  signal: string | null;
  stopped: StopReason | null;
  /** The system's error code if the process could not start. */
  startError: string | null;
  /** Whether the kernel killed one of the processes because of the memory limit. */
  outOfMemory: boolean;
}

interface ProcessTools {
  launcher: Launcher;
  /** Must be ready. */
  pipes: Pipes;
  /** The cgroup that the process enters before it begins; null: the runner's own. */
  cgroup: Cgroup | null;
}

export class GroupProcess {
  readonly #spec: ProcessSpec;
  readonly #cgroup: Cgroup | null;
  #stdin: Writable | null = null;
  readonly #outputs: Pipe[] = [];
  /** Null: the runner itself could not start it. */
  #launched: Launched | null = null;
  #started = false;
  /** Send SIGTERM as soon as there is a group to send it to. */
  #early = false;
  #open = 2;
  #exit: { exitCode: number | null; signal: string | null } | null = null;
  #stopped: StopReason | null = null;
  #ended = false;
  /** Whether the processes were asked to end. */
  #ending = false;
  #isGone = false;
  readonly #whenGone = Promise.withResolvers<boolean>();
  #goneLimit: NodeJS.Timeout | undefined;
  #paused = false;
  #lastRead = 0;
  #timeout: NodeJS.Timeout | undefined;
  #escalation: NodeJS.Timeout | undefined;

  /** Starts the process. A failure to start is an outcome, not an exception. */
  constructor(spec: ProcessSpec, { launcher, pipes, cgroup }: ProcessTools) {
    this.#spec = spec;
    this.#cgroup = cgroup;
    this.#timeout = setTimeout(() => this.stop("timed_out"), spec.timeoutMs);
    const own = pipes.take(spec.stdin === "stream" || cgroup !== null);
    try {
      this.#launched = this.#launch(own, launcher);
    } catch (error) {
      // The disk is full, or the runner has no descriptors left.
      own.drop();
      setImmediate(() => this.#failed(codeOf(error) ?? "EIO"));
    }
  }

  #launch(own: ExecutionPipes, launcher: Launcher): Launched {
    const spec = this.#spec;
    const input = spec.stdin === "stream" ? own.input() : null;
    this.#stdin = input?.own ?? null;
    // The process may close its stdin at any time.
    input?.own.on("error", () => {});
    const file = spec.stdin instanceof Uint8Array ? own.file("input", spec.stdin) : null;
    const gate = this.#cgroup === null ? null : own.gate();
    const stdout = this.#output(own, "stdout", spec.onStdout);
    const stderr = this.#output(own, "stderr", spec.onStderr);
    const { argv0, args, cwd, skills, environment, separateResultFd } = spec;
    const allowedPaths = [...spec.allowedPaths, own.dir];
    const paths = {
      stdin: input?.path ?? file,
      stdout: separateResultFd ? stderr : stdout,
      stderr,
      result: separateResultFd ? stdout : null,
    };
    return launcher.launch({
      file: spec.file,
      argv0,
      args,
      cwd,
      allowedPaths,
      skills,
      environment,
      ...paths,
      gate: gate?.path ?? null,
      callFile: (bytes) => own.file("call", bytes),
      onStarted: (pid) => {
        this.#started = true;
        if (this.#early) this.#launched?.signal("SIGTERM");
        this.#admit(pid, gate);
        own.drop();
      },
      onFailed: (code) => {
        own.drop();
        this.#failed(code);
      },
      onExit: (exitCode, signal) => {
        own.drop();
        this.#exited(exitCode, signal);
      },
      onLost: () => {
        own.drop();
        this.#stopped ??= "lost";
        this.#ending = true;
        this.#settleGone(false);
        this.#kill();
      },
      onGone: (certain) => this.#settleGone(certain),
    });
  }

  /** A pipe for the whole stdin; null: there is none. */
  get stdin(): Writable | null {
    return this.#stdin;
  }

  /**
   * Resolves after the end, when none of the processes is left anywhere. `false`: that is not certain.
   */
  get gone(): Promise<boolean> {
    return this.#whenGone.promise;
  }

  /**
   * Ends the group: SIGTERM, then SIGKILL after the grace period; for too much output SIGKILL immediately. The first
   * reason stays.
   */
  stop(reason: StopReason, graceMs = this.#spec.graceMs): void {
    if (this.#ended || this.#stopped !== null) return;
    this.#stopped = reason;
    if (this.#exit !== null) return;
    clearTimeout(this.#timeout);
    if (reason === "output_too_large" || reason === "lost") {
      this.#kill();
      return;
    }
    if (this.#started) this.#launched?.signal("SIGTERM");
    else this.#early = true;
    this.#escalation = setTimeout(() => this.#kill(), graceMs);
  }

  /** Begins the time limit anew. */
  extend(): void {
    if (!this.#ended && this.#stopped === null && this.#exit === null) this.#timeout?.refresh();
  }

  /** Slows the process down by no longer reading its streams. */
  pauseOutput(): void {
    this.#paused = true;
    for (const { own } of this.#outputs) own.pause();
  }

  resumeOutput(): void {
    this.#paused = false;
    for (const { own } of this.#outputs) own.resume();
  }

  /** Sends SIGKILL to the whole group and does not wait. */
  killNow(): void {
    if (this.#ending || this.#isGone) return;
    this.#ending = true;
    this.#goneLimit = setTimeout(() => this.#settleGone(false), GONE_LIMIT_MS);
    this.#launched?.end();
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

  /** Reads what the process writes to this pipe; returns its path. */
  #output(pipes: ExecutionPipes, name: "stdout" | "stderr", onChunk: (chunk: Uint8Array) => void): string {
    const pipe = pipes.output(name);
    this.#outputs.push(pipe);
    const { path, own } = pipe;
    own.on("data", (chunk: Uint8Array) => {
      this.#lastRead = performance.now();
      if (!this.#ended) onChunk(chunk);
    });
    own.on("error", () => {});
    own.once("close", () => {
      this.#open -= 1;
      if (this.#open === 0 && this.#exit !== null) this.#conclude(this.#exit, null);
    });
    return path;
  }

  #failed(code: string): void {
    this.#ending = true;
    this.#settleGone(false);
    this.#conclude({ exitCode: null, signal: null }, code);
  }

  #exited(exitCode: number | null, signal: string | null): void {
    this.#exit = { exitCode, signal };
    clearTimeout(this.#timeout);
    if (this.#open === 0) this.#conclude(this.#exit, null);
    else if (!this.#ended) setTimeout(() => this.#kill(), PIPES_MS);
  }

  /** Ends all processes. Then the streams end, and the outcome follows. */
  #kill(): void {
    if (this.#ended) return;
    clearTimeout(this.#escalation);
    this.killNow();
    const since = performance.now();
    // Bytes written before the end still arrive. After it, only a process that cannot be reached keeps a stream open.
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
    this.killNow();
    this.#stdin?.destroy();
    for (const { own } of this.#outputs) own.destroy();
    const outOfMemory = this.#cgroup !== null && this.#cgroup.oomKills() > 0;
    this.#spec.onEnd({ ...exit, stopped: this.#stopped, startError, outOfMemory });
  }

  #settleGone(certain: boolean): void {
    this.#isGone = true;
    clearTimeout(this.#goneLimit);
    this.#whenGone.resolve(certain);
  }
}
