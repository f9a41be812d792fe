/**
 * A real `hull dev` for tests, with its own process, folder, state, HOME and TMPDIR, so that everything that it starts
 * or leaves behind can be distinguished from the rest of the machine.
 */
import { spawn } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { removeTree } from "../../container/tree.ts";
import { isBusy, runHere } from "./hull-here.ts";
import { SERVERS } from "./memory.ts";
import { commandOf, ofProcess, otherProcesses, until } from "./runner.ts";

export const REPO = fileURLToPath(new URL("../..", import.meta.url));
/** Read once, because a command that runs in this process changes the variables meanwhile. */
const {
  PATH = "",
  HULL_WORKER_BUNDLE,
  HULL_WORKER_PROCESS_BUNDLE,
  HULL_RUNNER_BUNDLE,
  HULL_CLI_BUNDLE,
  HULL_TEST_CACHE,
} = process.env;

/**
 * What the servers of this checkout share: the Worker and the runner that the run bundled (`global-setup.ts`), and
 * Node's compiled code, for which `bin/hull.mjs` sets the variable otherwise. All that a command starts gets it too.
 */
export const shared = (repo: string): Record<string, string> => {
  const alone = HULL_WORKER_BUNDLE === undefined || HULL_RUNNER_BUNDLE === undefined || repo !== REPO;
  return {
    ...(HULL_TEST_CACHE === undefined ? {} : { NODE_COMPILE_CACHE: join(HULL_TEST_CACHE, "hull") }),
    ...(alone ? {} : { HULL_WORKER_BUNDLE, HULL_RUNNER_BUNDLE }),
  };
};

/**
 * What the servers of tests get in addition: the process of the Worker as the run bundled it. Commands that tests start in
 * another way start the one that users have.
 */
const forServers = (repo: string): Record<string, string> => ({
  ...shared(repo),
  ...(HULL_WORKER_PROCESS_BUNDLE === undefined || repo !== REPO ? {} : { HULL_WORKER_PROCESS_BUNDLE }),
});

/** The script that starts `hull`: what users start, or, for this checkout, the bundle of the run (`global-setup.ts`). */
export const hullScript = (repo: string, asEverybody = false): string =>
  asEverybody || repo !== REPO || HULL_CLI_BUNDLE === undefined
    ? join(repo, "bin", "hull.mjs")
    : HULL_CLI_BUNDLE;

/** The body types of `fetch`. */
export type Body = NonNullable<RequestInit["body"]>;

export interface HullDevOptions {
  /** Skill files by path below the skills folder, e.g. `hello/SKILL.md`; or a folder that is copied. */
  skills?: Record<string, string | Uint8Array> | string;
  /** Variables in addition to PATH, HOME and TMPDIR; the server sees nothing else of the test's own environment. */
  env?: Record<string, string>;
  /** Further files of the project folder, e.g. `.env`. */
  project?: Record<string, string>;
  /** Further flags, e.g. `--direct`. */
  args?: string[];
  /** The project's hull.toml names the folders of skills. */
  ownRoots?: true;
  /** The folder of Hull; default: this checkout. */
  repo?: string;
  /** Continues in the folder of an earlier server, which must have ended. */
  from?: HullDev;
}

export interface HullDev {
  /** Origin, e.g. `http://127.0.0.1:41234`. */
  url: string;
  pid: number;
  /** Holds `skills`, `state`, `tmp`, `home`. */
  root: string;
  stateDir: string;
  /** Everything that the server has printed so far, on stdout and stderr. */
  output(): string;
  /** Waits until the output from index `after` on matches; returns that part of the output. */
  printed(pattern: RegExp, after?: number): Promise<string>;
  /** Writes a file below the skills folder; a text that begins with `#!` becomes executable. */
  write(path: string, text: string): Promise<void>;
  /** Removes a file or folder below the skills folder. */
  remove(path: string): Promise<void>;
  /** Calls a route; `body` makes it a POST. */
  call(path: string, body?: Body, init?: RequestInit): Promise<Response>;
  /** Posts JSON. */
  post(path: string, body: object, headers?: Record<string, string>): Promise<Response>;
  /** Processes that belong to this server: command line by pid, itself included. */
  processes(): Map<number, string>;
  /** Sends a signal to `hull dev` itself and waits for its end; returns its exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>;
  /** Stops the server and removes its folder; throws if it leaves a process or a temporary file behind. */
  stop(): Promise<void>;
}

