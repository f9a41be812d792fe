/**
 * Runs once before the tests that start servers: bundles the Worker, its process, the runner and the command line, and
 * gives Node a place for compiled code.
 */
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { bundleRunner } from "../../scripts/dev/runner.ts";
import { workerFolder } from "../../scripts/dev/worker-bundle.ts";
import { bundleCli } from "./cli-bundle.ts";
import { REPO } from "./hull-dev.ts";
import { until } from "./runner.ts";
import { bundleWorkerProcess } from "./worker-process-bundle.ts";

/** How long a shared server may take to end after the last test. */
const ENDED_MS = 60_000;

export async function setup({ config }: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(config.env.TMPDIR ?? tmpdir(), "hull-tests-"));
  // A test may start the runner with another uid.
  await chmod(folder, 0o711);
  // Kept for the next run. Node compares the content of a module, so nothing in it is ever out of date.
  process.env.HULL_TEST_CACHE = join(REPO, "node_modules", ".cache", "hull-tests");
  process.env.HULL_RUNNER_BUNDLE = join(folder, "runner.cjs");
  const servers = join(folder, "servers");
  await mkdir(servers);
  process.env.HULL_TEST_SERVERS = servers;
  process.env.PATH = [await pythonFolder(), process.env.PATH].join(delimiter);
  const [worker, cli, workerProcess] = await Promise.all([
    // In the servers' cache: those that wrangler serves look for it there, too.
    workerFolder(join(folder, "worker"), join(process.env.HULL_TEST_CACHE, "hull", "made")),
    bundleCli(REPO, process.env.HULL_TEST_CACHE),
    bundleWorkerProcess(REPO, process.env.HULL_TEST_CACHE),
    bundleRunner(REPO, process.env.HULL_RUNNER_BUNDLE),
  ]);
  process.env.HULL_WORKER_BUNDLE = worker;
  process.env.HULL_CLI_BUNDLE = cli;
  process.env.HULL_WORKER_PROCESS_BUNDLE = workerProcess;
  return async () => {
    const faults = await faultsOf(servers);
    await rm(folder, { recursive: true });
    if (faults.length > 0)
      throw new Error(`Servers that files of tests share did not end well: ${faults.join("; ")}`);
  };
}

/** The faults of the servers that test files shared (`common-hull.ts`), once each server has ended. */
async function faultsOf(servers: string): Promise<string[]> {
  const read = async (): Promise<string[]> =>
    Promise.all(
      (await readdir(servers)).map((name) => readFile(join(servers, name), "utf8").catch(() => "gone")),
    );
  const faults = await until(read, (texts) => !texts.includes(""), ENDED_MS);
  return faults.filter((text) => text !== "gone");
}

/** The folder of Python itself: a version manager's shim takes longer to start than a runner does, and each runner asks it. */
async function pythonFolder(): Promise<string> {
  const { stdout } = await promisify(execFile)("python3", ["-c", "import sys; print(sys.executable)"]);
  return dirname(stdout.trim());
}
