/** Who starts processes: the runner itself, or spawners it started beforehand. */

/** One process to start, as the leader of a session and group of its own. */
export interface Launch {
  file: string;
  argv0: string;
  args: string[];
  cwd: string;
  /** The folders of the runner that it may use, where executions are kept apart (programs/apart.py). */
  rooms: readonly string[];
  /** The folder that it sees at /skills, where the system lets it (programs/skills_path.py); null: none. */
  skills: string | null;
  environment: Record<string, string>;
  /** Paths of the standard streams; null for an empty stdin. */
  stdin: string | null;
  stdout: string;
  stderr: string;
  /** Becomes descriptor 3; null: there is none. */
  result: string | null;
  /** A FIFO from which the process takes one byte before it becomes the program; null to begin at once. */
  gate: string | null;
  /** Makes a file that holds what a fork is to be called with (programs/fork.py), which only that fork can find. */
  callFile(bytes: Uint8Array): string;
  onStarted(pid: number): void;
  /** It could not start: the system's code. Nothing follows. */
  onFailed(code: string): void;
  onExit(exitCode: number | null, signal: string | null): void;
  /** Whoever watched over it is gone, and nobody will hear of its end any more. Nothing follows. */
  onLost(): void;
  /** After `Launched.end`: none of its processes is left. */
  onGone(): void;
}

/** A process that was launched, with all that it started. */
export interface Launched {
  /** Signals its group, if its leader still runs. */
  signal(signal: NodeJS.Signals): void;
  /** Ends every process that comes from it, wherever it went, with SIGKILL. To be called once, for each that started. */
  end(): void;
}

export interface Launcher {
  /** Never throws. No callback comes before it has returned. */
  launch(launch: Launch): Launched;
  /** SIGKILL to every process that carries the id of one of these executions; answers how many there were. */
  killProcessesOf(ids: ReadonlySet<string>): Promise<number>;
  /** Makes what processes left in a folder readable and removable for the runner. */
  openTree(path: string): Promise<void>;
  /** Lets go of the spawners. What still runs is ended. */
  close(): Promise<void>;
}

/** Text that the kernel takes as a C string. */
export function hasNul({ file, argv0, args, environment }: Launch): boolean {
  const texts = [file, argv0, ...args, ...Object.values(environment)];
  return texts.some((text) => text.includes("\0"));
}
