/** What workerd processes take: CPU and memory, from /proc. */
import { readdirSync, readFileSync } from "node:fs";

/** Of one clock tick, in ms (Linux). */
const TICK_MS = 10;

interface Stat {
  ppid: number;
  cpu_ms: number;
}

function statOf(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const ticks = Number(fields[11]) + Number(fields[12]);
    return { ppid: Number(fields[1]), cpu_ms: ticks * TICK_MS };
  } catch {
    return null;
  }
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return "";
  }
}

/** The workerd processes below this one. */
export function workerds(): number[] {
  const pids = readdirSync("/proc").map(Number).filter(Number.isInteger);
  const parents = new Map(pids.flatMap((pid) => [[pid, statOf(pid)?.ppid ?? 0] as const]));
  const below = (pid: number): boolean => {
    for (let at = parents.get(pid); at !== undefined && at > 0; at = parents.get(at)) {
      if (at === process.pid) return true;
    }
    return false;
  };
  return pids.filter((pid) => below(pid) && nameOf(pid).startsWith("workerd"));
}

/** Starts something, and returns it with the workerd that it started. */
export async function withWorkerd<T>(start: () => Promise<T>): Promise<{ started: T; pid: number }> {
  const before = workerds();
  const started = await start();
  const pid = workerds().find((one) => !before.includes(one));
  if (pid === undefined) throw new RangeError("no workerd was started");
  return { started, pid };
}

/** CPU time that a process has taken so far, in ms. */
export const cpuOf = (pid: number): number => statOf(pid)?.cpu_ms ?? Number.NaN;

/** Memory of a process that is in RAM, in MB. */
export function residentOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}
