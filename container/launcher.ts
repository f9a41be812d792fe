/** Who starts processes (serving.md §6.2): the runner itself, or spawners it started beforehand. */

/** One process to start, as the leader of a session and group of its own. */
export interface Launch {
  file: string;
  argv0: string;
  args: string[];
  cwd: string;
  /** The folders of the runner that it may use, where executions are kept apart (apart.ts). */
  rooms: readonly string[];
  environment: Record<string, string>;
  /** Paths of the standard streams; null for an empty stdin. */
  stdin: string | null;
  stdout: string;
  stderr: string;
  /** Becomes descriptor 3; null: there is none. */
  result: string | null;
  /** A FIFO from which the process takes one byte before it becomes the program; null to begin at once. */
  gate: string | null;
  onStarted(pid: number): void;
  /** It could not start: the system's code. Nothing follows. */
  onFailed(code: string): void;
  onExit(exitCode: number | null, signal: string | null): void;
  /** Its spawner ended first, and nobody will hear of its end any more. Nothing follows. */
  onLost(): void;
}

export interface Launcher {
  /** Never throws; one of the callbacks may come before it returns. */
  launch(launch: Launch): void;
  /** Signals a group, 0 only asks; `false` when it has no process any more. */
  signalGroup(pgid: number, signal: NodeJS.Signals | 0): boolean;
  /** SIGKILL to every process of these executions; answers how many there were. */
  killProcessesOf(ids: ReadonlySet<string>): Promise<number>;
  /** Makes what processes left in a folder readable and removable for the runner. */
  openTree(path: string): Promise<void>;
  /** Lets go of the spawners. What still runs is ended. */
  close(): void;
}

/** Text that the kernel takes as a C string. */
export function hasNul({ file, argv0, args, environment }: Launch): boolean {
  const texts = [file, argv0, ...args, ...Object.values(environment)];
  return texts.some((text) => text.includes("\0"));
}
