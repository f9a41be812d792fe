/** Starts processes from the runner itself: for a system without Python, if nothing has to be isolated. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import type { Launch, Launched, Launcher } from "./launcher.ts";
import { codeOf } from "./log.ts";
import { killProcessesOf, Sweep } from "./sweep.ts";

/** Interval of checks for a killed group. */
const GONE_POLL_MS = 5;

/** A process that leaves the group can be found by the id in its environment, unless it removes the id. */
export class DirectLauncher implements Launcher {
  readonly #sweep = new Sweep();

  launch(launch: Launch): Launched {
    const opened: number[] = [];
    const open = (path: string, flags: number): number => {
      const fd = openSync(path, flags);
      opened.push(fd);
      return fd;
    };
    let child: ChildProcess;
    try {
      child = spawn(launch.file, launch.args, {
        argv0: launch.argv0,
        cwd: launch.cwd,
        env: launch.environment,
        detached: true,
        stdio: [
          launch.stdin === null ? "ignore" : open(launch.stdin, constants.O_RDONLY),
          open(launch.stdout, constants.O_WRONLY),
          open(launch.stderr, constants.O_WRONLY),
          ...(launch.result === null ? [] : [open(launch.result, constants.O_WRONLY)]),
        ],
      });
    } catch (error) {
      setImmediate(() => launch.onFailed(codeOf(error) ?? "EINVAL"));
      return { signal: () => {}, end: () => {} };
    } finally {
      for (const fd of opened) closeSync(fd);
    }
    const { pid } = child;
    child.once("error", (error) => {
      if (pid === undefined) launch.onFailed(codeOf(error) ?? "EINVAL");
    });
    let ended = false;
    child.once("exit", (exitCode, signal) => {
      ended = true;
      launch.onExit(exitCode, signal);
    });
    if (pid === undefined) return { signal: () => {}, end: () => {} };
    queueMicrotask(() => launch.onStarted(pid));
    return {
      signal: (signal) => {
        if (!ended) signalGroup(pid, signal);
      },
      end: () => {
        const id = launch.environment.HULL_EXECUTION_ID;
        signalGroup(pid, "SIGKILL");
        if (id !== undefined) {
          if (!ended) killProcessesOf(new Set([id]));
          this.#sweep.add(id);
        }
        const look = (): void => {
          if (signalGroup(pid, 0)) setTimeout(look, GONE_POLL_MS).unref();
          else launch.onGone(false);
        };
        look();
      },
    };
  }

  async killProcessesOf(ids: ReadonlySet<string>): Promise<number> {
    return killProcessesOf(ids);
  }

  async openTree(): Promise<void> {}

  async close(): Promise<void> {
    this.#sweep.finish();
  }
}

/** The signal 0 only checks. Returns `false` if the group has no processes any more. */
function signalGroup(pgid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pgid, signal);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}
