/** The runner's command line (serving.md §6.3 names the defaults). */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";

export interface RunnerOptions {
  /** 0 lets the system choose. */
  port: number;
  host: string;
  /** Bundles, journal and scratch live here. */
  stateDir: string;
  /** Without it the secret is delivered once by `PUT /v1/secret`. */
  secretFile: string | null;
  /** Most simultaneous executions. */
  concurrency: number;
  /** Waiting places. */
  queue: number;
  queueTimeoutMs: number;
  /** Between SIGTERM and SIGKILL for processes that the drain stops. */
  graceMs: number;
  /** What running work gets after SIGTERM. */
  drainMs: number;
  /** Unpacked bundles may take this much disk before the least recently used go. */
  bundleBytes: number;
  journalBytes: number;
  journalMs: number;
  /** Leave when stdin ends: whoever started this runner is gone. */
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
  "grace-ms": { fallback: 2000, least: 0, most: 600_000 },
  "drain-ms": { fallback: 30_000, least: 0, most: 3_600_000 },
  "bundle-bytes": { fallback: 4 * 1024 ** 3, least: 1, most: Number.MAX_SAFE_INTEGER },
  "journal-bytes": { fallback: 1024 ** 3, least: 0, most: Number.MAX_SAFE_INTEGER },
  "journal-ms": { fallback: 600_000, least: 0, most: 86_400_000 },
} as const;

/**
 * Reads the flags of `container/main.ts`.
 * @throws UsageError for an unknown flag, a missing `--state` or a value out of range.
 */
export function parseOptions(argv: string[]): RunnerOptions {
  const text = { type: "string" } as const;
  const names = Object.keys(NUMBERS);
  const options = {
    host: text,
    state: text,
    "secret-file": text,
    "exit-with-parent": { type: "boolean" } as const,
    ...Object.fromEntries(names.map((name) => [name, text])),
  };
  let values: Record<string, string | boolean | undefined>;
  try {
    ({ values } = parseArgs({ args: argv, options, strict: true }));
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
  const number = (name: keyof typeof NUMBERS): number => {
    const { fallback, least, most } = NUMBERS[name];
    const value = values[name] === undefined ? fallback : Number(values[name]);
    if (!Number.isInteger(value) || value < least || value > most) {
      throw new UsageError(`--${name} must be an integer from ${least} to ${most}`);
    }
    return value;
  };
  const string = (name: string): string | null => {
    const value = values[name];
    return typeof value === "string" && value !== "" ? value : null;
  };
  const stateDir = string("state");
  if (stateDir === null) throw new UsageError("--state DIR is required");
  return {
    port: number("port"),
    host: string("host") ?? "127.0.0.1",
    stateDir,
    secretFile: string("secret-file"),
    concurrency: number("concurrency"),
    queue: number("queue"),
    queueTimeoutMs: number("queue-timeout-ms"),
    graceMs: number("grace-ms"),
    drainMs: number("drain-ms"),
    bundleBytes: number("bundle-bytes"),
    journalBytes: number("journal-bytes"),
    journalMs: number("journal-ms"),
    exitWithParent: values["exit-with-parent"] === true,
  };
}
