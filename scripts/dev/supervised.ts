/** A Node process that `hull dev` keeps running: its start, lines of its output, restarts after a crash, an orderly end. */

import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { CommandError, EXIT } from "../command.ts";
import { reasonOf } from "../system-error.ts";

interface SupervisedOptions {
  /** For messages. */
  name: "Worker" | "runner";
  /** For the message about a start that takes too long: what it did not do. */
  failure: string;
  /** Called before each start, since a restart may need other flags. */
  args: () => string[];
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** Written to its stdin at each start; stdin then stays open. */
  input?: string;
  /** Whether what it started ends with it, however it ends, before it starts again. */
  endsGroup?: true;
  /** The line of its stdout that says that it serves; the first group is where. */
  listening: RegExp;
  /** Called with every other line. */
  onLine: (line: string) => void;
  /** Called when it serves again after a crash. */
  onRestarted?: (() => void) | undefined;
}

/** How long the first start may take, in ms. */
const START_MS = 60_000;
const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 5000;
/** A process that ran this long before it died restarts without the accumulated wait. */
const STABLE_MS = 30_000;
const KILL_AFTER_MS = 8000;

export class Supervised {
  readonly #options: SupervisedOptions;
  readonly #listening = Promise.withResolvers<string>();
  readonly #recent: string[] = [];
  #child: ChildProcess | null = null;
  #crashed = false;
  #served = false;
  #stopping = false;
  #wait = FIRST_WAIT_MS;

  constructor(options: SupervisedOptions) {
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Starts it, and again after each crash. Returns where it serves.
   * @throws CommandError (exit 4) if it does not serve in time, or refuses its settings; it is stopped then
   */
  async start(): Promise<string> {
    const { failure } = this.#options;
    const timer = setTimeout(() => this.#fail(`${failure} within ${START_MS / 1000} s`), START_MS);
    this.#spawn();
    try {
      return await this.#listening.promise;
    } catch (error) {
      await this.stop();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #spawn(): void {
    const { name, args, env, cwd, input, endsGroup } = this.#options;
    const startedAt = Date.now();
    // The child's stdin is the tether: it closes when this process dies.
    const stdio: ["pipe", "pipe", "pipe"] = ["pipe", "pipe", "pipe"];
    const child = spawn(process.execPath, args(), { env, cwd, stdio, detached: true });
    this.#child = child;
    createInterface({ input: child.stdout }).on("line", (line) => this.#read(line));
    createInterface({ input: child.stderr }).on("line", (line) => this.#pass(line));
    child.stdin.on("error", () => {});
    if (input !== undefined) child.stdin.write(input);
    const part = name.toLowerCase();
    child.on("error", (error) => this.#pass(`${part} does not start: ${reasonOf(error)}.`));
    child.on("exit", (code, signal) => {
      if (this.#stopping) return;
      if (endsGroup) endGroup(child);
      if (code === EXIT.usage && !this.#served) {
        // The next start would end like this one. Its last lines say why, and may still be on their way.
        child.once("close", () => this.#fail("does not start with these settings"));
        return;
      }
      if (Date.now() - startedAt > STABLE_MS) this.#wait = FIRST_WAIT_MS;
      this.#crashed = true;
      this.#options.onLine(`${part} ended (${signal ?? `exit code ${code}`}); starting it again`);
      setTimeout(() => {
        if (!this.#stopping) this.#spawn();
      }, this.#wait);
      this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
    });
  }

  #read(line: string): void {
    const where = this.#options.listening.exec(line)?.[1];
    if (where === undefined) this.#pass(line);
    else {
      this.#served = true;
      this.#listening.resolve(where);
      if (this.#crashed) this.#options.onRestarted?.();
    }
  }

  #pass(line: string): void {
    keepRecent(this.#recent, line);
    this.#options.onLine(line);
  }

  /** @param what did not happen */
  #fail(what: string): void {
    this.#listening.reject(notStarted(this.#options.name, what, this.#recent));
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
  recent: readonly string[],
): CommandError =>
  new CommandError(
    EXIT.unreachable,
    `${part.toLowerCase()}_not_started`,
    [`The ${part} ${what}.`, ...recent].join("\n"),
    "Run `hull doctor`.",
  );
