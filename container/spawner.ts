/** One spawner process and the communication with it (programs/spawner.py defines the protocol). */
import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { GATEWAY_PORT } from "./egress-proxy.ts";
import { hasNul, type Launch, type Launched } from "./launcher.ts";
import { log } from "./log.ts";
import { programSource } from "./program-source.ts";

const SPAWNER = programSource(
  "seccomp.py",
  "gateway.py",
  "landlock.py",
  "descendants.py",
  "namespaces.py",
  "loopback.py",
  "network_namespace.py",
  "skills_path.py",
  "launch.py",
  "cleanup.py",
  "spawner.py",
);
const FORK_SERVER = programSource("handler.py", "fork.py");
/**
 * The size of the environment of a fork server: it has room for the mark of an execution, whose id has at most this many
 * bytes (protocol.ts).
 */
const FORK_SERVER_ENVIRONMENT = { HULL_EXECUTION_ID: "-".repeat(128) };

/** The spawner reads the program from descriptor 3, so that no command line shows it. */
const PROGRAM = ["-c", "exec(open(3).read())"];

/** If a signal has several names, the first one counts. */
const SIGNAL_NAMES = new Map(
  Object.entries(constants.signals)
    .reverse()
    .map(([name, number]) => [number, name]),
);

export interface SpawnerCommand {
  /** The interpreter and the commands before it (`setpriv`, `unshare`). */
  argv: readonly string[];
  /** Whether the spawner must hide from the processes that it starts. */
  private: boolean;
  /** Whether a seccomp filter takes the network from the spawner and its processes (programs/seccomp.py). */
  seccomp: boolean;
  /**
   * Whether each of its processes has its own network namespace, with only a loopback (programs/network_namespace.py).
   */
  networkNamespaces: boolean;
  /** The socket file behind the gateway of its network, or of those of its processes; null: there is no gateway. */
  gateway: string | null;
  /**
   * The state folder, whose parts executions do not share (programs/landlock.py); null: Landlock does not isolate
   * executions.
   */
  state: string | null;
  /** Whether it is a fork server for Python handlers (programs/fork.py). */
  warm: boolean;
}

export class Spawner {
  readonly #child: ChildProcess;
  readonly #launches = new Map<number, Launch>();
  readonly #requests = new Map<number, (count: number) => void>();
  readonly #onGone: () => void;
  readonly #warm: boolean;
  readonly #ended = Promise.withResolvers<void>();
  #nextKey = 1;
  #text = "";
  #gone = false;
  #pid: number | null = null;
  #onReady: ((pid: number | null) => void) | null = null;

