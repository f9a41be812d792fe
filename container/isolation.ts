/**
 * Protects the runner's uid, the network, and the memory of other executions against the processes of executions. If a
 * promised protection (`--child-uid`, egress off) is impossible, the runner does not start. Limits that cannot be
 * enforced are logged, and shown by `/readyz` and `/metrics`.
 */
import { execFile } from "node:child_process";
import { chmod, chown } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import * as z from "zod/mini";
import { Cgroups, NoCgroups } from "./cgroup.ts";
import type { Commands } from "./commands.ts";
import { DirectLauncher } from "./direct-launcher.ts";
import { GATEWAY_PORT } from "./egress-proxy.ts";
import type { Launcher } from "./launcher.ts";
import { log } from "./log.ts";
import type { RunnerOptions } from "./options.ts";
import { Pipes } from "./pipes.ts";
import { programSource } from "./program-source.ts";
import type { SpawnerCommand } from "./spawner.ts";
import { Spawners } from "./spawners.ts";

/** On this system, the runner cannot keep its promise about its processes. */
export class CannotIsolate extends Error {
  override name = "CannotIsolate";
}

/** The protections in force for every process that this runner starts. */
export interface Enforced {
  /** Whether processes have a uid of their own. */
  uid: boolean;
  /** Whether processes have no network. */
  egress_off: boolean;
  /** Whether handlers of tools that declare no network have none. */
  declared_network: boolean;
  /** Whether handlers of tools that list hosts reach only those hosts. */
  declared_hosts: boolean;
  /** Whether processes cannot reach the files, memory and environments of other executions. */
  apart: boolean;
  /** Whether they cannot send signals to other executions. */
  signals: boolean;
  memory: boolean;
  processes: boolean;
}

export interface Isolation {
  launcher: Launcher;
  /** How to start the spawners, and one that always has the network; null: there are none. */
  spawners: SpawnerCommands | null;
  cgroups: Cgroups | null;
  /** The processes' group, if they have a uid of their own. */
  group: number | null;
  enforced: Enforced;
}

export interface SpawnerCommands {
  /** The interpreter for both. */
  python: string;
  usual: SpawnerCommand;
  networked: SpawnerCommand;
  /** For handlers of tools that declare no network. */
  offline: SpawnerCommand;
  /**
   * For commands without network or with listed hosts, if the kernel permits it: each execution has its own loopback.
   * Null: the runner starts commands as it starts handlers.
   */
  loopback: SpawnerCommand | null;
  /** For handlers of tools that list hosts; null: the system permits no network for them. */
  listed: (SpawnerCommand & { gateway: string }) | null;
  /** Whether the processes of an execution cannot signal those of another one. */
  signals: boolean;
}

/** Time limit of a program that checks the system. */
const PROBE_MS = 10_000;
const SYSTEM_PYTHON = "/usr/bin/python3";
/** The results of programs/checks.py: for each check `null`, or why it failed. */
const checks = z.object({
  /** Python has the functions that a spawner needs. */
  python: z.nullable(z.string()),
  /** Landlock isolates files, memory and environments. */
  files: z.nullable(z.string()),
  /** Landlock also restricts signals to an execution. */
  signals: z.nullable(z.string()),
  skills_path: z.nullable(z.string()),
  seccomp: z.nullable(z.string()),
});
type Checks = z.infer<typeof checks>;

/**
 * Finds out which protections are possible, and starts the spawners accordingly. `state` must exist.
 * @throws CannotIsolate
 */
