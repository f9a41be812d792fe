/**
 * The runner: it runs scripts and tools as processes.
 *
 *   node container/main.ts --port P --state DIR [--host H] [--secret-file F] [--concurrency N] [--queue N]
 *     [--queue-timeout-ms N] [--mcp-servers N] [--grace-ms N] [--drain-ms N] [--bundle-bytes N]
 *     [--workspace-bytes N] [--journal-bytes N] [--journal-ms N] [--spawners N] [--child-uid N] [--setpriv FILE]
 *     [--memory-bytes N] [--max-processes N] [--network declared|open] [--installs on|off] [--install-ms N]
 *     [--exit-with-parent]
 *
 * `--network open` gives handlers the network whatever their tools declare. `HULL_RUNNER_EGRESS=off` takes the network away
 * from all processes that the runner starts. `--installs on|off` says whether packages of Python handlers are fetched; the
 * default is on if processes reach the network.
 *
 * Prints `{"event":"listening","port":N}` to stdout when it is ready, and logs to stderr.
 */
import { readFileSync, statSync } from "node:fs";
import { mkdir, realpath } from "node:fs/promises";
import type { Server } from "node:http";
import * as z from "zod/mini";
import en from "zod/v4/locales/en.js";
import { Auth, MIN_SECRET_CHARS } from "./auth.ts";
import { Executions } from "./executions.ts";
import { CannotIsolate } from "./isolation.ts";
import { flushLog, log, reasonOf } from "./log.ts";
import { parseOptions, type RunnerOptions, UsageError } from "./options.ts";
import { openParts } from "./parts.ts";
import { AdmissionQueue } from "./queue.ts";
import { Refused } from "./refusal.ts";
import { makeServer } from "./server.ts";

/** How long running work may continue after the runner's parent is gone, when nobody can receive an answer. */
const PARENT_GONE_GRACE_MS = 500;

async function run(options: RunnerOptions): Promise<void> {
  const auth = authOf(options);
  await mkdir(options.stateDir, { recursive: true, mode: 0o700 });
  const parts = await openParts(options, await realpath(options.stateDir), () => auth.secret);
  const { services, enforced } = parts;
  const executions = new Executions(services);
  const queue = new AdmissionQueue(options);
  const servers = new AdmissionQueue({ ...options, concurrency: options.mcpServers });
  let draining = false;
  const server = makeServer({
    ...services,
    auth,
    executions,
    queue,
    servers,
    enforced,
    draining: () => draining,
  });

  /** Gives running work `waitMs` to end, then ends it. Writes everything to disk and exits. */
  const drain = async (waitMs: number, graceMs: number): Promise<void> => {
    draining = true;
    log("info", "draining", { running: queue.running, wait_ms: waitMs });
    const reason = new Refused("runner_draining", "The runner is shutting down and takes no new work.", {
      retry_after_s: 2,
    });
    for (const places of [queue, servers]) places.close(reason);
    const stop = setTimeout(() => executions.stopAll(graceMs), waitMs);
    await executions.idle();
    clearTimeout(stop);
    const last = new Promise<void>((resolve) => setTimeout(resolve, graceMs + 1000).unref());
    await Promise.race([ended(server), last]);
    await parts.close();
    await Promise.race([services.launcher.close(), last]);
    log("info", "stopped");
    flushLog();
    process.exit(0);
  };
  const crash = (error: unknown): void => {
    log("error", "crashed", {
      reason: error instanceof Error ? (error.stack ?? error.message) : reasonOf(error),
    });
    executions.killAll();
    void services.launcher.close();
    flushLog();
    process.exit(1);
  };
  const leave = (waitMs: number, graceMs: number): void => {
    if (draining) executions.stopAll(graceMs);
    else void drain(waitMs, graceMs).catch(crash);
  };
  handleTermination(options, leave, crash);
  listen(server, options);
}

/** @throws UsageError, CannotIsolate */
function authOf({ secretFile, childUid }: RunnerOptions): Auth {
  const auth = new Auth(secretFile === null);
  if (secretFile === null) return auth;
  const secret = readFileSync(secretFile, "utf8").trim();
  if (secret.length < MIN_SECRET_CHARS)
    throw new UsageError(`the secret in ${secretFile} has fewer than ${MIN_SECRET_CHARS} characters`);
  if (childUid !== null && (statSync(secretFile).mode & 0o077) !== 0)
    throw new CannotIsolate(`other users than its owner can read ${secretFile}`);
  auth.setSecret(secret);
  return auth;
}

/** Resolves when every answer that has begun is sent to its end; closes idle connections. */
function ended(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  return closed;
}

/** Calls `leave` for the signals that end the runner and for the end of its parent, and `crash` for an uncaught error. */
function handleTermination(
  { drainMs, graceMs, exitWithParent }: RunnerOptions,
  leave: (waitMs: number, graceMs: number) => void,
  crash: (error: unknown) => void,
): void {
  process.on("uncaughtException", crash);
  // The reader of the log may end before this process, which must not leave work unfinished because of that.
  process.stderr.on("error", () => undefined);
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => leave(drainMs, graceMs));
  if (exitWithParent) {
    process.stdin.resume();
    process.stdin.once("close", () => leave(0, Math.min(graceMs, PARENT_GONE_GRACE_MS)));
  }
}

/** Prints the port as soon as the server listens on it. */
function listen(server: Server, options: RunnerOptions): void {
  server.listen(options.port, options.host, () => {
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : options.port;
    process.stdout.write(`${JSON.stringify({ event: "listening", port })}\n`);
  });
  server.once("error", (error) => {
    log("error", "not_listening", { reason: reasonOf(error) });
    flushLog();
    process.exit(1);
  });
}

/** The words for a schema's refusals; zod/mini has none of its own. */
z.config(en());

const failToStart = (error: unknown): void => {
  const usage = error instanceof UsageError || error instanceof CannotIsolate;
  log("error", "not_started", { reason: usage ? error.message : reasonOf(error) });
  flushLog();
  process.exitCode = usage ? 2 : 1;
};
try {
  run(parseOptions(process.argv.slice(2), process.env)).catch(failToStart);
} catch (error) {
  failToStart(error);
}
