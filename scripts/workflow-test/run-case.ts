/** Runs one case of a workflow's tests in a running Hull. */
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "../../src/skill/manifest.ts";
import { type AdminClient, pathOf } from "../admin-client.ts";
import { CommandError, EXIT } from "../command.ts";
import { type Difference, differences, type RunRecord, runRecord } from "./expectations.ts";
import type { WorkflowTestCase } from "./test-file.ts";

/** The shortest and the longest time between two requests, in ms. */
const ASKS_MS = 10;
const MOST_MS = 250;

/** The exit codes for faults of the case itself. */
const REFUSALS: readonly number[] = [EXIT.usage, EXIT.failed, EXIT.missing];

export interface CaseResult {
  file: string;
  name: string;
  ok: boolean;
  /** The run, which still exists if the case failed; `null`: none began. */
  run_id: string | null;
  differences: Difference[];
}

/**
 * Runs a case until its run has ended, or cannot continue by itself. Removes the run of a case that passed. Throws
 * `CommandError` where the server cannot be reached or refuses the key.
 */
export async function runCase(
  server: AdminClient,
  { file, name, request, virtual_time, expect }: WorkflowTestCase,
  timeout_ms: number,
): Promise<CaseResult> {
  const id = await begin(server, request);
  if (typeof id !== "string") return { file, name, ok: false, run_id: null, differences: [id] };
  const path = pathOf("/workflows/runs", id);
  const run = await settled(server, path, { until: Date.now() + timeout_ms, virtual_time });
  const found = differences(expect, run);
  if (run.finished_at === null) await server.send("POST", `${path}/kill`, {});
  if (found.length === 0) await server.send("DELETE", path);
  return { file, name, ok: found.length === 0, run_id: id, differences: found };
}

/** The run's id; or why Hull refused the request. */
async function begin(server: AdminClient, request: JsonObject): Promise<string | Difference> {
  try {
    const { run }: { run: { id: string } } = JSON.parse(
      await server.send("POST", "/workflows/execute?wait=none", request),
    );
    return run.id;
  } catch (error) {
    if (!(error instanceof CommandError) || !REFUSALS.includes(error.exit)) throw error;
    return { path: "request", expected: "a run", actual: error.message };
  }
}

/** The record once the run has ended, waits for input from outside, or has no time left. */
async function settled(
  server: AdminClient,
  path: string,
  { until, virtual_time }: { until: number; virtual_time: boolean },
): Promise<RunRecord> {
  for (let wait = ASKS_MS; ; wait = Math.min(wait * 2, MOST_MS)) {
    const run = runRecord.parse(JSON.parse(await server.send("GET", path)));
    // Virtual time has already passed, so a waiting run cannot continue by itself.
    const stuck = run.status === "paused" || (virtual_time && run.status === "waiting");
    if (run.finished_at !== null || stuck || Date.now() >= until) return run;
    await sleep(wait);
  }
}
