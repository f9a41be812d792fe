/** The life of one execution: queued, receiving its input, running, ended. */
import type { ServerResponse } from "node:http";
import type { Readable, Writable } from "node:stream";
import { bytesWithin, concat } from "../src/bytes.ts";
import {
  DEPENDENCIES_FAULT,
  type EndedStatus,
  type ExecutionSpec,
  FRAME,
  type FrameType,
  MAX_FRAME_BYTES,
  type StatusFrame,
} from "../src/tool/protocol.ts";
import { attach } from "./attachment.ts";
import type { Bundles } from "./bundles.ts";
import type { Cgroup, Cgroups } from "./cgroup.ts";
import type { Commands } from "./commands.ts";
import { DependenciesFailed } from "./dependencies.ts";
import type { Environment } from "./environment.ts";
import type { FinalCwd } from "./final-cwd.ts";
import type { FrameLog } from "./frame-log.ts";
import type { Handlers } from "./handlers.ts";
import type { Journal } from "./journal.ts";
import type { Launcher } from "./launcher.ts";
import { codeOf, log, reasonOf } from "./log.ts";
import { McpBridge } from "./mcp-bridge.ts";
import { sendOutputs } from "./outputs.ts";
import type { Pipes } from "./pipes.ts";
import { GroupProcess, type ProcessOutcome, type StopReason } from "./process.ts";
import { commandProgram, type ProcessFolders, type Program } from "./program.ts";
import type { Slot } from "./queue.ts";
import { Refused } from "./refusal.ts";
import type { Scratch, ScratchRoot } from "./scratch.ts";
import type { SkillFolders } from "./skill-folders.ts";
import { StderrTail } from "./stderr-tail.ts";
import type { Workspace } from "./workspace.ts";
import type { Workspaces } from "./workspaces.ts";

/** An execution that loses its reader without a cancel ends after this long, unless a reader returns. */
const REATTACH_MS = 10_000;

/** What executions share. */
export interface RunnerServices {
  bundles: Bundles;
  commands: Commands;
  handlers: Handlers;
  inherited: Environment;
  journal: Journal;
  launcher: Launcher;
  /** Limits the memory and processes of an execution; null: there are no limits. */
  cgroups: Cgroups | null;
  pipes: Pipes;
  scratch: ScratchRoot;
  skillFolders: SkillFolders;
  workspaces: Workspaces;
}

/** Bundles that are already marked as in use; the execution releases them. */
interface Folders {
  bundle: string;
  workspace: Workspace | null;
}

export interface Input {
  /** First uploaded file, for `input.mode: file`. */
  file: string | null;
  /** The part of stdin that has arrived; if there is more, the rest follows. */
  stdin: { head: Uint8Array; rest: Readable | null } | null;
}

/** Longer arguments of a handler are refused. */
const MAX_ARGUMENTS_BYTES = 16 * 1024 * 1024;

type Ending = Pick<EndedStatus, "cause" | "exit_code" | "signal" | "reason">;

export class Execution {
  readonly spec: ExecutionSpec;
  readonly specDigest: string;
  /** Resolves when the queue admits the execution; rejects with the queue's refusal. */
  readonly admitted: Promise<void>;
  /** The execution's folder, made at admission; the input files are written into it. */
  scratch: Scratch | null = null;
  /** Leaves the queue; set only while the execution waits in it. */
  abandon: ((reason: Refused) => void) | null = null;
  /** Whether its client has gone while it waited in the queue. */
  left = false;
  readonly #services: RunnerServices;
  readonly #folders: Folders;
  readonly #onEnded: (cause: EndedStatus["cause"], durationMs: number) => void;
  readonly #log: FrameLog;
  readonly #stderr: StderrTail;
  /** Passes messages to and from the MCP server that the process is; `null`: it is none. */
  readonly #bridge: McpBridge | null;
  readonly #admission = Promise.withResolvers<void>();
  #slot: Slot | null = null;
  #process: GroupProcess | null = null;
  #cgroup: Cgroup | null = null;
  /** Digests of the bundles with the packages that the execution uses. */
  readonly #packages: string[] = [];
  /** Reads the folder in which a command ended. */
  #finalCwd: FinalCwd | null = null;
  #stopReason: StopReason | null = null;
  #ending = false;
  #ended = false;
  #startedAt = 0;
  #stdoutBytes = 0;
  #isCancelled = false;
  readonly #left = Promise.withResolvers<void>();
  #readers = 0;
  #orphaned: NodeJS.Timeout | undefined;
  #receiving: NodeJS.Timeout | undefined;

