/** The Worker's cron triggers in `hull dev`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { removeTree } from "../../container/tree.ts";
import { startDirect } from "../../scripts/dev/direct.ts";
import { REPO_DIR, TYPESCRIPT_FLAGS } from "../../scripts/dev/paths.ts";
import { fireTriggers } from "../../scripts/dev/triggers.ts";
import type { StartedWorker, WorkerInput, WorkerOptions } from "../../scripts/dev/worker.ts";
import { ENTRY } from "../../scripts/dev/worker-modules.ts";
import { startWrangler } from "../../scripts/dev/wrangler.ts";
import { bindingsOf } from "../../scripts/dev/wrangler-toml.ts";

const WORKER = `export default {
  fetch: () => new Response("here"),
  scheduled: ({ cron }) => console.log("fired " + cron),
};`;
const DATE = "2026-10-20";

/** Options of a Worker that logs which trigger fired. */
function workerOptions(crons: string[]): Omit<WorkerOptions, "variables" | "onLine"> {
  const repoDir = mkdtempSync(join(tmpdir(), "hull-triggers-"));
  onTestFinished(() => removeTree(repoDir));
  mkdirSync(join(repoDir, "assets"));
  writeFileSync(join(repoDir, ENTRY), WORKER);
  writeFileSync(
    join(repoDir, "wrangler.toml"),
    `name = "hull"\nmain = "${ENTRY}"\ncompatibility_date = "${DATE}"\n`,
  );
  const config = {
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
    triggers: { crons },
    ratelimits: [],
  };
  return { repoDir, config, host: "127.0.0.1", port: 0, stateDir: join(repoDir, "state") };
}

test.each<[string, (options: WorkerOptions) => Promise<StartedWorker>]>([
  ["workerd", (options) => startDirect(options, options.repoDir)],
  ["wrangler", startWrangler],
])("%s calls the scheduled handler", async (_, start) => {
  const lines: string[] = [];
  const worker = await start({
    ...workerOptions([]),
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

/** A module that makes a process's clock, and its timer of a minute, a thousand times as fast. */
const FAST_CLOCK = `
const [now, every, begun] = [Date.now, setInterval, Date.now()];
Date.now = () => begun + (now() - begun) * 1000;
globalThis.setInterval = (look, ms) => every(look, ms === 60_000 ? 60 : ms);`;

test("the process of the Worker fires the triggers of wrangler.toml", async () => {
  const options = workerOptions(["*/5 * * * *"]);
  const input: WorkerInput = { ...options, bundle: options.repoDir, variables: [] };
  const program = join(REPO_DIR, "scripts/dev/worker-process.ts");
  const clock = `data:text/javascript,${encodeURIComponent(FAST_CLOCK)}`;
  const child = spawn(process.execPath, [...TYPESCRIPT_FLAGS, "--import", clock, program], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  try {
    child.stdin.write(`${JSON.stringify(input)}\n`);
    await expect.poll(() => output).toContain("fired */5 * * * *");
  } finally {
    child.stdin.end();
    await once(child, "close");
  }
});

test("the triggers of the deployment fire in their minutes, once for those that the machine slept through", async () => {
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
