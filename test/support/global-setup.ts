/** Done once before the tests that start servers: Worker and runner are bundled, and Node gets a place for what it compiles. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleRunner } from "../../scripts/dev/runner.ts";
import { bundleWorker } from "../../scripts/dev/worker-bundle.ts";
import { REPO } from "./hull-dev.ts";

export async function setup(): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "hull-tests-"));
  process.env.HULL_WORKER_BUNDLE = join(folder, "worker.mjs");
  // Stays for the next run: Node looks at what a module says, so nothing in it is ever wrong.
  process.env.HULL_TEST_CACHE = join(REPO, "node_modules", ".cache", "hull-tests");
  process.env.HULL_RUNNER_BUNDLE = join(folder, "runner.cjs");
  const [worker] = await Promise.all([
    bundleWorker(REPO, "src/worker.ts"),
    bundleRunner(REPO, process.env.HULL_RUNNER_BUNDLE),
  ]);
  await writeFile(process.env.HULL_WORKER_BUNDLE, worker);
  return () => rm(folder, { recursive: true });
}