  constructor(
    spec: ExecutionSpec,
    specDigest: string,
    folders: Folders,
    services: RunnerServices,
    onEnded: (cause: EndedStatus["cause"], durationMs: number) => void,
  ) {
    this.spec = spec;
    this.specDigest = specDigest;
    this.admitted = this.#admission.promise;
    this.admitted.catch(() => {});
    this.#folders = folders;
    this.#services = services;
    this.#onEnded = onEnded;
    this.#log = services.journal.newFrames();
    this.#log.onDrained = () => this.#process?.resumeOutput();
    this.#log.onFailure = (error) => {
      log("error", "journal_write_failed", { id: spec.id, reason: reasonOf(error) });
      this.stop("lost");
    };
    const shown = spec.handler !== undefined || spec.server === true;
    this.#stderr = new StderrTail((bytes) => this.#append(FRAME.stderr, bytes), shown);
    const note = (text: string): void => this.#stderr.push(Buffer.from(text));
    this.#bridge = spec.server === true ? new McpBridge(note) : null;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Resolves when a cancelled execution has left its folders; `null`: it was not cancelled, or has left them. */
  get leaving(): Promise<void> | null {
    return this.#isCancelled && !this.#ended ? this.#left.promise : null;
  }

  /** Takes a slot in the queue. The input may take as long to arrive as the process may run. */
  admit(slot: Slot): void {
    this.#slot = slot;
    this.abandon = null;
    this.scratch = this.#services.scratch.create();
    this.#receiving = setTimeout(() => this.stop("cancelled"), this.spec.timeout_ms);
    this.#status({ kind: "started", queue_ms: slot.queueMs });
    this.#admission.resolve();
  }

  /** Ends the execution before its answer began, so the journal stores nothing. */
  refuse(reason: unknown): void {
    this.#ended = true;
    this.#slot?.release();
    this.#releaseFolders();
    this.#log.release();
    this.#admission.reject(reason);
  }

