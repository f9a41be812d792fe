/**
 * Stored workflows, and the list of a tenant's workflow runs: rows in D1 (docs/storage-schema.md). The run's own object
 * is authoritative; its row is written later.
 */

import * as z from "zod/mini";
import WORKFLOWS from "../../../migrations/0010_workflows.sql?raw";
import RECORDS from "../../../migrations/0018_workflow_records.sql?raw";
import RUNS_BY_STATUS from "../../../migrations/0032_workflow_runs_by_status.sql?raw";
import { firstOf } from "../../cut.ts";
import { jsonColumn, matching, type OwnTables, ownTables } from "../../database.ts";
import { statusOf } from "../../engine/workflow/document.ts";
import type { Graph } from "../../engine/workflow/graph.ts";
import { totalOutcomes, type WorkflowState } from "../../engine/workflow/state.ts";
import type { Owner } from "../../env.ts";
import { pageOfRows } from "../../list-page.ts";
import type { Redactor } from "../../redact.ts";
import { type NewestFirst, newestFirst, type Wanted } from "../newest-first.ts";
import { entryOf, type RunEntry } from "../run-entry.ts";
import { forgetRuns, noteRuns } from "../run-index.ts";
import { type KnownWorkflow, knownWorkflow, type ListedRun, listedRun } from "./listed.ts";

/** The most characters of a task, and of a workflow's name, in a list. */
const SHOWN_TASK = 200;
const SHOWN_NAME = 128;

const stored = z.lazy(() => z.extend(knownWorkflow(), { graph: jsonColumn<Graph>() }));
/** One version of a workflow. */
export type StoredWorkflow = z.infer<typeof stored>;

const listed = z.lazy(knownWorkflow);
const run = z.lazy(listedRun);

const own = (owner: Owner): OwnTables => ownTables(owner, WORKFLOWS + RUNS_BY_STATUS);
/** A table of its own holds the paths of records, since few runs name one. */
const records = (owner: Owner): OwnTables => ownTables(owner, RECORDS);

/**
 * Stores a graph as the next version under a name. A graph that equals the last version adds no version.
 * @param digest SHA-256 (hex) of the graph
 */
export async function storeWorkflow(
  owner: Owner,
  { name, digest, graph }: { name: string; digest: string; graph: Graph },
): Promise<Pick<KnownWorkflow, "name" | "version" | "digest"> & { created: boolean }> {
  for (;;) {
    const last = await workflowNamed(owner, name, null);
    if (last?.digest === digest) return { name, version: last.version, digest, created: false };
    const version = (last?.version ?? 0) + 1;
    const insert = `INSERT INTO workflows (tenant, name, version, digest, graph, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
      ON CONFLICT DO NOTHING`;
    const values = [name, version, digest, JSON.stringify(graph), new Date().toISOString()];
    const changed = await own(owner).run(insert, values);
    // If nothing changed, another request has taken the number meanwhile.
    if (changed > 0) return { name, version, digest, created: true };
  }
}

/** @param version `null`: the last one @returns `null` if there is none */
export function workflowNamed(
  owner: Owner,
  name: string,
  version: number | null,
): Promise<StoredWorkflow | null> {
  const [conditions, values] = matching({ name, version });
  const query = `SELECT name, version, digest, graph, created_at FROM workflows
    WHERE tenant = ?1 ${conditions} ORDER BY version DESC LIMIT 1` as const;
  return own(owner).first(stored, query, values);
}

/** The last versions of a tenant's workflows, sorted by name. */
export async function listWorkflows(owner: Owner, limit: number, after: string) {
  const query = `SELECT name, max(version) AS version, digest, created_at FROM workflows
    WHERE tenant = ?1 AND name > ?2 GROUP BY name ORDER BY name LIMIT ?3`;
  const rows = await own(owner).rows(listed, query, [after, limit + 1]);
  return pageOfRows(rows, limit, ({ name }) => name);
}

