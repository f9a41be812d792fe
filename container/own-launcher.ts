/** Starts processes from the runner itself: where there is no Python, and nothing has to be kept apart. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import type { Launch, Launcher } from "./launcher.ts";
import { codeOf } from "./log.ts";
import { killProcessesOf } from "./sweep.ts";

export class OwnLauncher implements Launcher {
  launch(launch: Launch): void {
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
      return;
    } finally {
      for (const fd of opened) closeSync(fd);
    }
    child.once("error", (error) => {
      if (child.pid === undefined) launch.onFailed(codeOf(error) ?? "EINVAL");
    });
    child.once("exit", (exitCode, signal) => launch.onExit(exitCode, signal));
    if (child.pid !== undefined) launch.onStarted(child.pid);
  }

  signalGroup(pgid: number, signal: NodeJS.Signals | 0): boolean {
    try {
      process.kill(-pgid, signal);
      return true;
    } catch (error) {
      return codeOf(error) === "EPERM";
    }
  }

  async killProcessesOf(ids: ReadonlySet<string>): Promise<number> {
    return killProcessesOf(ids);
  }

  async openTree(): Promise<void> {}

  close(): void {}
}
