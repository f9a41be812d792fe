/** Done once before the tests that start servers: Worker and runner are bundled, and Node gets a place for what it compiles. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { bundleRunner } from "../../scripts/dev/runner.ts";
import { bundleWorker, writeModules } from "../../scripts/dev/worker-bundle.ts";
import { REPO } from "./hull-dev.ts";

export async function setup({ config }: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(config.env.TMPDIR ?? tmpdir(), "hull-tests-"));
  process.env.HULL_WORKER_BUNDLE = join(folder, "worker");
  // Stays for the next run: Node looks at what a module says, so nothing in it is ever wrong.
  process.env.HULL_TEST_CACHE = join(REPO, "node_modules", ".cache", "hull-tests");
  process.env.HULL_RUNNER_BUNDLE = join(folder, "runner.cjs");
  process.env.PATH = [await pythonFolder(), process.env.PATH].join(delimiter);
  const [worker] = await Promise.all([
    bundleWorker(REPO),
    bundleRunner(REPO, process.env.HULL_RUNNER_BUNDLE),
  ]);
  await writeModules(process.env.HULL_WORKER_BUNDLE, worker);
  return () => rm(folder, { recursive: true });
}

/** The folder of Python itself: a version manager's shim takes longer to start than a runner does, and each runner asks it. */
async function pythonFolder(): Promise<string> {
  const { stdout } = await promisify(execFile)("python3", ["-c", "import sys; print(sys.executable)"]);
  return dirname(stdout.trim());
}
