/** A real runner process for tests: random secret, temporary state, a free port. */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { chown, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Pipes } from "../../container/pipes.ts";
import { removeTree } from "../../container/tree.ts";
import { randomSecret } from "../../scripts/dev/random-secret.ts";
import type { ExecutionInput } from "../../src/tool/multipart.ts";
import { type ExecutionSpec, importTicketKey, PROTOCOL_VERSION } from "../../src/tool/protocol.ts";
import { RunnerCircuit } from "../../src/tool/runner-circuit.ts";
import { type RunEvent, type Runner, type RunOptions, runExecution } from "../../src/tool/runner-client.ts";
import { SERVERS } from "./memory.ts";

/** The runner that the run bundled (`global-setup.ts`), else its sources. */
const MAIN =
  process.env.HULL_RUNNER_BUNDLE ?? fileURLToPath(new URL("../../container/main.ts", import.meta.url));

export interface TestRunner extends Runner {
  url: string;
  secret: string;
  /** Contains bundles, journal and scratch; `stop` removes it. */
  stateDir: string;
  process: ChildProcess;
  /** The log so far. */
  log(): string;
  /** Ends the process with a signal and waits; returns its exit code. */
  kill(signal: NodeJS.Signals): Promise<number | null>;
  /** Ends the runner for good and removes its state. */
  stop(): Promise<void>;
}

interface RunnerSettings {
  flags?: string[];
  env?: Record<string, string>;
  /** Continues with the state of an earlier runner. */
  from?: TestRunner;
  /**
   * The folder that gets its state; default: one in memory. Landlock keeps processes out of the folders above the state,
   * and in memory that is where Python's semaphores are.
   */
  place?: string;
  /** `unshare`: behaves like a system whose kernel refuses that call, as under Docker's default profile. */
  denied?: "unshare";
  /** The runner's uid, where the test runs as root: modes of files do not bind root. */
  uid?: number;
}

/** Becomes the program that its arguments name, under a filter that refuses `unshare`. */
const WITHOUT_UNSHARE = `import ctypes, errno, os, struct, sys
number = 272 if os.uname().machine == "x86_64" else 97
lines = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | errno.EPERM), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(lines), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, program, 0, 0) != 0:
    sys.exit("no filter")
os.execv(sys.argv[1], sys.argv[1:])`;

/** Starts the runner and waits until it listens. */
export async function startRunner({
  flags = [],
  env = {},
  from,
  place = SERVERS,
  denied,
  uid,
}: RunnerSettings = {}): Promise<TestRunner> {
  const stateDir = from?.stateDir ?? (await mkdtemp(join(place, "hull-runner-")));
  const secret = from?.secret ?? randomSecret();
  const secretFile = join(stateDir, "secret");
  await writeFile(secretFile, secret, { mode: 0o600 });
  if (uid !== undefined) for (const path of [stateDir, secretFile]) await chown(path, uid, uid);
  // The runner does not outlive its test, whatever happens to the test.
  const always = ["--port", "0", "--state", stateDir, "--secret-file", secretFile, "--exit-with-parent"];
  const args = [MAIN, ...always, ...flags];
  const before = denied === undefined ? [] : ["python3", "-c", WITHOUT_UNSHARE];
  const [file = "", ...rest] = [...before, process.execPath, ...args];
  const child = spawn(file, rest, {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, ...env },
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  let log = "";
  child.stderr.on("data", (chunk: Buffer) => {
    log += chunk.toString();
  });
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const listening = new Promise<number>((resolve, reject) => {
    createInterface(child.stdout).once("line", (line) => resolve(JSON.parse(line).port));
    void exited.then((code) => reject(new Error(`the runner ended with ${code}: ${log}`)));
  });
  const port = await listening.catch(async (error: unknown) => {
    if (from === undefined) await removeTree(stateDir);
    throw error;
  });
  const url = `http://127.0.0.1:${port}`;
  const kill = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    return exited;
  };
  return {
    url,
    secret,
    stateDir,
    process: child,
    key: await importTicketKey(secret),
    circuit: new RunnerCircuit(`at ${url}`, () => {}),
    fetch: (path, init) => fetch(url + path, { ...init, duplex: "half" }),
    log: () => log,
    kill,
    stop: async () => {
      child.kill("SIGTERM");
      child.kill("SIGTERM");
      await exited;
      // A killed runner leaves its pipes to the next one with this state.
      for (const dir of [Pipes.directory(stateDir, false), stateDir]) await removeTree(dir);
    },
  };
}

