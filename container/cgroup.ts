/**
 * Memory and process limits of each execution, by cgroup v2 (serving.md §6.2). Kernel documentation:
 * https://docs.kernel.org/admin-guide/cgroup-v2.html
 */
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { rmdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { log, reasonOf } from "./log.ts";

/** Null: no limit. */
export interface ResourceLimits {
  memoryBytes: number | null;
  maxProcesses: number | null;
}

/** Why limits cannot be kept here. */
export class NoCgroups extends Error {
  override name = "NoCgroups";
}

/** A cgroup goes away once its last process is reaped; asked this often, for this long. */
const REMOVE_POLL_MS = 20;
const REMOVE_TRIES = 100;

const EXECUTION_PREFIX = "hull-execution-";

export class Cgroups {
  readonly #dir: string;
  readonly #limits: ResourceLimits;
  #count = 0;

  private constructor(dir: string, limits: ResourceLimits) {
    this.#dir = dir;
    this.#limits = limits;
  }

  /**
   * Takes the runner's own cgroup over: its processes move into a child `hull-runner`, since a cgroup that limits
   * others may not hold processes itself. What an earlier runner left is ended. `root` is where cgroup v2 is mounted,
   * `self` the file that says which cgroup is the runner's.
   * @throws NoCgroups
   */
  static open(limits: ResourceLimits, root = "/sys/fs/cgroup", self = "/proc/self/cgroup"): Cgroups {
    const needed = [
      ...(limits.memoryBytes === null ? [] : ["memory"]),
      ...(limits.maxProcesses === null ? [] : ["pids"]),
    ];
    try {
      const own = /^0::(\/.*)$/m.exec(readFileSync(self, "utf8"))?.[1];
      if (own === undefined) throw new NoCgroups("this system has no cgroup v2");
      // The runner of an earlier start may have moved this process's parent already.
      const dir = join(root, own.replace(/\/hull-runner$/, ""));
      const there = words(join(dir, "cgroup.controllers"));
      const missing = needed.filter((name) => !there.includes(name));
      if (missing.length > 0) throw new NoCgroups(`cgroup v2 has no controller ${missing.join(", ")} here`);
      const leaf = join(dir, "hull-runner");
      mkdirSync(leaf, { recursive: true });
      for (const pid of words(join(dir, "cgroup.procs"))) writeFileSync(join(leaf, "cgroup.procs"), pid);
      writeFileSync(join(dir, "cgroup.subtree_control"), needed.map((name) => `+${name}`).join(" "));
      for (const name of readdirSync(dir)) {
        if (name.startsWith(EXECUTION_PREFIX)) void new Cgroup(join(dir, name)).remove();
      }
      return new Cgroups(dir, limits);
    } catch (error) {
      if (error instanceof NoCgroups) throw error;
      throw new NoCgroups(`the cgroup of the runner cannot be changed: ${reasonOf(error)}`);
    }
  }

  /** The cgroup of one execution, with its limits set. Throws the system's error. */
  create(): Cgroup {
    this.#count += 1;
    const dir = join(this.#dir, `${EXECUTION_PREFIX}${process.pid}-${this.#count}`);
    mkdirSync(dir);
    try {
      const set = (file: string, value: number): void => writeFileSync(join(dir, file), String(value));
      const { memoryBytes, maxProcesses } = this.#limits;
      if (memoryBytes !== null) {
        set("memory.max", memoryBytes);
        // One process too many ends them all: half an execution has no result.
        set("memory.oom.group", 1);
        try {
          set("memory.swap.max", 0);
        } catch {
          // A kernel without swap has no such file.
        }
      }
      if (maxProcesses !== null) set("pids.max", maxProcesses);
      return new Cgroup(dir);
    } catch (error) {
      rmdirSync(dir);
      throw error;
    }
  }
}

export class Cgroup {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Moves a process here. Throws the system's error. */
  admit(pid: number): void {
    writeFileSync(join(this.#dir, "cgroup.procs"), String(pid));
  }

  /** How many of its processes the kernel killed for memory. */
  oomKills(): number {
    try {
      return oomKillsIn(readFileSync(join(this.#dir, "memory.events"), "utf8"));
    } catch {
      return 0;
    }
  }

  /** Ends what is still in it, and removes it. */
  async remove(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await rmdir(this.#dir);
        return;
      } catch (error) {
        if (tries === REMOVE_TRIES) {
          log("error", "cgroup_not_removed", { reason: reasonOf(error) });
          return;
        }
      }
      try {
        writeFileSync(join(this.#dir, "cgroup.kill"), "1");
      } catch {
        // Kernels before 5.14: the sweep ends them.
      }
      await sleep(REMOVE_POLL_MS);
    }
  }
}

/** The count `oom_kill` of a `memory.events` file. */
export function oomKillsIn(events: string): number {
  return Number(/^oom_kill (\d+)$/m.exec(events)?.[1] ?? 0);
}

function words(path: string): string[] {
  return readFileSync(path, "utf8").split(/\s+/).filter(Boolean);
}
