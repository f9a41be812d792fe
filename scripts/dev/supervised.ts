/** A child process that `hull dev` keeps running: lines of its output, restarts after a crash, an orderly end. */

import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { CommandError, EXIT } from "../command.ts";
import { reasonOf } from "../system-error.ts";

interface SupervisedOptions {
  /** For messages. */
  name: string;
  command: string;
  /** Called before each start, since a restart may need other flags. */
  args: () => string[];
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** Written to its stdin at each start; stdin then stays open. */
  input?: string;
  onLine: (line: string, stream: "stdout" | "stderr") => void;
  /** Whether what it started ends with it, however it ends, before it starts again. */
  endsGroup?: true;
  /** Called before each restart. */
  onCrash: (code: number | null, signal: NodeJS.Signals | null) => void;
}

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 5000;
/** A process that ran this long before it died restarts without the accumulated wait. */
const STABLE_MS = 30_000;
const KILL_AFTER_MS = 8000;

export class Supervised {
  readonly #options: SupervisedOptions;
  #child: ChildProcess | null = null;
  #stopping = false;
  #wait = FIRST_WAIT_MS;

  constructor(options: SupervisedOptions) {
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  start(): void {
    const { command, args, env, cwd, input, onLine, endsGroup } = this.#options;
    const startedAt = Date.now();
    // The child's stdin is the tether: it closes when this process dies.
    const child = spawn(command, args(), { env, cwd, stdio: ["pipe", "pipe", "pipe"], detached: true });
    this.#child = child;
    for (const stream of ["stdout", "stderr"] as const) {
      createInterface({ input: child[stream] }).on("line", (line) => onLine(line, stream));
    }
    child.stdin.on("error", () => {});
    if (input !== undefined) child.stdin.write(input);
    child.on("error", (error) =>
      onLine(`${this.#options.name} does not start: ${reasonOf(error)}.`, "stderr"),
    );
    child.on("exit", (code, signal) => {
      if (this.#stopping) return;
      if (endsGroup) endGroup(child);
      if (Date.now() - startedAt > STABLE_MS) this.#wait = FIRST_WAIT_MS;
      this.#options.onCrash(code, signal);
      setTimeout(() => {
        if (!this.#stopping) this.start();
      }, this.#wait);
      this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
    });
  }

  /** Ends the process: SIGTERM, and SIGKILL to its group if that takes too long. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const child = this.#child;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await Promise.race([exited, sleep(KILL_AFTER_MS, undefined, { ref: false })]);
    endGroup(child);
  }
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group is gone already.
  }
}

/** Keeps the last lines, for the report of a start that fails. */
export function keepRecent(recent: string[], line: string): void {
  recent.push(line);
  if (recent.length > 40) recent.shift();
}

/** A start that fails (exit 4). @param what did not happen @param recent the last lines that the process printed */
export const notStarted = (
  part: "Worker" | "runner",
  what: string,
  limitMs: number,
  recent: readonly string[],
): CommandError =>
  new CommandError(
    EXIT.unreachable,
    `${part.toLowerCase()}_not_started`,
    [`The ${part} ${what} within ${limitMs / 1000} s.`, ...recent].join("\n"),
    "Run `hull doctor`.",
  );
