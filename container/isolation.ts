/**
 * What the processes of executions are kept away from: the runner's uid, the network, the memory of
 * others. What was asked for as a promise (`--child-uid`, egress off) and cannot be kept stops the start; limits that
 * cannot be kept are logged and shown by `/readyz` and `/metrics`.
 */
import { execFile } from "node:child_process";
import { chmod, chown } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Cgroups, NoCgroups } from "./cgroup.ts";
import type { Commands } from "./commands.ts";
import { GATEWAY_PORT } from "./egress-proxy.ts";
import { APART_PROBE, LANDLOCK_FOR_FILES, LANDLOCK_FOR_SIGNALS } from "./landlock.ts";
import type { Launcher } from "./launcher.ts";
import { log } from "./log.ts";
import type { RunnerOptions } from "./options.ts";
import { OwnLauncher } from "./own-launcher.ts";
import { Pipes } from "./pipes.ts";
import { program } from "./programs.ts";
import type { SpawnerCommand } from "./spawner.ts";
import { Spawners } from "./spawners.ts";

/** The runner's promise about its processes cannot be kept on this system. */
export class CannotIsolate extends Error {
  override name = "CannotIsolate";
}

/** What holds for every process that this runner starts. */
export interface Enforced {
  /** They have a uid of their own. */
  uid: boolean;
  /** They have no network. */
  egress_off: boolean;
  /** Handlers of tools that declare no network have none. */
  declared_network: boolean;
  /** Handlers of tools that list hosts reach those alone. */
  declared_hosts: boolean;
  /** Files, memory and environments of one execution are closed to the processes of others. */
  apart: boolean;
  /** So are signals. */
  signals: boolean;
  memory: boolean;
  processes: boolean;
}

interface Isolation {
  launcher: Launcher;
  /** How the spawners were started, and how one is that has the network in any case; null: there are none. */
  spawners: SpawnerCommands | null;
  cgroups: Cgroups | null;
  /** The processes' group, when they have a uid of their own. */
  group: number | null;
  enforced: Enforced;
}

export interface SpawnerCommands {
  /** The interpreter that both start. */
  python: string;
  usual: SpawnerCommand;
  networked: SpawnerCommand;
  /** For handlers of tools that declare no network. */
  offline: SpawnerCommand;
  /** For handlers of tools that list hosts; null: no network can be made for them. */
  listed: (SpawnerCommand & { gateway: string }) | null;
  /** Whether the processes of different executions cannot signal each other. */
  signals: boolean;
}

/** How long a program that is tried may take. */
const PROBE_MS = 10_000;
const SYSTEM_PYTHON = "/usr/bin/python3";
/** It has what a spawner needs, and the processes' uid can start it and read its library, not only whoever changes to it. */
const PYTHON_PROBE = `import os, sys; os.POSIX_SPAWN_OPEN
os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", "import decimal"])`;

/**
 * Finds out what is possible, and starts the spawners in it. `state` must exist.
 * @throws CannotIsolate
 */
export async function isolate(options: RunnerOptions, commands: Commands, state: string): Promise<Isolation> {
  const { childUid, egress } = options;
  const promised = childUid !== null || !egress;
  const spawners = await findSpawners(options, commands, state);
  const launcher = spawners === null ? null : await Spawners.start(spawners.usual, options.spawners);
  if (launcher === null && promised) {
    throw new CannotIsolate(
      "processes are kept apart by spawners, and those need Linux, Python 3.8 and `--spawners` > 0",
    );
  }
  if (childUid !== null) {
    await chown(state, -1, childUid);
    await chmod(state, 0o710);
    // Files for processes are open to their group, which folders hand on, and to nobody else.
    process.umask(0o007);
  }
  const cgroups = openCgroups(options, launcher !== null);
  const kept = launcher === null ? null : spawners;
  return {
    launcher: launcher ?? new OwnLauncher(),
    spawners: launcher === null ? null : spawners,
    cgroups,
    group: childUid,
    enforced: {
      uid: childUid !== null,
      egress_off: !egress,
      declared_network: !egress || kept?.offline.sealed === true,
      declared_hosts: !egress || (kept?.listed ?? null) !== null,
      apart: (kept?.usual.state ?? null) !== null,
      signals: kept?.signals === true,
      memory: cgroups !== null && options.memoryBytes !== null,
      processes: cgroups !== null && options.maxProcesses !== null,
    },
  };
}

async function findSpawners(
  options: RunnerOptions,
  commands: Commands,
  state: string,
): Promise<SpawnerCommands | null> {
  if (options.spawners === 0 || process.platform !== "linux") {
    if (options.declaredNetwork && options.egress) notSealed("that needs Linux and spawners");
    return null;
  }
  const found = await commands.resolve("python3", state);
  const pythons = new Set([...(found === null ? [] : [found.file]), SYSTEM_PYTHON]);
  const failures: string[] = [];
  for (const prefix of prefixes(options)) {
    for (const python of pythons) {
      const argv = [...prefix, python];
      const failure = await probe([...argv, "-I", "-S", "-c", PYTHON_PROBE]);
      if (failure === null) {
        const apart = await canKeepApart(options, argv, state);
        await checkSkillsPath(options, argv, apart.state);
        const common = {
          private: options.childUid !== null,
          sealed: false,
          gateway: null,
          state: apart.state,
          warm: false,
        };
        const usual = { argv, ...common };
        const networked = { argv: [...toUid(options), python], ...common };
        const sealed = await canSeal(options, argv);
        const listed = await findListed(
          options,
          python,
          Pipes.directory(state, apart.state !== null),
          apart.state,
        );
        return { python, usual, networked, offline: { ...usual, sealed }, listed, signals: apart.signals };
      }
      failures.push(failure);
    }
  }
  const reason = failures.join("; ");
  if (options.childUid !== null || !options.egress) throw new CannotIsolate(reason);
  log("warn", "no_spawners", { reason });
  if (options.declaredNetwork) notSealed("that needs spawners");
  return null;
}