  constructor(command: SpawnerCommand, onGone: () => void) {
    this.#onGone = onGone;
    const { warm } = command;
    this.#warm = warm;
    const [file = "", ...args] = command.argv;
    // Handlers find imports as with their own interpreter, except for what other processes of a shared uid leave behind.
    const flags = warm ? (command.private ? ["-s"] : []) : ["-I", "-S"];
    const name = warm ? "hull-python" : "hull-spawner";
    // It has its own session: the terminal's signals are for the runner alone, which decides what follows.
    this.#child = spawn(file, [...args, ...flags, ...PROGRAM, name], {
      stdio: ["pipe", "pipe", "inherit", "pipe"],
      detached: true,
      cwd: "/",
      env: { LANG: "C.UTF-8", ...(warm ? FORK_SERVER_ENVIRONMENT : {}) },
    });
    this.#child.once("error", () => this.#end());
    this.#child.stdin?.on("error", () => {});
    this.#child.stdout?.setEncoding("latin1").on("data", (text: string) => this.#onOutput(text));
    // Without descriptors for it, Node starts nothing and leaves the streams out.
    const input = this.#child.stdio?.[3];
    if (input !== null && input !== undefined && "end" in input) {
      input.on("error", () => {});
      const settings = {
        GATEWAY_PORT,
        GATEWAY: command.gateway,
        STATE: command.state,
        PRIVATE: command.private,
        WARM: warm,
        SECCOMP: command.seccomp,
        NETWORK_NAMESPACE: command.networkNamespaces,
      };
      const lines = Object.entries(settings).map(([name, value]) => `${name} = ${inPython(value)}\n`);
      input.end(`${lines.join("")}${warm ? FORK_SERVER : ""}${SPAWNER}\nmain()\n`);
    }
    // `close` comes after the spawner's last line, so no reported end counts as lost.
    this.#child.once("close", () => this.#end());
  }

  /** Number of its executions. */
  get load(): number {
    return this.#launches.size;
  }

  get gone(): boolean {
    return this.#gone;
  }

  /** Whether the spawner has reported that it listens. Messages to it wait until then. */
  get listens(): boolean {
    return this.#pid !== null;
  }

  /** Resolves with the spawner's pid once it listens, or with null if it ended instead. */
  ready(): Promise<number | null> {
    if (this.#gone || this.#pid !== null) return Promise.resolve(this.#pid);
    return new Promise((resolve) => {
      this.#onReady = resolve;
    });
  }

  launch(launch: Launch): Launched {
    const key = this.#nextKey++;
    const launched = {
      signal: (signal: NodeJS.Signals) => this.#send(["k", String(key), String(constants.signals[signal])]),
      end: () => this.#send(["e", String(key)]),
    };
    if (hasNul(launch)) {
      setImmediate(() => launch.onFailed("ERR_INVALID_ARG_VALUE"));
      return launched;
    }
    const { stdin, stdout, stderr, result, gate, skills } = launch;
    const streams = [stdin ?? "", stdout, stderr, result ?? "", gate ?? ""];
    if (this.#warm) {
      const call = launch.callFile(Buffer.from([launch.cwd, ...programOf(launch)].join("\0")));
      this.#send(["h", String(key), launch.environment.HULL_EXECUTION_ID ?? "", call, ...streams]);
    } else {
      const start = ["s", String(key), launch.cwd, ...streams, skills ?? "", launch.file];
      this.#send([...start, ...programOf(launch)]);
    }
    this.#launches.set(key, launch);
    return launched;
  }

  killProcessesOf(ids: ReadonlySet<string>): Promise<number> {
    return this.#ask("w", [...ids]);
  }

  async openTree(path: string): Promise<void> {
    await this.#ask("o", [path]);
  }

  /** Resolves when the spawner has ended all processes that it started, and itself. */
  close(): Promise<void> {
    this.#child.stdin?.end();
    return this.#ended.promise;
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

  #onOutput(text: string): void {
    const lines = (this.#text + text).split("\n");
    this.#text = lines.pop() ?? "";
    for (const line of lines) this.#onLine(line.split(" "));
  }

  #onLine([letter, keyText, value]: string[]): void {
    const key = Number(keyText);
    if (letter === "r") {
      this.#pid = Number(value);
      this.#onReady?.(this.#pid);
    } else if (letter === "d" || letter === "l") {
      this.#requests.get(key)?.(Number(value ?? 0));
      this.#requests.delete(key);
    }
    const launch = this.#launches.get(key);
    if (launch === undefined) return;
    if (letter !== "s" && letter !== "x") this.#launches.delete(key);
    // Before the end, so that nobody asks to end what is gone.
    if (letter === "g" || letter === "z") launch.onGone(true);
    if (letter === "s") launch.onStarted(Number(value));
    else if (letter === "x" || letter === "z") launch.onExit(...exitOf(Number(value)));
    else if (letter === "l") launch.onLost();
    else if (letter === "f") {
      // A process may have existed although it could not become the program.
      this.#send(["e", String(key)]);
      launch.onFailed(value ?? "EIO");
    }
  }

  #end(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#onReady?.(null);
    for (const resolve of this.#requests.values()) resolve(0);
    const launches = [...this.#launches.values()];
    this.#launches.clear();
    if (launches.length > 0) log("error", "spawner_lost", { executions: launches.length });
    this.#ended.resolve();
    this.#onGone();
    for (const launch of launches) launch.onLost();
  }
}

function inPython(value: string | number | boolean | null): string {
  if (value === null) return "None";
  return typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value);
}

/** pathc, path..., argc, argv..., NAME=VALUE... */
function programOf({ allowedPaths, argv0, args, environment }: Launch): string[] {
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  return [
    String(allowedPaths.length),
    ...allowedPaths,
    String(args.length + 1),
    argv0,
    ...args,
    ...variables,
  ];
}

/** A status of wait(2): exit code or signal. */
function exitOf(status: number): [number | null, string | null] {
  const signal = status & 0x7f;
  if (signal === 0) return [(status >> 8) & 0xff, null];
  return [null, SIGNAL_NAMES.get(signal) ?? `SIG${signal}`];
}