export async function isolate(options: RunnerOptions, commands: Commands, state: string): Promise<Isolation> {
  const { childUid, egress } = options;
  const promised = childUid !== null || !egress;
  const spawners = await findSpawners(options, commands, state);
  const launcher = spawners === null ? null : await Spawners.start(spawners.usual, options.spawners);
  if (launcher === null && promised) {
    throw new CannotIsolate(
      "processes are isolated by spawners, and those need Linux, Python 3.8 and `--spawners` > 0",
    );
  }
  if (childUid !== null) {
    await chown(state, -1, childUid);
    await chmod(state, 0o710);
    // Only their group can access files for processes; folders pass the group on.
    process.umask(0o007);
  }
  const cgroups = openCgroups(options, launcher !== null);
  const kept = launcher === null ? null : spawners;
  return {
    launcher: launcher ?? new DirectLauncher(),
    spawners: kept,
    cgroups,
    group: childUid,
    enforced: {
      uid: childUid !== null,
      egress_off: !egress,
      declared_network: !egress || kept?.offline.seccomp === true,
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
    if (options.declaredNetwork && options.egress) warnOfNetwork("that needs Linux and spawners");
    return null;
  }
  const found = await commands.resolve("python3", state);
  const pythons = new Set([...(found === null ? [] : [found.file]), SYSTEM_PYTHON]);
  const failures: string[] = [];
  for (const prefix of prefixes(options)) {
    for (const python of pythons) {
      const argv = [...prefix, python];
      const checked = await check(argv, state);
      if (checked.python === null) return spawnersWith(options, { python, argv }, checked, state);
      failures.push(checked.python);
    }
  }
  const reason = failures.join("; ");
  if (options.childUid !== null || !options.egress) throw new CannotIsolate(reason);
  log("warn", "no_spawners", { reason });
  if (options.declaredNetwork) warnOfNetwork("that needs spawners");
  return null;
}

/** How to start the spawners with an interpreter that has passed the check of Python. */
async function spawnersWith(
  options: RunnerOptions,
  { python, argv }: { python: string; argv: string[] },
  checked: Checks,
  state: string,
): Promise<SpawnerCommands> {
  const landlock = landlockSupport(options, checked, state);
  warnOfSkillsPath(options, checked, landlock.state);
  const usual = {
    argv,
    private: options.childUid !== null,
    seccomp: false,
    networkNamespaces: false,
    gateway: null,
    state: landlock.state,
    warm: false,
  };
  const seccomp = canBlockNetwork(options, checked);
  const hidden = !usual.private || usual.state !== null;
  const apart = hidden && (seccomp || !options.egress);
  const gateway = join(Pipes.directory(state, landlock.state !== null), "egress-proxy");
  return {
    python,
    usual,
    networked: { ...usual, argv: [...toUid(options), python] },
    offline: { ...usual, seccomp },
    loopback: apart ? { ...usual, networkNamespaces: true } : null,
    listed: await findListed(options, python, { ...usual, gateway }),
    signals: landlock.signals,
  };
}

/** Whether processes can be started without network individually; if this is wanted but impossible, the log says so. */
function canBlockNetwork({ egress, declaredNetwork }: RunnerOptions, { seccomp }: Checks): boolean {
  if (!egress || !declaredNetwork) return false;
  if (seccomp !== null) warnOfNetwork(seccomp);
  return seccomp === null;
}

/**
 * The folder in which Landlock isolates executions. If their uid is not the runner's and Landlock cannot isolate them,
 * the log says so.
 */
function landlockSupport(
  { childUid }: RunnerOptions,
  { files, signals }: Checks,
  state: string,
): { state: string | null; signals: boolean } {
  // Processes with the runner's uid act as the runner's owner, as on a developer's machine.
  if (childUid === null) return { state: null, signals: false };
  const reason = files ?? signals;
  if (reason !== null) log("warn", "executions_not_kept_apart", { files: files === null, reason });
  return { state: files === null ? state : null, signals: reason === null };
}

/** Logs a warning if executions cannot see their skills at /skills. */
function warnOfSkillsPath({ childUid }: RunnerOptions, { skills_path }: Checks, state: string | null): void {
  const open = childUid !== null && state === null;
  const reason = open ? "executions are not isolated from each other" : skills_path;
  if (reason !== null) log("warn", "skills_path_not_shown", { reason });
}

/** How to start spawners in networks of their own; null if the system permits none, or none is wanted. */
async function findListed(
  options: RunnerOptions,
  python: string,
  usual: NonNullable<SpawnerCommands["listed"]>,
): Promise<SpawnerCommands["listed"]> {
  if (!options.egress || !options.declaredNetwork) return null;
  const uid = toUid(options);
  const up = [python, "-I", "-S", "-c", programSource("loopback.py", "loopback_main.py")];
  const ways = [
    ["unshare", "--net", "--", ...up, ...uid],
    [...uid, "unshare", "--user", "--map-current-user", "--keep-caps", "--net", "--", ...up],
  ];
  const listens = programSource("gateway_probe.py");
  const failures: string[] = [];
  for (const way of ways) {
    const failure = await probe([...way, python, "-I", "-S", "-c", listens, String(GATEWAY_PORT)]);
    if (failure === null) return { ...usual, argv: [...way, python] };
    failures.push(failure);
  }
  log("warn", "declared_hosts_not_enforced", { reason: failures.join("; ") });
  return null;
}

function warnOfNetwork(reason: string): void {
  log("warn", "declared_network_not_enforced", { reason });
}

/** Commands that start a program in its place. All are equally good; the runner uses the first that works. */
function prefixes(options: RunnerOptions): string[][] {
  const uid = toUid(options);
  if (options.egress) return [uid];
  return [
    ["unshare", "--net", "--", ...uid],
    // Without privileges: a user namespace, in which the uid stays the same.
    [...uid, "unshare", "--user", "--map-current-user", "--net", "--"],
  ];
}

function toUid({ childUid, setpriv }: RunnerOptions): string[] {
  const drop = ["--clear-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"];
  return childUid === null ? [] : [setpriv, `--reuid=${childUid}`, `--regid=${childUid}`, ...drop, "--"];
}

/** What an interpreter, and the commands before it, can do for processes. */
async function check(python: string[], state: string): Promise<Checks> {
  const text = programSource("namespaces.py", "landlock.py", "seccomp.py", "skills_path.py", "checks.py");
  try {
    const printed = await output([...python, "-I", "-S", "-c", text, state]);
    const results = Array.from(printed.matchAll(/(\w+)=(.*?)\0/gs), ([, name, failure]) => [
      name,
      failure || null,
    ]);
    return checks.parse(Object.fromEntries(results));
  } catch (error) {
    const reason = errorText(error);
    return { python: reason, files: reason, signals: reason, skills_path: reason, seccomp: reason };
  }
}

/** Tries a command; returns its error, or null. */
async function probe(command: string[]): Promise<string | null> {
  try {
    await output(command);
    return null;
  } catch (error) {
    return errorText(error);
  }
}

async function output([file = "", ...args]: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(file, args, { timeout: PROBE_MS, cwd: "/" });
  return stdout;
}

function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // The program's own words; the error's message would begin with the whole command.
  const said = "stderr" in error ? String(error.stderr).trim() : "";
  return (said === "" ? error.message.trim() : said).split("\n").slice(-2).join(": ");
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
