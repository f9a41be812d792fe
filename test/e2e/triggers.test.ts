/** The Worker's cron triggers in `hull dev`. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { removeTree } from "../../container/tree.ts";
import { startDirect } from "../../scripts/dev/direct.ts";
import { REPO_DIR } from "../../scripts/dev/paths.ts";
import { fireTriggers } from "../../scripts/dev/triggers.ts";
import { ENTRY } from "../../scripts/dev/worker-bundle.ts";
import type { StartedWorker, WorkerOptions } from "../../scripts/dev/worker-process.ts";
import { startWrangler } from "../../scripts/dev/wrangler.ts";
import { bindingsOf } from "../../scripts/dev/wrangler-toml.ts";

const WORKER = `export default {
  fetch: () => new Response("here"),
  scheduled: ({ cron }) => console.log("fired " + cron),
};`;
const DATE = "2026-10-20";

test.each<[string, (options: WorkerOptions) => Promise<StartedWorker>]>([
  ["workerd", (options) => startDirect(options, options.repoDir)],
  ["wrangler", startWrangler],
])("%s calls the scheduled handler", async (_, start) => {
  const repoDir = mkdtempSync(join(tmpdir(), "hull-triggers-"));
  onTestFinished(() => removeTree(repoDir));
  mkdirSync(join(repoDir, "assets"));
  writeFileSync(join(repoDir, ENTRY), WORKER);
  writeFileSync(
    join(repoDir, "wrangler.toml"),
    `name = "hull"\nmain = "${ENTRY}"\ncompatibility_date = "${DATE}"\n`,
  );
  const lines: string[] = [];
  const worker = await start({
    repoDir,
    config: {
      main: ENTRY,
      compatibility_date: DATE,
      compatibility_flags: [],
      kv_namespaces: [],
      d1_databases: [],
      r2_buckets: [],
      durable_objects: { bindings: [] },
      worker_loaders: [],
      assets: { binding: "ASSETS", directory: "assets" },
      ai: [],
      triggers: { crons: [] },
      ratelimits: [],
    },
    host: "127.0.0.1",
    port: 0,
    stateDir: join(repoDir, "state"),
    variables: new Map(),
    onLine: (line) => lines.push(line),
  });
  try {
    await worker.scheduled("*/5 * * * *");
    await expect.poll(() => lines).toContain("fired */5 * * * *");
  } finally {
    await worker.stop();
  }
});

test("the triggers of the deployment fire in the minutes that they name, once for those that the machine slept", async () => {
  const { triggers } = await bindingsOf(REPO_DIR);
  vi.useFakeTimers({ now: Date.parse("2026-01-05T10:02:30Z") });
  onTestFinished(() => void vi.useRealTimers());
  const fired: string[] = [];
  fireTriggers([...triggers.crons, "30 10 * * *"], (cron) =>
    fired.push(`${new Date().toISOString().slice(11, 16)} ${cron}`),
  );
  vi.advanceTimersByTime(9 * 60_000);
  expect(fired).toEqual(["10:05 */5 * * * *", "10:10 */5 * * * *"]);
  vi.setSystemTime(Date.parse("2026-01-05T14:01:30Z"));
  vi.advanceTimersByTime(60_000);
  expect(fired.slice(2)).toEqual(["14:02 */5 * * * *", "14:02 30 10 * * *"]);
});
