/** Starts processes, either from the runner itself or through spawners that it started before. */

/** One process to start, as the leader of a session and group of its own. */
export interface Launch {
  file: string;
  argv0: string;
  args: string[];
  cwd: string;
  /** The runner's folders that the process may use, if Landlock isolates executions (programs/landlock.py). */
  allowedPaths: readonly string[];
  /** The folder that the process sees at /skills, if the system permits it (programs/skills_path.py); null: none. */
  skills: string | null;
  environment: Record<string, string>;
  /** Paths of the standard streams; null for an empty stdin. */
  stdin: string | null;
  stdout: string;
  stderr: string;
  /** Becomes descriptor 3 of the process; null: there is none. */
  result: string | null;
  /** A FIFO from which the process reads one byte before it becomes the program; null to begin immediately. */
  gate: string | null;
  /** Makes a file with the call of a fork (programs/fork.py), which only that fork can find. */
  callFile(bytes: Uint8Array): string;
  onStarted(pid: number): void;
  /** The process could not start; the argument is the system's error code. No other callback follows. */
  onFailed(code: string): void;
  onExit(exitCode: number | null, signal: string | null): void;
  /** The watcher of the process is gone, so its end will remain unknown. No other callback follows. */
  onLost(): void;
  /**
   * None of the process's descendants is left. Called after `Launched.end`, or before `onExit` if the process left none
   * behind. `certain`: they were all found; otherwise some may have left the group and hidden their id.
   */
  onGone(certain: boolean): void;
}

/** A launched process, with everything that it started. */
export interface Launched {
  /** Signals the process's group, if its leader is still running. */
  signal(signal: NodeJS.Signals): void;
  /**
   * Ends the process and all its descendants with SIGKILL, wherever they went. Call it once for each started process,
   * unless `onGone` was called.
   */
  end(): void;
}

export interface Launcher {
  /** Launches a process. Throws only what `callFile` throws, and calls no callback before it has returned. */
  launch(launch: Launch): Launched;
  /** Sends SIGKILL to every process with the id of one of these executions; returns their number. */
  killProcessesOf(ids: ReadonlySet<string>): Promise<number>;
  /** Gives the runner the right to read and remove what processes left in a folder. */
  openTree(path: string): Promise<void>;
  /** Releases the spawners. Running processes are ended. */
  close(): Promise<void>;
}

/** Whether a text for the kernel contains a NUL, which would end a C string. */
export function hasNul({ file, argv0, args, environment }: Launch): boolean {
  const texts = [file, argv0, ...args, ...Object.values(environment)];
  return texts.some((text) => text.includes("\0"));
}
