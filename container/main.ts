/**
 * The runner: it runs scripts and tools as processes.
 *
 *   node container/main.ts --port P --state DIR [--host H] [--secret-file F] [--concurrency N] [--queue N]
 *     [--queue-timeout-ms N] [--grace-ms N] [--drain-ms N] [--bundle-bytes N] [--workspace-bytes N] [--journal-bytes N] [--journal-ms N]
 *     [--spawners N] [--child-uid N] [--setpriv FILE] [--memory-bytes N] [--max-processes N] [--network declared|open] [--installs on|off] [--install-ms N] [--exit-with-parent]
 *
 * `--network open` gives handlers the network whatever their tools declare. `HULL_RUNNER_EGRESS=off` takes the network away
 * from all processes that the runner starts. `--installs on|off` says whether packages of Python handlers are fetched; the
 * default is on if processes reach the network.
 *
 * Prints `{"event":"listening","port":N}` to stdout when it is ready, and logs to stderr.
 */
import { readFileSync, statSync } from "node:fs";
import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/mini";
import en from "zod/v4/locales/en.js";
import { Auth, MIN_SECRET_CHARS } from "./auth.ts";
import { Bundles } from "./bundles.ts";
import { Commands } from "./commands.ts";
import { Dependencies } from "./dependencies.ts";
import { EgressProxy } from "./egress-proxy.ts";
import { inheritedEnvironment, installerEnvironment } from "./environment.ts";
import { Executions } from "./executions.ts";
import { Handlers } from "./handlers.ts";
import { CannotIsolate, isolate } from "./isolation.ts";
import { Journal } from "./journal.ts";
import { JournalCipher } from "./journal-cipher.ts";
import { Launchers } from "./launchers.ts";
import { flushLog, log, reasonOf } from "./log.ts";
import { parseOptions, type RunnerOptions, UsageError } from "./options.ts";
import { Pipes } from "./pipes.ts";
import { AdmissionQueue } from "./queue.ts";
import { Refused } from "./refusal.ts";
import { ScratchRoot } from "./scratch.ts";
import { makeServer } from "./server.ts";
import { SkillFolders } from "./skill-folders.ts";
import { Workspaces } from "./workspaces.ts";

/** How long running work may continue after the runner's parent is gone, when nobody can receive an answer. */
const PARENT_GONE_GRACE_MS = 500;

async function run(options: RunnerOptions): Promise<void> {
  const auth = new Auth(options.secretFile === null);
  if (options.secretFile !== null) {
    const secret = readFileSync(options.secretFile, "utf8").trim();
    if (secret.length < MIN_SECRET_CHARS) {
      throw new UsageError(
        `the secret in ${options.secretFile} has fewer than ${MIN_SECRET_CHARS} characters`,
      );
    }
    if (options.childUid !== null && (statSync(options.secretFile).mode & 0o077) !== 0) {
      throw new CannotIsolate(`others than its owner can read ${options.secretFile}`);
    }
    auth.setSecret(secret);
  }

  await mkdir(options.stateDir, { recursive: true, mode: 0o700 });
  const state = await realpath(options.stateDir);
  const limits = { bytes: options.journalBytes, ms: options.journalMs };
  const inherited = inheritedEnvironment(process.env);
  const commands = new Commands(inherited);
  const { launcher, spawners, cgroups, group, enforced } = await isolate(options, commands, state);
  const journal = await Journal.open(join(state, "journal"), limits, new JournalCipher(() => auth.secret));
  const leftover = await launcher.killProcessesOf(new Set(journal.lost()));
  if (leftover > 0) log("warn", "leftover_processes_killed", { count: leftover });
  const scratch = new ScratchRoot(join(state, "scratch"), group, (path) => launcher.openTree(path));
  const pipes = new Pipes(Pipes.directory(state, enforced.apart), group);
  const bundles = new Bundles(join(state, "bundles"), options.bundleBytes, group);
  const workspaces = new Workspaces(join(state, "workspaces"), options.workspaceBytes, group, (path) =>
    launcher.openTree(path),
  );
  const python =
    spawners === null
      ? await commands.resolve("python3", state)
      : { file: spawners.python, argv0: spawners.python };
  const dependencies = new Dependencies({
    dir: join(state, "packages"),
    network: options.installs,
    limitMs: options.installMs,
    bundles,
    cgroups,
    launcher,
    pipes,
    python,
    scratch,
    environment: installerEnvironment(process.env),
    networked: options.egress || !options.installs ? null : (spawners?.networked ?? null),
  });
  await pipes.prepare();
  const gateway = enforced.declared_hosts ? (spawners?.listed?.gateway ?? null) : null;
  const egressProxy = gateway === null ? null : await EgressProxy.open(gateway, process.env);
  const launchers = new Launchers({
    launcher,
    spawners,
    egress: options.egress,
    egressProxy,
    count: options.spawners,
  });
  const handlers = new Handlers({
    dir: join(state, "programs"),
    group,
    commands,
    dependencies,
    inherited,
    launchers,
    limitsMemory: cgroups !== null && cgroups.memoryBytes !== null,
    python,
  });
  const skillFolders = new SkillFolders(join(state, "skills"), bundles, group);
  const folders = [scratch, bundles, workspaces, handlers, skillFolders];
  await Promise.all(folders.map((folder) => folder.prepare()));

  const services = {
    bundles,
    cgroups,
    commands,
    handlers,
    inherited,
    journal,
    launcher,
    pipes,
    scratch,
    skillFolders,
    workspaces,
  };
  const executions = new Executions(services);
  const queue = new AdmissionQueue(options);
  let draining = false;
  const server = makeServer({
    auth,
    executions,
    queue,
    bundles,
    workspaces,
    journal,
    enforced,
    draining: () => draining,
  });

  /** Gives running work `waitMs` to end, then ends it. Writes everything to disk and exits. */
  const drain = async (waitMs: number, graceMs: number): Promise<void> => {
    draining = true;
    log("info", "draining", { running: queue.running, wait_ms: waitMs });
    queue.close(
      new Refused("runner_draining", "The runner is shutting down and takes no new work.", {
        retry_after_s: 2,
      }),
    );
    const stop = setTimeout(() => executions.stopAll(graceMs), waitMs);
    await executions.idle();
    clearTimeout(stop);
    // Every answer that has begun is sent to its end; idle connections are closed.
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeIdleConnections();
    const last = new Promise<void>((resolve) => setTimeout(resolve, graceMs + 1000).unref());
    await Promise.race([closed, last]);
    journal.close();
    await Promise.all([...folders, pipes, dependencies].map((part) => part.close()));
    await Promise.race([launcher.close(), last]);
    log("info", "stopped");
    flushLog();
    process.exit(0);
  };
  const leave = (waitMs: number, graceMs: number): void => {
    if (draining) executions.stopAll(graceMs);
    else void drain(waitMs, graceMs).catch(crash);
  };
  const crash = (error: unknown): void => {
    log("error", "crashed", {
      reason: error instanceof Error ? (error.stack ?? error.message) : reasonOf(error),
    });
    executions.killAll();
    void launcher.close();
    flushLog();
    process.exit(1);
  };
  process.on("uncaughtException", crash);
  // The reader of the log may end before this process, which must not leave work unfinished because of that.
  process.stderr.on("error", () => undefined);
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => leave(options.drainMs, options.graceMs));
  }
  if (options.exitWithParent) {
    process.stdin.resume();
    process.stdin.once("close", () => leave(0, Math.min(options.graceMs, PARENT_GONE_GRACE_MS)));
  }

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
