/**
 * Finds processes by the execution id in their environment, in any session, group or parent, unless they removed it. It
 * is used without spawners, or after a spawner was lost. It reads `/proc`; without it (macOS), only process groups are
 * ended.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { log } from "./log.ts";

const MARK = Buffer.from("HULL_EXECUTION_ID=");
/** The shortest interval of background sweeps. */
const INTERVAL_MS = 200;
/** A process that forks during the search is found in the next pass. */
const MAX_PASSES = 10;

const available = existsSync("/proc/self/environ");

/** Ends every process of these executions with SIGKILL; returns their number. */
export function killProcessesOf(ids: ReadonlySet<string>): number {
  let killed = 0;
  if (!available) return killed;
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const found = processesOf(ids);
    for (const pid of found) {
      try {
        process.kill(pid, "SIGKILL");
        killed += 1;
      } catch {
        // The process has ended by itself meanwhile.
      }
    }
    if (found.length === 0) break;
  }
  return killed;
}

function processesOf(ids: ReadonlySet<string>): number[] {
  const found: number[] = [];
  for (const name of readdirSync("/proc")) {
    const first = name.charCodeAt(0);
    if (first < 49 || first > 57) continue;
    const id = executionOf(name);
    if (id !== null && ids.has(id)) found.push(Number(name));
  }
  return found;
}

/** The execution that a process belongs to. A dead (zombie) process, and one of another user, belong to none. */
function executionOf(pid: string): string | null {
  let environ: Buffer;
  try {
    environ = readFileSync(`/proc/${pid}/environ`);
  } catch {
    return null;
  }
  for (let at = environ.indexOf(MARK); at >= 0; at = environ.indexOf(MARK, at + 1)) {
    if (at > 0 && environ[at - 1] !== 0) continue;
    const end = environ.indexOf(0, at);
    return environ.toString("utf8", at + MARK.length, end < 0 ? environ.length : end);
  }
  return null;
}

/** Searches for what ended executions left behind, many executions in one pass, while no answer waits. */
export class Sweep {
  #recent = new Set<string>();
  /** Already searched once; a process between fork and exec may have been missed. */
  #again = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  add(id: string): void {
    if (!available) return;
    this.#recent.add(id);
    this.#schedule();
  }

  /** Sweeps now; for the end of the runner. */
  finish(): void {
    clearTimeout(this.#timer);
    this.#run();
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => this.#run(), INTERVAL_MS).unref();
  }

  #run(): void {
    this.#timer = undefined;
    const ids = new Set([...this.#recent, ...this.#again]);
    this.#again = this.#recent;
    this.#recent = new Set();
    if (ids.size === 0) return;
    const killed = killProcessesOf(ids);
    if (killed > 0) log("info", "leftover_processes_killed", { count: killed });
    if (this.#again.size > 0) this.#schedule();
  }
}
