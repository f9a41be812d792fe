/** Runs one case of a workflow's tests in a running Hull. */
import { setTimeout as sleep } from "node:timers/promises";
import type { WorkflowRequest, WorkflowRun } from "../../typed/client/api.d.ts";
import type { AdminClient } from "../admin-client.ts";
import { CommandError, EXIT } from "../command.ts";
import { type Difference, differences } from "./expectations.ts";
import type { WorkflowTestCase } from "./test-file.ts";

/** The shortest and the longest time between two requests, in ms. */
const ASKS_MS = 10;
const MOST_MS = 250;

/** The exit codes for faults of the case itself. */
const REFUSALS: readonly number[] = [EXIT.usage, EXIT.failed, EXIT.missing, EXIT.timed_out];

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
  const path = { id };
  const run = await settled(server, id, { until: Date.now() + timeout_ms, virtual_time });
  const found = differences(expect, run);
  if (run.finished_at === null) await end(server, id);
  if (found.length === 0) await server.ask("DELETE /workflows/runs/{id}", { path });
  return { file, name, ok: found.length === 0, run_id: id, differences: found };
}

/** The run's id; or why Hull refused the request. */
async function begin(server: AdminClient, json: WorkflowRequest): Promise<string | Difference> {
  try {
    const query = { wait: "none" } as const;
    return (await server.ask("POST /workflows/execute", { query, json }, { needs: ["id"] })).id;
  } catch (error) {
    if (!(error instanceof CommandError) || !REFUSALS.includes(error.exit)) throw error;
    return { path: "request", expected: "a run", actual: error.message };
  }
}

/** Ends a run that may have ended by itself meanwhile. */
async function end(server: AdminClient, id: string): Promise<void> {
  try {
    await server.ask("POST /workflows/runs/{id}/kill", { path: { id } });
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== "workflow_ended") throw error;
  }
}

/** The record once the run has ended, waits for input from outside, or has no time left. */
async function settled(
  server: AdminClient,
  id: string,
  { until, virtual_time }: { until: number; virtual_time: boolean },
): Promise<WorkflowRun> {
  for (let wait = ASKS_MS; ; wait = Math.min(wait * 2, MOST_MS)) {
    const run = await server.ask(
      "GET /workflows/runs/{id}",
      { path: { id } },
      { needs: ["status", "finished_at"] },
    );
    // Virtual time has already passed, so a waiting run cannot continue by itself.
    const stuck = run.status === "paused" || (virtual_time && run.status === "waiting");
    if (run.finished_at !== null || stuck || Date.now() >= until) return run;
    await sleep(wait);
  }
}
