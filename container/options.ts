/** The runner's command line. */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";

export interface RunnerOptions {
  /** 0 lets the system choose. */
  port: number;
  host: string;
  /** Folder of bundles, journal and scratch. */
  stateDir: string;
  /** Null: `PUT /v1/secret` delivers the secret once. */
  secretFile: string | null;
  /** The most simultaneous executions. */
  concurrency: number;
  /** Places in the queue. */
  queue: number;
  queueTimeoutMs: number;
  /** The most simultaneous MCP servers. */
  mcpServers: number;
  /** Time between SIGTERM and SIGKILL for processes that the drain stops. */
  graceMs: number;
  /** Time for running work after SIGTERM. */
  drainMs: number;
  /** Disk for unpacked bundles; above it the least recently used are removed. */
  bundleBytes: number;
  /** Disk for sessions' folders; above it the folders unused for longest are removed. */
  workspaceBytes: number;
  journalBytes: number;
  journalMs: number;
  /** The number of processes that start the executions' processes; 0: the runner starts them itself. */
  spawners: number;
  /** The uid, and gid, of the executions' processes; null: the runner's own. */
  childUid: number | null;
  /** The program that changes the uid: `setpriv`, or a copy of it that has the capabilities which the runner lacks. */
  setpriv: string;
  /** Limit of each execution, by cgroup; null: no limit. */
  memoryBytes: number | null;
  maxProcesses: number | null;
  /** Whether processes reach the network. */
  egress: boolean;
  /** Whether handlers of tools that declare no network get none; otherwise they have the network of every process. */
  declaredNetwork: boolean;
  /** Whether the packages of Python handlers may be fetched. */
  installs: boolean;
  /** Time limit of one installation of packages. */
  installMs: number;
  /** Exit when stdin ends, because the runner's parent is then gone. */
  exitWithParent: boolean;
}

export class UsageError extends Error {
  override name = "UsageError";
}

const NUMBERS = {
  port: { fallback: 0, least: 0, most: 65535 },
  concurrency: { fallback: Math.max(4, 2 * availableParallelism()), least: 1, most: 4096 },
  queue: { fallback: 256, least: 0, most: 65536 },
  "queue-timeout-ms": { fallback: 10_000, least: 1, most: 600_000 },
  "mcp-servers": { fallback: Math.max(8, 4 * availableParallelism()), least: 0, most: 4096 },
  "grace-ms": { fallback: 2000, least: 0, most: 600_000 },
  "drain-ms": { fallback: 30_000, least: 0, most: 3_600_000 },
  "bundle-bytes": { fallback: 4 * 1024 ** 3, least: 1, most: Number.MAX_SAFE_INTEGER },
  "workspace-bytes": { fallback: 2 * 1024 ** 3, least: 1, most: Number.MAX_SAFE_INTEGER },
  "journal-bytes": { fallback: 1024 ** 3, least: 0, most: Number.MAX_SAFE_INTEGER },
  "journal-ms": { fallback: 600_000, least: 0, most: 86_400_000 },
  "install-ms": { fallback: 180_000, least: 1, most: 3_600_000 },
  spawners: { fallback: Math.min(4, availableParallelism()), least: 0, most: 64 },
} as const;

/** Numbers without a default. */
const OPTIONAL = {
  "child-uid": { least: 1, most: 2 ** 31 },
  "memory-bytes": { least: 1024 ** 2, most: Number.MAX_SAFE_INTEGER },
  "max-processes": { least: 1, most: 4_194_304 },
} as const;

/**
 * Reads the flags of `container/main.ts`; from `environment` `HULL_RUNNER_FLAGS`, which come before them, and
 * `HULL_RUNNER_EGRESS`.
 * @throws UsageError for an unknown flag, a missing `--state` or a value out of range.
 */
export function parseOptions(argv: string[], environment: NodeJS.ProcessEnv): RunnerOptions {
  const text = { type: "string" } as const;
  const names = [...Object.keys(NUMBERS), ...Object.keys(OPTIONAL)];
  const options = {
    host: text,
    state: text,
    "secret-file": text,
    setpriv: text,
    installs: text,
    network: text,
    "exit-with-parent": { type: "boolean" } as const,
    ...Object.fromEntries(names.map((name) => [name, text])),
  };
  let values: Record<string, string | boolean | undefined>;
  try {
    const first = (environment.HULL_RUNNER_FLAGS ?? "").split(" ").filter(Boolean);
    ({ values } = parseArgs({ args: [...first, ...argv], options, strict: true }));
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
  const within = (name: string, least: number, most: number): number | null => {
    if (values[name] === undefined) return null;
    const value = Number(values[name]);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new UsageError(`--${name} must be an integer from ${least} to ${most}`);
  };
  const number = (name: keyof typeof NUMBERS): number =>
    within(name, NUMBERS[name].least, NUMBERS[name].most) ?? NUMBERS[name].fallback;
  const optional = (name: keyof typeof OPTIONAL): number | null =>
    within(name, OPTIONAL[name].least, OPTIONAL[name].most);
  const string = (name: string): string | null => {
    const value = values[name];
    return typeof value === "string" && value !== "" ? value : null;
  };
  const stateDir = string("state");
  if (stateDir === null) throw new UsageError("--state DIR is required");
  const egress = readSwitch("HULL_RUNNER_EGRESS", environment.HULL_RUNNER_EGRESS ?? "on");
  return {
    port: number("port"),
    host: string("host") ?? "127.0.0.1",
    stateDir,
    secretFile: string("secret-file"),
    concurrency: number("concurrency"),
    queue: number("queue"),
    queueTimeoutMs: number("queue-timeout-ms"),
    mcpServers: number("mcp-servers"),
    graceMs: number("grace-ms"),
    drainMs: number("drain-ms"),
    bundleBytes: number("bundle-bytes"),
    workspaceBytes: number("workspace-bytes"),
    journalBytes: number("journal-bytes"),
    journalMs: number("journal-ms"),
    spawners: number("spawners"),
    childUid: optional("child-uid"),
    setpriv: string("setpriv") ?? "setpriv",
    memoryBytes: optional("memory-bytes"),
    maxProcesses: optional("max-processes"),
    egress,
    declaredNetwork:
      readWord("--network", string("network") ?? "declared", ["declared", "open"]) === "declared",
    // Without network, handlers cannot install their packages either, unless the flags say otherwise.
    installs: readSwitch("--installs", string("installs") ?? (egress ? "on" : "off")),
    installMs: number("install-ms"),
    exitWithParent: values["exit-with-parent"] === true,
  };
}

function readSwitch(name: string, value: string): boolean {
  return readWord(name, value, ["on", "off"]) === "on";
}

function readWord(name: string, value: string, [first, second]: [string, string]): string {
  if (value === first || value === second) return value;
  throw new UsageError(`${name} must be \`${first}\` or \`${second}\``);
}