  /** Sends the frames from number `seq` on to a response, including future ones. */
  async attach(response: ServerResponse, seq: number): Promise<void> {
    this.#readers += 1;
    clearTimeout(this.#orphaned);
    // The execution may end while its frames are being read, and must not close their file then.
    this.#log.retain();
    try {
      const offset = seq === 0 ? 0 : await this.#log.offsetOf(seq);
      attach(this.#log, response, offset, (early) => {
        this.#readers -= 1;
        if (!early || this.#readers > 0 || this.#ended || this.spec.detach) return;
        this.#orphaned = setTimeout(() => this.stop("cancelled"), REATTACH_MS);
      });
    } finally {
      this.#log.release();
    }
  }

  /** Starts the process. Every failure becomes the outcome. */
  async start(input: Input): Promise<void> {
    const { journal, pipes } = this.#services;
    if (this.scratch === null) return;
    const found = this.#program({ ...this.#folders, scratch: this.scratch, inputFile: input.file }, input);
    const program = found instanceof Promise ? await found : found;
    try {
      while (!pipes.ready) await pipes.more();
      clearTimeout(this.#receiving);
      if (program === null || this.#ending) {
        input.stdin?.rest?.resume();
        this.#cannotStart({ cause: "command_not_found" });
        return;
      }
      this.#startedAt = performance.now();
      this.#cgroup = this.#services.cgroups?.create(this.spec.limits.memory_bytes) ?? null;
      journal.started(this.spec.id, this.specDigest);
    } catch (error) {
      input.stdin?.rest?.resume();
      this.#cannotStart({ cause: "spawn_failed", reason: codeOf(error) ?? "EIO" });
      return;
    }
    const { launcher, stdin, finalCwd: _, ...start } = program;
    const came = input.stdin?.rest === null ? input.stdin.head : input.stdin === null ? null : "stream";
    const bridged = this.#bridge === null ? came : "stream";
    this.#process = new GroupProcess(
      {
        ...start,
        stdin: stdin ?? bridged,
        timeoutMs: this.spec.timeout_ms,
        graceMs: this.spec.grace_ms,
        onStdout: (chunk) => this.#stdout(chunk),
        onStderr: (chunk) => this.#stderr.push(chunk),
        onEnd: (outcome) => this.#processEnded(outcome),
      },
      { launcher, pipes, cgroup: this.#cgroup },
    );
    if (stdin === null && input.stdin?.rest)
      this.#pipeIn(input.stdin.head, input.stdin.rest, this.#process.stdin);
    this.#bridge?.connect(this.#process.stdin);
  }

  /**
   * Passes a message to the MCP server that the process is.
   * @throws Refused 404 `execution_not_found` if it is none, or has ended
   */
  message(text: string, response: ServerResponse): void {
    if (this.#bridge === null || this.#ending)
      throw new Refused("execution_not_found", "There is no such MCP server.");
    this.#process?.extend();
    this.#bridge.take(text, response);
  }

  #program(folders: ProcessFolders, input: Input): Program | null | Promise<Program | null> {
    const { handler, server } = this.spec;
    const { handlers } = this.#services;
    if (server === true) return this.#installed((used) => handlers.server(this.spec, folders, used));
    if (handler === undefined) return commandProgram(this.#services, this.spec, folders);
    return this.#handlerProgram(handler, folders, input);
  }

  async #handlerProgram(
    handler: NonNullable<ExecutionSpec["handler"]>,
    folders: ProcessFolders,
    input: Input,
  ): Promise<Program | null> {
    const all = await wholeOf(input);
    clearTimeout(this.#receiving);
    return this.#installed(async (used) => {
      const { skills, request_id } = this.spec;
      const folder =
        skills === undefined ? null : await this.#services.skillFolders.ready(skills, request_id);
      const places = { ...folders, skills: folder };
      const program = await this.#services.handlers.program({
        spec: this.spec,
        handler,
        folders: places,
        input: all,
        used,
      });
      this.#finalCwd = program?.finalCwd ?? null;
      return program;
    });
  }

  /**
   * A program whose packages are installed first, under a separate time limit. If that fails, the installer's message
   * becomes stderr.
   */
  async #installed(
    program: (used: (packages: string) => void) => Promise<Program | null>,
  ): Promise<Program | null> {
    try {
      return await program((packages) => {
        this.#packages.push(packages);
        if (this.#ended) this.#releasePackages();
      });
    } catch (error) {
      if (!(error instanceof DependenciesFailed)) throw error;
      this.#stderr.push(Buffer.from(error.message));
      this.#cannotStart({ cause: "spawn_failed", reason: DEPENDENCIES_FAULT });
      return null;
    }
  }

  #cannotStart(ending: Pick<Ending, "cause" | "reason">): void {
    this.#services.commands.forget(this.spec.argv[0] ?? "");
    void this.#end({ ...ending, exit_code: null, signal: null });
  }

  #pipeIn(head: Uint8Array, rest: Readable, stdin: Writable | null): void {
    // Even if a process closes its stdin early, the body is read to its end.
    if (stdin === null || stdin.destroyed) {
      rest.resume();
      return;
    }
    stdin.once("close", () => rest.resume());
    // If the client breaks off, the process gets no end of file, since it must not mistake the shortened input for the
    // whole.
    rest.once("error", () => this.stop("cancelled"));
    stdin.write(head);
    rest.pipe(stdin);
  }

  /** Ends the execution for this reason, in any state. `graceMs` overrides the spec's. */
  stop(reason: StopReason, graceMs?: number): void {
    if (this.#ended) return;
    this.#isCancelled ||= reason === "cancelled";
    if (this.#process !== null) this.#process.stop(reason, graceMs);
    else if (this.#slot !== null) void this.#end({ cause: reason, exit_code: null, signal: null });
  }

  /** Sends SIGKILL and does not wait; for a sudden end of the runner. */
  killNow(): void {
    this.#process?.killNow();
  }

  #append(type: FrameType, bytes: Uint8Array): boolean {
    let ready = true;
    for (let at = 0; at < bytes.length; at += MAX_FRAME_BYTES) {
      ready = this.#log.append(type, bytes.subarray(at, at + MAX_FRAME_BYTES));
    }
    if (!ready) this.#process?.pauseOutput();
    return ready;
  }

  #status(status: StatusFrame): void {
    this.#append(FRAME.status, Buffer.from(JSON.stringify(status)));
  }

  #stdout(chunk: Uint8Array): void {
    if (this.#bridge !== null) {
      this.#process?.extend();
      if (!this.#bridge.push(chunk)) this.#tooLarge();
      return;
    }
    const room = this.spec.limits.max_output_bytes - this.#stdoutBytes;
    this.#stdoutBytes += chunk.length;
    if (room > 0) this.#append(FRAME.stdout, chunk.length > room ? chunk.subarray(0, room) : chunk);
    if (chunk.length > room) this.#tooLarge();
  }

  #tooLarge(): void {
    this.#stopReason = "output_too_large";
    this.#process?.stop("output_too_large");
  }

  #processEnded({ exitCode, signal, stopped, startError, outOfMemory }: ProcessOutcome): void {
    const exit = { exit_code: exitCode, signal };
    const reason = this.#stopReason ?? stopped;
    if (startError === "ENOENT" || startError === "ENOTDIR") {
      this.#services.commands.forget(this.spec.argv[0] ?? "");
      void this.#end({ cause: "command_not_found", ...exit });
    } else if (startError !== null) void this.#end({ cause: "spawn_failed", reason: startError, ...exit });
    else if (reason !== null) void this.#end({ cause: reason, ...exit });
    else if (outOfMemory) void this.#end({ cause: "out_of_memory", ...exit });
    else if (signal !== null) void this.#end({ cause: "signal", ...exit });
    else if (exitCode === 0 && this.spec.output === "file")
      void this.#endWithFiles({ cause: "exit", ...exit });
    else void this.#end({ cause: "exit", ...exit });
  }

  /**
   * Reports the changes of the session's files, however the process ended. Those of a cancelled process are undone
   * instead.
   */
  async #reportChanges(workspace: Workspace, ending: Ending): Promise<Ending> {
    if (this.#process === null) return ending;
    // From here on, the execution's processes change nothing more.
    await this.#process.gone;
    try {
      if (ending.cause !== "cancelled" && ending.cause !== "lost") {
        await workspace.report((type, payload) => this.#appendFile(type, payload));
        return ending;
      }
    } catch (error) {
      log("error", "workspace_unreadable", { id: this.spec.id, reason: reasonOf(error) });
    }
    workspace.spoil();
    return { ...ending, cause: ending.cause === "cancelled" ? "cancelled" : "lost" };
  }

  async #endWithFiles(ending: Ending): Promise<void> {
    let result = ending;
    try {
      await this.#process?.gone;
      if (this.scratch !== null) {
        const limit = this.spec.limits.max_output_bytes;
        await this.#services.launcher.openTree(this.scratch.dir);
        const excess = await sendOutputs(this.scratch.tree, limit, (type, payload) =>
          this.#appendFile(type, payload),
        );
        if (excess !== null) result = { ...ending, ...excess };
      }
    } catch (error) {
      log("error", "outputs_unreadable", { id: this.spec.id, reason: reasonOf(error) });
      result = { ...ending, cause: "lost" };
    }
    await this.#end(result);
  }

  #appendFile(type: FrameType, payload: Uint8Array): Promise<void> | undefined {
    return this.#log.append(type, payload) ? undefined : this.#log.settled();
  }

  /** Sends the last frame and releases everything. */
  async #end(wanted: Ending): Promise<void> {
    if (this.#ending) return;
    this.#ending = true;
    this.#bridge?.end();
    const { workspace } = this.#folders;
    const ending = workspace === null ? wanted : await this.#reportChanges(workspace, wanted);
    const cwd = (await this.#finalCwd?.read(workspace?.dir ?? null)) ?? null;
    this.#ended = true;
    clearTimeout(this.#receiving);
    clearTimeout(this.#orphaned);
    const { journal } = this.#services;
    const duration = this.#startedAt === 0 ? 0 : performance.now() - this.#startedAt;
    const stderr = this.#stderr.finish();
    this.#status({
      kind: "ended",
      ...ending,
      duration_ms: Math.round(duration),
      stdout_bytes: Math.min(this.#stdoutBytes, this.spec.limits.max_output_bytes),
      stderr_bytes: stderr.bytes,
      stderr_truncated: stderr.truncated,
      ...(cwd === null ? {} : { cwd }),
    });
    this.#log.finish();
    if (this.#process === null) this.#releasePlace(true);
    else void this.#process.gone.then((certain) => this.#releasePlace(certain));
    this.#releaseFolders();
    await this.#log.settled();
    journal.ended(this.spec.id, this.specDigest, this.#log);
    this.#onEnded(ending.cause, duration);
  }

  /** Releases what only the execution's processes use. @param gone whether certainly none of them is left */
  #releasePlace(gone: boolean): void {
    this.#slot?.release();
    void this.#cgroup?.remove();
    if (this.scratch !== null) this.#services.scratch.release(this.scratch, gone);
  }

  #releasePackages(): void {
    for (const digest of this.#packages.splice(0)) this.#services.bundles.release(digest);
  }

  #releaseFolders(): void {
    this.#services.bundles.release(this.spec.digest);
    this.#releasePackages();
    if (this.#folders.workspace !== null) this.#services.workspaces.release(this.#folders.workspace);
    if (this.spec.skills !== undefined) this.#services.skillFolders.release(this.spec.skills);
    this.#left.resolve();
  }
}

/** All of stdin. @throws Refused */
async function wholeOf({ stdin }: Input): Promise<Uint8Array> {
  if (stdin === null) return new Uint8Array();
  if (stdin.rest === null) return stdin.head;
  const rest = await bytesWithin(stdin.rest, MAX_ARGUMENTS_BYTES - stdin.head.length);
  if (rest === null) throw new Refused("bad_request", "The handler's arguments are too long.");
  return concat([stdin.head, rest]);
}
