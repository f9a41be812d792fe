/** One spawner process and the talk with it (spawner-program.ts says the protocol). */
import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { hasNul, type Launch } from "./launcher.ts";
import { log } from "./log.ts";
import type { Named } from "./pipes.ts";
import { FORK_SERVER_ENVIRONMENT, PYTHON_FORK } from "./python-fork.ts";
import { SPAWNER_PROGRAM } from "./spawner-program.ts";

/** The program comes through descriptor 3, so that no command line shows it. */
const PROGRAM = ["-c", "exec(open(3).read())"];

/** The first of several names of a signal counts. */
const SIGNAL_NAMES = new Map(
  Object.entries(constants.signals)
    .reverse()
    .map(([name, number]) => [number, name]),
);

export interface SpawnerCommand {
  /** What puts the spawner where it belongs (`setpriv`, `unshare`) and the interpreter. */
  argv: readonly string[];
  /** Whether it must hide from the processes it starts. */
  private: boolean;
  /** Whether it and what it starts have no network (seal.ts). */
  sealed: boolean;
  /** The socket file that its network's gateway leads to; null: its network is not one of its own. */
  gateway: string | null;
  /** The state folder, whose parts executions do not share (apart.ts); null: they are not kept apart. */
  state: string | null;
  /** For a fork server (python-fork.ts): makes the file through which a fork learns its call. */
  calls?: (bytes: Uint8Array) => Named;
}

export class Spawner {
  readonly #child: ChildProcess;
  readonly #launches = new Map<number, Launch>();
  readonly #requests = new Map<number, (count: number) => void>();
  readonly #onGone: () => void;
  readonly #calls: SpawnerCommand["calls"];
  /** Files of calls that their forks have not read yet. */
  readonly #unread = new Map<number, Named>();
  #nextKey = 1;
  #text = "";
  #gone = false;
  #pid: number | null = null;
  #onReady: ((pid: number | null) => void) | null = null;

