/**
 * Memory and process limits of each execution, by cgroup: version 2, or version 1 if its controllers exist.
 * https://docs.kernel.org/admin-guide/cgroup-v2.html, https://docs.kernel.org/admin-guide/cgroup-v1/memory.html
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { rmdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf, log, reasonOf } from "./log.ts";

/** Null: no limit. */
interface ResourceLimits {
  memoryBytes: number | null;
  maxProcesses: number | null;
}

/** Why limits cannot be enforced here. */
export class NoCgroups extends Error {
  override name = "NoCgroups";
}

/** A cgroup disappears once its last process is reaped. The runner checks at this interval, for this long. */
const REMOVE_POLL_MS = 20;
const REMOVE_TRIES = 100;

/** Files that state the machine's memory, by version. */
const OF_MEMORY = ["memory.max", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"];

const EXECUTION_PREFIX = "hull-execution-";

/**
 * A folder in which executions get cgroups, and the values to write into each cgroup. Version 1 has one folder for each
 * controller.
 */
interface Parent {
  dir: string;
  limits: [file: string, value: number][];
}

/** Files that kernels without swap do not have. */
const OF_SWAP = ["memory.swap.max", "memory.memsw.limit_in_bytes"];

export class Cgroups {
  /** The most memory of an execution; `null`: no limit. */
  readonly memoryBytes: number | null;
  readonly #parents: Parent[];
  #count = 0;

  private constructor(parents: Parent[], memoryBytes: number | null) {
    this.#parents = parents;
    this.memoryBytes = memoryBytes;
  }

  /**
   * Finds where the runner may limit processes, and ends what an earlier runner left there. `root` is the mount point
   * of cgroups, `self` the file that names the runner's.
   * @throws NoCgroups
   */
  static open(limits: ResourceLimits, root = "/sys/fs/cgroup", self = "/proc/self/cgroup"): Cgroups {
    try {
      const own = readFileSync(self, "utf8");
      const parents = unified(limits, root, own) ?? perController(limits, root, own);
      for (const { dir } of parents) {
        for (const name of readdirSync(dir).filter(isLeftover)) void new Cgroup([join(dir, name)]).remove();
        // Otherwise each execution would be refused, if this user may not change the cgroups of version 1.
        const probe = join(dir, `${EXECUTION_PREFIX}${process.pid}-0`);
        mkdirSync(probe);
        rmdirSync(probe);
      }
      return new Cgroups(parents, limits.memoryBytes);
    } catch (error) {
      if (error instanceof NoCgroups) throw error;
      throw new NoCgroups(`the cgroup of the runner cannot be changed: ${reasonOf(error)}`);
    }
  }

  /**
   * Makes the cgroup of one execution, with its limits. Throws the system's error.
   * @param memoryBytes the execution's own limit, if lower; has no effect where memory is not limited
   */
  create(memoryBytes = Number.POSITIVE_INFINITY): Cgroup {
    const most = Math.min(memoryBytes, this.memoryBytes ?? 0);
    this.#count += 1;
    const name = `${EXECUTION_PREFIX}${process.pid}-${this.#count}`;
    const made: string[] = [];
    try {
      for (const parent of this.#parents) {
        const dir = join(parent.dir, name);
        mkdirSync(dir);
        made.push(dir);
        for (const [file, value] of parent.limits) {
          const path = join(dir, file);
          if (OF_SWAP.includes(file) && !existsSync(path)) continue;
          writeFileSync(path, String(OF_MEMORY.includes(file) ? most : value));
        }
      }
      return new Cgroup(made);
    } catch (error) {
      for (const dir of made) rmdirSync(dir);
      throw error;
    }
  }
}

/**
 * Version 2: takes over the runner's own cgroup. Its processes move into a child `hull-runner`, since a cgroup that
 * limits others may not contain processes itself. Null if this system has no version 2 with these controllers.
 */
function unified(limits: ResourceLimits, root: string, self: string): Parent[] | null {
  const { memoryBytes, maxProcesses } = limits;
  const needed = controllers(limits);
  const own = /^0::(\/.*)$/m.exec(self)?.[1];
  if (own === undefined) return null;
  // An earlier runner may already have moved this process's parent.
  const dir = join(root, own.replace(/\/hull-runner$/, ""));
  const list = join(dir, "cgroup.controllers");
  if (!existsSync(list) || needed.some((name) => !words(list).includes(name))) return null;
  const leaf = join(dir, "hull-runner");
  mkdirSync(leaf, { recursive: true });
  for (const pid of words(join(dir, "cgroup.procs"))) writeFileSync(join(leaf, "cgroup.procs"), pid);
  writeFileSync(join(dir, "cgroup.subtree_control"), needed.map((name) => `+${name}`).join(" "));
  const memory: Parent["limits"] =
    memoryBytes === null
      ? []
      : [
          ["memory.max", memoryBytes],
          // If the limit kills one process, the kernel kills all: half an execution has no result.
          ["memory.oom.group", 1],
          ["memory.swap.max", 0],
        ];
  const pids: Parent["limits"] = maxProcesses === null ? [] : [["pids.max", maxProcesses]];
  return [{ dir, limits: [...memory, ...pids] }];
}

/** Version 1: each controller has a tree of its own, and the runner's cgroup may contain both processes and cgroups. */
function perController(limits: ResourceLimits, root: string, self: string): Parent[] {
  const { memoryBytes, maxProcesses } = limits;
  const missing: string[] = [];
  const dirs = controllers(limits).map((name): [string, string] => {
    const own = new RegExp(`^\\d+:(?:[^:]*,)?${name}(?:,[^:]*)?:(/.*)$`, "m").exec(self)?.[1];
    const dir = join(root, name, own ?? "");
    if (own === undefined || !existsSync(dir)) missing.push(name);
    return [name, dir];
  });
  if (missing.length > 0) throw new NoCgroups(`this system has no cgroup with ${missing.join(", ")} here`);
  const memory = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"];
  return dirs.map(([name, dir]) => {
    const [files, value] = name === "pids" ? [["pids.max"], maxProcesses ?? 0] : [memory, memoryBytes ?? 0];
    return { dir, limits: files.map((file): [string, number] => [file, value]) };
  });
}

function controllers({ memoryBytes, maxProcesses }: ResourceLimits): string[] {
  return [...(memoryBytes === null ? [] : ["memory"]), ...(maxProcesses === null ? [] : ["pids"])];
}

/** Whether no other living runner made the cgroup: several runners may share their parent's. */
function isLeftover(name: string): boolean {
  if (!name.startsWith(EXECUTION_PREFIX)) return false;
  const maker = name.slice(EXECUTION_PREFIX.length).split("-")[0] ?? "";
  return maker === String(process.pid) || !existsSync(`/proc/${maker}`);
}

export class Cgroup {
  readonly #dirs: readonly string[];

  /** @param dirs one, or in version 1 one for each controller */
  constructor(dirs: readonly string[]) {
    this.#dirs = dirs;
  }

  /** Moves a process into this cgroup. Throws the system's error. */
  admit(pid: number): void {
    for (const dir of this.#dirs) writeFileSync(join(dir, "cgroup.procs"), String(pid));
  }

  /** Number of this cgroup's processes that the kernel killed for memory. */
  oomKills(): number {
    const files = this.#dirs.flatMap((dir) => OOM_FILES.map((file) => join(dir, file)));
    return files.reduce((sum, file) => sum + oomKillsIn(textOf(file)), 0);
  }

  /** Ends the processes that are left in the cgroup, and removes it. */
  async remove(): Promise<void> {
    await Promise.all(this.#dirs.map(removeCgroup));
  }
}

async function removeCgroup(dir: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await rmdir(dir);
      return;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return;
      if (tries === REMOVE_TRIES) {
        log("error", "cgroup_not_removed", { reason: reasonOf(error) });
        return;
      }
    }
    try {
      writeFileSync(join(dir, "cgroup.kill"), "1");
    } catch {
      // In version 1, and in kernels before 5.14, the sweep ends them.
    }
    await sleep(REMOVE_POLL_MS);
  }
}

/** The kernel's counters, by version. */
const OOM_FILES = ["memory.events", "memory.oom_control"];

/** The count `oom_kill` of one of these files. */
export function oomKillsIn(events: string): number {
  return Number(/^oom_kill (\d+)$/m.exec(events)?.[1] ?? 0);
}

/** Empty if there is no such file, or no descriptor to read it: an execution ends all the same. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function words(path: string): string[] {
  return readFileSync(path, "utf8").split(/\s+/).filter(Boolean);
}