export interface Bundle {
  digest: string;
  /** Paths of its executable files. */
  executables: string[];
  tar: Uint8Array<ArrayBuffer>;
}

/** Packs files with the system's tar, names sorted; a text that begins with `#!` is executable. */
export async function bundle(files: Record<string, string | Uint8Array>): Promise<Bundle> {
  const dir = await mkdtemp(join(tmpdir(), "hull-bundle-"));
  const names = Object.keys(files).sort();
  const executables: string[] = [];
  for (const [name, content] of Object.entries(files)) {
    const executable = typeof content === "string" && content.startsWith("#!");
    if (executable) executables.push(name);
    await mkdir(dirname(join(dir, name)), { recursive: true });
    await writeFile(join(dir, name), content, { mode: executable ? 0o755 : 0o644 });
  }
  const tar = spawn("tar", ["--format=ustar", "-cf", "-", ...names], {
    cwd: dir,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const chunks: Buffer[] = [];
  for await (const chunk of tar.stdout) chunks.push(chunk);
  await rm(dir, { recursive: true });
  const bytes = new Uint8Array(Buffer.concat(chunks));
  return { digest: createHash("sha256").update(bytes).digest("hex"), executables, tar: bytes };
}

/** A spec with the usual values; `argv` and `digest` decide what runs. */
export function spec(fields: Partial<ExecutionSpec> & Pick<ExecutionSpec, "argv" | "digest">): ExecutionSpec {
  const id = fields.id ?? randomUUID();
  return {
    version: PROTOCOL_VERSION,
    id,
    request_id: id,
    skill: "test",
    env: {},
    timeout_ms: 60_000,
    grace_ms: 300,
    limits: { max_output_bytes: 104_857_600 },
    input: { mode: "none" },
    output: "text",
    detach: false,
    ...fields,
  };
}

/** Options of a call that is never aborted and can send this bundle. */
export function runOptions(from: Bundle, fields: Partial<RunOptions> = {}): RunOptions {
  return {
    tenant: "acme",
    pack: async () => from.tar,
    signal: new AbortController().signal,
    now: Date.now,
    background: (work) => void work,
    ...fields,
  };
}

export interface Collected {
  kinds: string[];
  stdout: Buffer;
  stderr: Buffer;
  files: { filename: string; size: number; sha256: string; bytes: Buffer }[];
  status: Extract<RunEvent, { kind: "ended" }>["status"];
}

/** Collects all events of one execution. */
export async function collect(events: AsyncIterable<RunEvent>): Promise<Collected> {
  const kinds: string[] = [];
  const stdout: Uint8Array[] = [];
  const stderr: Uint8Array[] = [];
  const files: { filename: string; size: number; sha256: string; parts: Uint8Array[] }[] = [];
  for await (const event of events) {
    kinds.push(event.kind);
    if (event.kind === "stdout") stdout.push(event.bytes);
    if (event.kind === "stderr") stderr.push(event.bytes);
    if (event.kind === "file") files.push({ ...event, parts: [] });
    if (event.kind === "file_bytes") files.at(-1)?.parts.push(event.bytes);
    if (event.kind === "ended") {
      return {
        kinds,
        stdout: Buffer.concat(stdout),
        stderr: Buffer.concat(stderr),
        files: files.map(({ filename, size, sha256, parts }) => ({
          filename,
          size,
          sha256,
          bytes: Buffer.concat(parts),
        })),
        status: event.status,
      };
    }
  }
  throw new Error("no `ended` event");
}

/** Runs one execution to its end. */
export function run(
  runner: Runner,
  from: Bundle,
  fields: Partial<ExecutionSpec> & Pick<ExecutionSpec, "argv">,
  body: ExecutionInput = {},
): Promise<Collected> {
  const stdin = body.stdin === undefined ? {} : { input: { mode: "stdin" } as const };
  return collect(
    runExecution(runner, spec({ digest: from.digest, ...stdin, ...fields }), body, runOptions(from)),
  );
}

/**
 * The content of the runner's scratch folders, by path. If an entry disappears during the read, everything is read
 * again.
 */
export async function scratchOf({ stateDir }: TestRunner): Promise<string[]> {
  const read = () => readdir(join(stateDir, "scratch"), { recursive: true }).catch(() => null);
  return (await until(read, (names) => names !== null)) ?? [];
}

/**
 * Processes of this machine whose command lines contain `mark`, as pids with command lines. An ended process has none.
 */
export function processesWith(mark: string): string[] {
  return otherProcesses()
    .map((pid) => `${pid} ${commandOf(pid)}`)
    .filter((line) => line.includes(mark));
}

/** The pids of all processes of this machine except this one. */
export function otherProcesses(): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid);
}