/** Whether processes can be started without network for themselves; where they are to be and cannot, the log says so. */
async function canSeal({ egress, declaredNetwork }: RunnerOptions, python: string[]): Promise<boolean> {
  if (!egress || !declaredNetwork) return false;
  const failure = await probe([...python, "-I", "-S", "-c", program("seal.py", "seal_probe.py")]);
  if (failure !== null) notSealed(failure);
  return failure === null;
}

/** Whether executions can be kept apart; where their uid is one of their own and they cannot, the log says so. */
async function canKeepApart(
  { childUid }: RunnerOptions,
  python: string[],
  state: string,
): Promise<{ state: string | null; signals: boolean }> {
  // With the runner's uid they are the runner's owner, as on a developer's machine.
  if (childUid === null) return { state: null, signals: false };
  const tried = (version: number): Promise<string | null> =>
    probe([...python, "-I", "-S", "-c", APART_PROBE, state, String(version)]);
  const failure = await tried(LANDLOCK_FOR_FILES);
  const noSignals = failure ?? (await tried(LANDLOCK_FOR_SIGNALS));
  if (noSignals !== null)
    log("warn", "executions_not_kept_apart", { files: failure === null, reason: noSignals });
  return { state: failure === null ? state : null, signals: noSignals === null };
}

/** Where executions cannot be shown their skills at /skills, the log says so. */
async function checkSkillsPath(
  { childUid }: RunnerOptions,
  python: string[],
  state: string | null,
): Promise<void> {
  const open = childUid !== null && state === null;
  const failure = open
    ? "executions are not kept apart"
    : await probe([...python, "-I", "-S", "-c", program("skills_path.py", "skills_path_probe.py"), "/usr"]);
  if (failure !== null) log("warn", "skills_path_not_shown", { reason: failure });
}

/** How spawners are started in networks of their own; null where none can be made, or none is wanted. */
async function findListed(
  options: RunnerOptions,
  python: string,
  dir: string,
  state: string | null,
): Promise<SpawnerCommands["listed"]> {
  if (!options.egress || !options.declaredNetwork) return null;
  const uid = toUid(options);
  const up = [python, "-I", "-S", "-c", program("loopback.py")];
  const ways = [
    ["unshare", "--net", "--", ...up, ...uid],
    [...uid, "unshare", "--user", "--map-current-user", "--keep-caps", "--net", "--", ...up],
  ];
  const failures: string[] = [];
  for (const way of ways) {
    const failure = await probe([...way, python, "-I", "-S", "-c", GATEWAY_PROBE]);
    const argv = [...way, python];
    if (failure === null)
      return {
        argv,
        private: options.childUid !== null,
        sealed: false,
        gateway: join(dir, "egress-proxy"),
        state,
        warm: false,
      };
    failures.push(failure);
  }
  log("warn", "declared_hosts_not_enforced", { reason: failures.join("; ") });
  return null;
}

const GATEWAY_PROBE = `import socket; socket.create_server(("127.0.0.1", ${GATEWAY_PORT}))`;

function notSealed(reason: string): void {
  log("warn", "declared_network_not_enforced", { reason });
}

/** What puts a program where it belongs: each as good as the others, the first that works is taken. */
function prefixes(options: RunnerOptions): string[][] {
  const uid = toUid(options);
  if (options.egress) return [uid];
  return [
    ["unshare", "--net", "--", ...uid],
    // Without privileges: in a user namespace, where the uid stays the same.
    [...uid, "unshare", "--user", "--map-current-user", "--net", "--"],
  ];
}

function toUid({ childUid, setpriv }: RunnerOptions): string[] {
  const drop = ["--clear-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"];
  return childUid === null ? [] : [setpriv, `--reuid=${childUid}`, `--regid=${childUid}`, ...drop, "--"];
}

/** Tries a command; answers what went wrong, or null. */
async function probe([file = "", ...args]: string[]): Promise<string | null> {
  try {
    await promisify(execFile)(file, args, { timeout: PROBE_MS, cwd: "/" });
    return null;
  } catch (error) {
    if (!(error instanceof Error)) return String(error);
    // What the program said; the message has all of the command before it.
    const said = "stderr" in error ? String(error.stderr).trim() : "";
    return (said === "" ? error.message.trim() : said).split("\n").slice(-2).join(": ");
  }
}

function openCgroups({ memoryBytes, maxProcesses }: RunnerOptions, spawners: boolean): Cgroups | null {
  if (memoryBytes === null && maxProcesses === null) return null;
  try {
    if (!spawners) throw new NoCgroups("there are no spawners");
    return Cgroups.open({ memoryBytes, maxProcesses });
  } catch (error) {
    if (!(error instanceof NoCgroups)) throw error;
    log("warn", "limits_not_enforced", {
      memory_bytes: memoryBytes,
      max_processes: maxProcesses,
      reason: error.message,
    });
    return null;
  }
}