/** Removes a workflow; returns whether it existed. Runs that began with it continue. */
export async function removeWorkflow(owner: Owner, name: string): Promise<boolean> {
  const changed = await own(owner).run("DELETE FROM workflows WHERE tenant = ?1 AND name = ?2", [name]);
  return changed > 0;
}

/** The run's state as lists show it. A run that waits for a person shows that, whatever else it does. */
export function listedAs(state: WorkflowState): string {
  const { finished, paused, stopped, visits } = state;
  const asks = visits.some(({ wait }) => wait?.approval != null && wait.answer === null);
  return asks && finished === null && !paused && stopped === null ? "awaiting_approval" : statusOf(state);
}

/**
 * @param id of the run's session; routes find the run under it
 * @param redactor for texts that the list shows cut
 */
export async function noteWorkflowRun(
  owner: Owner,
  id: string,
  state: WorkflowState,
  redactor: Redactor,
): Promise<void> {
  const { spec, began, finished } = state;
  const name = firstOf(redactor.text(spec.workflow?.name ?? spec.graph.name), SHOWN_NAME);
  const {
    total_cost: cost_usd,
    price_known = true,
    ...tokens
  } = totalOutcomes([...state.stages, ...state.compensations]);
  const times = { created_at: began, settled_at: finished?.at ?? null };
  const run = entryOf({ id, session: id }, times, {
    kind: "workflow",
    name,
    // Its stages are runs with models of their own.
    model: null,
    state: listedAs(state),
    input_tokens: tokens.input_tokens,
    output_tokens: tokens.output_tokens,
    cost_usd,
    price_known,
    code: finished?.error?.code ?? null,
  });
  const row = await own(owner).prepared(
    `INSERT INTO workflow_runs (tenant, id, workflow, task, status, created_at, finished_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
     ON CONFLICT (tenant, id) DO UPDATE SET task = ?4, status = ?5, finished_at = ?7`,
    [
      id,
      name,
      firstOf(redactor.text(spec.task), SHOWN_TASK),
      statusOf(state),
      run.created_at,
      run.settled_at,
    ],
  );
  const { persist_path } = spec;
  const path = persist_path === undefined ? [] : [await recordRow(owner, persist_path, run)];
  await noteRuns(owner.env, [{ tenant: owner.tenant, run }], [row, ...path]);
}

function recordRow(owner: Owner, path: string, { id, created_at }: RunEntry): Promise<D1PreparedStatement> {
  const insert = `INSERT INTO workflow_records (tenant, path, run, created_at) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (tenant, path) DO UPDATE SET run = excluded.run, created_at = excluded.created_at
      WHERE excluded.created_at >= workflow_records.created_at`;
  return records(owner).prepared(insert, [path, id, created_at]);
}

/** The run that wrote its record last at a path that its request named; `null`: there is none. */
export async function runWithRecordAt(owner: Owner, path: string): Promise<string | null> {
  const query = "SELECT run FROM workflow_records WHERE tenant = ?1 AND path = ?2";
  return (await records(owner).first(z.object({ run: z.string() }), query, [path]))?.run ?? null;
}

export async function forgetWorkflowRun(owner: Owner, id: string): Promise<void> {
  await own(owner).run("DELETE FROM workflow_runs WHERE tenant = ?1 AND id = ?2", [id]);
  await records(owner).run("DELETE FROM workflow_records WHERE tenant = ?1 AND run = ?2", [id]);
  await forgetRuns(owner, [id]);
}

/**
 * A tenant's workflow runs, the newest first, one page at a time.
 * @throws BadRequest for a cursor that no page returned
 */
export function listWorkflowRuns(
  owner: Owner,
  { status, ...page }: Wanted & { status: string | null },
): Promise<NewestFirst<ListedRun>> {
  const [conditions, values] = matching({ status });
  const query = `SELECT id, workflow, task, status, created_at, finished_at FROM workflow_runs
    WHERE tenant = ?1 ${conditions}` as const;
  return newestFirst(own(owner), run, [query, values], page);
}