  constructor(command: SpawnerCommand, onGone: () => void) {
    this.#onGone = onGone;
    this.#calls = command.calls;
    const [file = "", ...args] = command.argv;
    const warm = command.calls !== undefined;
    // What handlers import is found as by an interpreter of their own, but for what other processes of a shared uid leave.
    const flags = warm ? (command.private ? ["-s"] : []) : ["-I", "-S"];
    const name = warm ? "hull-python" : "hull-spawner";
    // A session of its own: the terminal's signals are for the runner, which decides what follows.
    this.#child = spawn(file, [...args, ...flags, ...PROGRAM, name], {
      stdio: ["pipe", "pipe", "inherit", "pipe"],
      detached: true,
      cwd: "/",
      env: { LANG: "C.UTF-8", ...(warm ? FORK_SERVER_ENVIRONMENT : {}) },
    });
    this.#child.stdin?.on("error", () => {});
    this.#child.stdout?.setEncoding("latin1").on("data", (text: string) => this.#hear(text));
    const program = this.#child.stdio[3];
    if (program !== null && program !== undefined && "end" in program) {
      program.on("error", () => {});
      const settings = { PRIVATE: command.private, WARM: warm, SEALED: command.sealed };
      const paths = Object.entries({ GATEWAY: command.gateway, STATE: command.state }).map(
        ([name, path]) => `${name} = ${path === null ? "None" : JSON.stringify(path)}\n`,
      );
      const lines = Object.entries(settings).map(([name, on]) => `${name} = ${on ? "True" : "False"}\n`);
      program.end(`${[...paths, ...lines].join("")}${warm ? PYTHON_FORK : ""}${SPAWNER_PROGRAM}\nmain()\n`);
    }
    this.#child.once("error", () => this.#end());
    // After the last line it wrote, so that no end is called lost that was reported.
    this.#child.once("close", () => this.#end());
  }

  /** Executions under its care. */
  get load(): number {
    return this.#launches.size;
  }

  get gone(): boolean {
    return this.#gone;
  }

  /** Resolves with its pid once it listens, with null when it ended instead. */
  ready(): Promise<number | null> {
    if (this.#gone || this.#pid !== null) return Promise.resolve(this.#pid);
    return new Promise((resolve) => {
      this.#onReady = resolve;
    });
  }

  launch(launch: Launch): void {
    if (hasNul(launch)) {
      setImmediate(() => launch.onFailed("ERR_INVALID_ARG_VALUE"));
      return;
    }
    const key = this.#nextKey++;
    this.#launches.set(key, launch);
    const { stdin, stdout, stderr, result, gate } = launch;
    const streams = [stdin ?? "", stdout, stderr, result ?? "", gate ?? ""];
    if (this.#calls === undefined) {
      this.#send(["s", String(key), launch.cwd, ...streams, launch.file, ...programOf(launch)]);
      return;
    }
    const call = this.#calls(Buffer.from([launch.cwd, ...programOf(launch)].join("\0")));
    this.#unread.set(key, call);
    const id = launch.environment.HULL_EXECUTION_ID ?? "";
    this.#send(["h", String(key), id, call.path, ...streams]);
  }

  signalGroup(pgid: number, signal: NodeJS.Signals): void {
    this.#send(["k", String(pgid), String(constants.signals[signal])]);
  }

  killProcessesOf(ids: ReadonlySet<string>): Promise<number> {
    return this.#ask("w", [...ids]);
  }

  async openTree(path: string): Promise<void> {
    await this.#ask("o", [path]);
  }

  close(): void {
    this.#child.stdin?.end();
  }

  #ask(letter: string, fields: string[]): Promise<number> {
    if (this.#gone) return Promise.resolve(0);
    const key = this.#nextKey++;
    return new Promise((resolve) => {
      this.#requests.set(key, resolve);
      this.#send([letter, String(key), ...fields]);
    });
  }

  #send(fields: string[]): void {
    const text = fields.join("\0");
    const size = Buffer.byteLength(text);
    const frame = Buffer.allocUnsafe(4 + size);
    frame.writeUInt32BE(size, 0);
    frame.write(text, 4);
    this.#child.stdin?.write(frame);
  }

  #hear(text: string): void {
    const lines = (this.#text + text).split("\n");
    this.#text = lines.pop() ?? "";
    for (const line of lines) this.#understand(line.split(" "));
  }

  #understand([letter, keyText, value]: string[]): void {
    const key = Number(keyText);
    if (letter === "r") {
      this.#pid = Number(value);
      this.#onReady?.(this.#pid);
    } else if (letter === "d") {
      this.#requests.get(key)?.(Number(value));
      this.#requests.delete(key);
    }
    const launch = this.#launches.get(key);
    if (launch === undefined) return;
    this.#unread.get(key)?.unname();
    this.#unread.delete(key);
    if (letter === "s") launch.onStarted(Number(value));
    else if (letter === "f" || letter === "x") {
      this.#launches.delete(key);
      if (letter === "f") launch.onFailed(value ?? "EIO");
      else launch.onExit(...exitOf(Number(value)));
    }
  }

  #end(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#onReady?.(null);
    for (const resolve of this.#requests.values()) resolve(0);
    for (const call of this.#unread.values()) call.unname();
    const launches = [...this.#launches.values()];
    this.#launches.clear();
    if (launches.length > 0) log("error", "spawner_lost", { executions: launches.length });
    this.#onGone();
    for (const launch of launches) launch.onLost();
  }
}

/** roomc, room..., argc, argv..., NAME=VALUE... */
function programOf({ rooms, argv0, args, environment }: Launch): string[] {
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  return [String(rooms.length), ...rooms, String(args.length + 1), argv0, ...args, ...variables];
}

/** A status of wait(2): exit code or signal. */
function exitOf(status: number): [number | null, string | null] {
  const signal = status & 0x7f;
  if (signal === 0) return [(status >> 8) & 0xff, null];
  return [null, SIGNAL_NAMES.get(signal) ?? `SIG${signal}`];
}
