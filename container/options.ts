/** The runner's command line. */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import * as z from "zod/mini";

export class UsageError extends Error {
  override name = "UsageError";
}

const MOST = Number.MAX_SAFE_INTEGER;

const integer = (least: number, most: number) =>
  z.pipe(
    z.transform(Number),
    z.custom<number>(
      (value) => typeof value === "number" && Number.isInteger(value) && value >= least && value <= most,
      `must be an integer from ${least} to ${most}`,
    ),
  );
const optional = (least: number, most: number) => z._default(z.nullable(integer(least, most)), null);
/** An empty text counts as none. */
const text = <T>(otherwise: T) =>
  z.pipe(
    z.optional(z.string()),
    z.transform((given) => given || otherwise),
  );
const word = <const T extends readonly [string, string]>([first, second]: T) =>
  z.enum([first, second], `must be \`${first}\` or \`${second}\``);
const SWITCH = word(["on", "off"]);

/** The flags in camel case: `queueTimeoutMs` is `--queue-timeout-ms`. */
const flags = z.object({
  /** 0 lets the system choose. */
  port: z._default(integer(0, 65535), 0),
  host: text("127.0.0.1"),
  /** Folder of bundles, journal and scratch. */
  state: text(null),
  /** Null: `PUT /v1/secret` delivers the secret once. */
  secretFile: text(null),
  /** The most simultaneous executions. */
  concurrency: z._default(integer(1, 4096), Math.max(4, 2 * availableParallelism())),
  /** Places in the queue. */
  queue: z._default(integer(0, 65536), 256),
  queueTimeoutMs: z._default(integer(1, 600_000), 10_000),
  /** The most simultaneous MCP servers. */
  mcpServers: z._default(integer(0, 4096), Math.max(8, 4 * availableParallelism())),
  /** Time between SIGTERM and SIGKILL for processes that the drain stops. */
  graceMs: z._default(integer(0, 600_000), 2000),
  /** Time for running work after SIGTERM. */
  drainMs: z._default(integer(0, 3_600_000), 30_000),
  /** Disk for unpacked bundles; above it the least recently used are removed. */
  bundleBytes: z._default(integer(1, MOST), 4 * 1024 ** 3),
  /** Disk for sessions' folders; above it the folders unused for longest are removed. */
  workspaceBytes: z._default(integer(1, MOST), 2 * 1024 ** 3),
  journalBytes: z._default(integer(0, MOST), 1024 ** 3),
  journalMs: z._default(integer(0, 86_400_000), 600_000),
  /** The number of processes that start the executions' processes; 0: the runner starts them itself. */
  spawners: z._default(integer(0, 64), Math.min(4, availableParallelism())),
  /** The uid, and gid, of the executions' processes; null: the runner's own. */
  childUid: optional(1, 2 ** 31),
  /** The program that changes the uid: `setpriv`, or a copy of it that has the capabilities which the runner lacks. */
  setpriv: text("setpriv"),
  /** Limit of each execution, by cgroup; null: no limit. */
  memoryBytes: optional(1024 ** 2, MOST),
  maxProcesses: optional(1, 4_194_304),
  /** Whether handlers of tools that declare no network get none; otherwise they have the network of every process. */
  network: z.pipe(text("declared"), word(["declared", "open"])),
  /** Whether the packages of Python handlers may be fetched; null: if processes reach the network. */
  installs: z.pipe(text(null), z.nullable(SWITCH)),
  /** Time limit of one installation of packages. */
  installMs: z._default(integer(1, 3_600_000), 180_000),
  /** Exit when stdin ends, because the runner's parent is then gone. */
  exitWithParent: z._default(z.boolean(), false),
});

export type RunnerOptions = ReturnType<typeof parseOptions>;

/**
 * Reads the flags of `container/main.ts`; from `environment` `HULL_RUNNER_FLAGS`, which come before them, and
 * `HULL_RUNNER_EGRESS`, which says whether processes reach the network.
 * @throws UsageError for an unknown flag, a missing `--state` or a value out of range.
 */
export function parseOptions(argv: string[], environment: NodeJS.ProcessEnv) {
  const names = Object.keys(flags.shape).map((name) => [kebab(name), name] as const);
  const known = names.map(([flag, name]) => {
    const type: "boolean" | "string" = name === "exitWithParent" ? "boolean" : "string";
    return [flag, { type }] as const;
  });
  const first = (environment.HULL_RUNNER_FLAGS ?? "").split(" ").filter(Boolean);
  let given: Record<string, unknown>;
  try {
    given = parseArgs({ args: [...first, ...argv], options: Object.fromEntries(known), strict: true }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
  const read = flags.safeParse(Object.fromEntries(names.map(([flag, name]) => [name, given[flag]])));
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new UsageError(`--${kebab(String(issue?.path[0]))} ${issue?.message}`);
  }
  const { state, network, installs, ...options } = read.data;
  if (state === null) throw new UsageError("--state DIR is required");
  const asked = SWITCH.safeParse(environment.HULL_RUNNER_EGRESS ?? "on");
  if (!asked.success) throw new UsageError(`HULL_RUNNER_EGRESS ${asked.error.issues[0]?.message}`);
  const egress = asked.data === "on";
  return {
    ...options,
    stateDir: state,
    egress,
    declaredNetwork: network === "declared",
    // Without network, handlers cannot install their packages either, unless the flags say otherwise.
    installs: installs === null ? egress : installs === "on",
  };
}

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