/** Starts `hull dev` on a free port and waits until it has published the skills. */
export async function startHullDev(options: HullDevOptions = {}): Promise<HullDev> {
  const { skills = {}, env = {}, project = {}, args = [], ownRoots, from, repo = REPO } = options;
  const root = from?.root ?? (await mkdtemp(join(SERVERS, "hull-e2e-")));
  const skillsDir = join(root, "skills");
  const stateDir = join(root, "state");
  const temporary = join(root, "tmp");
  // The runner's folder is in it: outside of the project.
  const cache = `${root}.cache`;
  for (const dir of [skillsDir, temporary, join(root, "home")]) await mkdir(dir, { recursive: true });
  if (typeof skills === "string") await cp(skills, skillsDir, { recursive: true });
  else for (const [path, text] of Object.entries(skills)) await writeIn(skillsDir, path, text);
  for (const [path, text] of Object.entries(project)) await writeIn(root, path, text);

  const roots = ownRoots === true ? [] : ["--skills", skillsDir];
  const flags = ["dev", "--port", "0", ...roots, "--state", stateDir, ...args];
  const child = spawn(process.execPath, [hullScript(repo), ...flags], {
    cwd: root,
    env: {
      PATH,
      HOME: join(root, "home"),
      TMPDIR: temporary,
      XDG_CACHE_HOME: cache,
      ...forServers(repo),
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  let exit: { code: number | null } | null = null;
  const exited = new Promise<number | null>((resolve) => {
    child.once("close", (code) => {
      exit = { code };
      resolve(code);
    });
  });
  const printed = async (pattern: RegExp, after = 0): Promise<string> =>
    until(
      () => {
        if (exit !== null) throw new Error(`hull dev ended with ${exit.code}:\n${output}`);
        return output.slice(after);
      },
      (text) => pattern.test(text),
    );
  const processes = (): Map<number, string> => processesBelow(root);
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    return exited;
  };
  const address = /Hull serves \d+ skills? on http:\/\/localhost:(\d+)/;
  try {
    await printed(address);
  } catch (error) {
    await end("SIGKILL");
    await until(processes, (left) => left.size === 0);
    for (const dir of [root, cache]) await removeTree(dir);
    throw error;
  }
  const url = `http://127.0.0.1:${address.exec(output)?.[1]}`;
  const call = (path: string, body?: Body, init: RequestInit = {}): Promise<Response> =>
    fetch(url + path, body === undefined ? init : { method: "POST", body, ...init });
  return {
    url,
    pid: child.pid ?? 0,
    root,
    stateDir,
    output: () => output,
    printed,
    write: (path, text) => writeIn(skillsDir, path, text),
    remove: (path) => rm(join(skillsDir, path), { recursive: true }),
    call,
    post: (path, body, headers) =>
      call(path, JSON.stringify(body), { headers: { "content-type": "application/json", ...headers } }),
    processes,
    end,
    async stop() {
      if (exit === null) await end("SIGTERM");
      await until(processes, (all) => all.size === 0).catch(() => {});
      const left = [...processes().values()];
      const files = await readdir(temporary, { recursive: true });
      const scratch = await readdir(join(stateDir, "runner", "scratch")).catch(() => []);
      for (const dir of [root, cache]) await removeTree(dir);
      if (left.length > 0) throw new Error(`processes left behind: ${left.join(", ")}`);
      if (files.length > 0) throw new Error(`temporary files left behind: ${files.join(", ")}`);
      if (scratch.length > 0) throw new Error(`scratch folders left behind: ${scratch.join(", ")}`);
    },
  };
}

/** The JSON body of a response, in the shape that the caller expects. */
export async function json<T = Record<string, unknown>>(response: Response): Promise<T> {
  const value: T = JSON.parse(await response.text());
  return value;
}

/** The environment of `hull` here, unless a test says otherwise. */
const environmentIn = (cwd: string, repo: string, env: Record<string, string>): Record<string, string> => ({
  PATH,
  HOME: cwd,
  TMPDIR: cwd,
  ...forServers(repo),
  ...env,
});

interface Command {
  cwd: string;
  /** Variables in addition to PATH, HOME and TMPDIR; nothing else of the test's own environment reaches it. */
  env?: Record<string, string>;
  /** The folder of Hull; default: this checkout. */
  repo?: string;
  /** The content of its standard input; empty by default. */
  stdin?: string | Uint8Array;
  /** Starts it as a process, as users do. */
  process?: true;
}

/**
 * Runs `hull` to its end; returns its exit code and its whole output. Starting a process takes longer than most commands
 * do, so the command runs in the test's own process unless there is a reason for another one. `hull dev` ends here only if
 * it refuses to start.
 */
export async function runHull(
  args: string[],
  { cwd, env = {}, repo = REPO, stdin, process: wanted }: Command,
): Promise<{ code: number | null; output: string }> {
  const isProcess = wanted === true || repo !== REPO || stdin !== undefined;
  const full = environmentIn(cwd, repo, env);
  if (!isProcess && !isBusy()) {
    const { code, printed } = await runHere(args, cwd, full);
    return { code, output: printed.map(({ text }) => text).join("") };
  }
  return hullProcess([hullScript(repo, wanted), ...args], cwd, full, stdin);
}

async function hullProcess(
  args: string[],
  cwd: string,
  env: Record<string, string>,
  stdin: string | Uint8Array = "",
): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, args, {
    cwd,
    env,
    stdio: ["pipe", "pipe", "pipe"],
  });
  // A command that does not read its input may end before it is written.
  child.stdin.on("error", () => {}).end(stdin);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, output };
}

export async function writeIn(folder: string, path: string, text: string | Uint8Array): Promise<void> {
  const target = join(folder, path);
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, text);
  if (typeof text === "string" && text.startsWith("#!")) await chmod(target, 0o755);
}

/** Every process whose environment or command line names the folder. */
export function processesBelow(root: string): Map<number, string> {
  const found = new Map<number, string>();
  for (const pid of otherProcesses()) {
    const command = commandOf(pid);
    if (command.includes(root) || ofProcess(pid, "environ").includes(root)) found.set(pid, command);
  }
  return found;
}