/** The command line of a process, with spaces; empty if the process has ended. */
export const commandOf = (pid: number): string => ofProcess(pid, "cmdline").replaceAll("\0", " ").trim();

/**
 * A file of a process in /proc; empty if the process has ended. It is read synchronously: tests examine all processes
 * again and again, and reading a thousand files through promises takes ten times the processor time.
 */
export function ofProcess(pid: number, file: "cmdline" | "environ" | "stat"): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

/** Longer than a process needs to end. */
const BETWEEN_MS = 50;

/**
 * How many processes have `mark` at one moment: those that two looks in a row find. A single look may count both a
 * process that is ending and its successor.
 */
export async function atOnce(mark: string): Promise<number> {
  const pids = () =>
    processesWith(mark)
      .map((line) => Number.parseInt(line, 10))
      .filter((pid) => !isFork(pid));
  const before = new Set(pids());
  await sleep(BETWEEN_MS);
  return pids().filter((pid) => before.has(pid)).length;
}

/**
 * Whether a process is a copy of its parent that has not yet started its own program. On a busy machine, this state can
 * last a while.
 */
function isFork(pid: number): boolean {
  return commandOf(pid) === commandOf(parentOf(pid) ?? 0);
}

/** The pid of a process's parent; undefined if the process has ended. */
export function parentOf(pid: number): number | undefined {
  // The name before it, in parentheses, may contain anything.
  const found = /^.*\) \S+ (\d+)/s.exec(ofProcess(pid, "stat"));
  return found === null ? undefined : Number(found[1]);
}

/** Waits until so many processes of this machine have `mark` in their command lines. */
export async function running(mark: string, count = 1): Promise<void> {
  await until(
    () => processesWith(mark),
    (found) => found.length >= count,
  );
}

/**
 * Waits until no process has `mark` any more. They must have been killed, since a marked process would otherwise run for
 * a minute.
 */
export async function gone(mark: string): Promise<void> {
  await until(
    () => processesWith(mark),
    (found) => found.length === 0,
  );
}

/**
 * Polls until `check` holds; fails with the last value after `limitMs`. The limit is for results that never come: no
 * test depends on how soon something happens, since a busy machine may be slow.
 */
export async function until<T>(
  read: () => Promise<T> | T,
  check: (value: T) => boolean,
  limitMs = 120_000,
): Promise<T> {
  const end = Date.now() + limitMs;
  // Looking takes processor time that the awaited work needs too, so it happens less and less often.
  for (let pause = 10; ; pause = Math.min(1.5 * pause, 200)) {
    const value = await read();
    if (check(value)) return value;
    if (Date.now() > end) throw new Error(`still ${JSON.stringify(value)} after ${limitMs} ms`);
    await sleep(pause);
  }
}
