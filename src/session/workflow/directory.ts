/**
 * Stored workflows, and the list of a tenant's workflow runs: rows in D1 (docs/storage-schema.md). The run's own object
 * is authoritative; its row is written later.
 */

import * as z from "zod/mini";
import WORKFLOWS from "../../../migrations/0010_workflows.sql?raw";
import RECORDS from "../../../migrations/0018_workflow_records.sql?raw";
import { firstOf } from "../../cut.ts";
import { jsonColumn, pageOfRows, Tables } from "../../database.ts";
import { statusOf } from "../../engine/workflow/document.ts";
import type { Graph } from "../../engine/workflow/graph.ts";
import { totalOutcomes, type WorkflowState } from "../../engine/workflow/state.ts";
import type { Bindings } from "../../env.ts";
import { type NewestFirst, newestFirst, type Wanted } from "../newest-first.ts";
import { figuresOf, type RunEntry } from "../run-entry.ts";
import { forgetRuns, noteRuns } from "../run-index.ts";
import { type KnownWorkflow, knownWorkflow, type ListedRun, listedRun } from "./listed.ts";

/** The most characters of a task in a list. */
const SHOWN_TASK = 200;

const stored = z.lazy(() => z.extend(knownWorkflow(), { graph: jsonColumn<Graph>() }));
/** One version of a workflow. */
export type StoredWorkflow = z.infer<typeof stored>;

const listed = z.lazy(knownWorkflow);
const run = z.lazy(listedRun);

const tables = ({ DB }: Bindings): Tables => new Tables(DB, WORKFLOWS);
/** The paths of records are apart, since few runs have one of their own. */
const records = ({ DB }: Bindings): Tables => new Tables(DB, RECORDS);

/**
 * Stores a graph as the next version under a name. A graph that equals the last version adds no version.
 * @param digest SHA-256 (hex) of the graph
 */
export async function storeWorkflow(
  env: Bindings,
  tenant: string,
  { name, digest, graph }: { name: string; digest: string; graph: Graph },
): Promise<Pick<KnownWorkflow, "name" | "version" | "digest"> & { created: boolean }> {
  for (;;) {
    const last = await workflowNamed(env, tenant, name, null);
    if (last?.digest === digest) return { name, version: last.version, digest, created: false };
    const version = (last?.version ?? 0) + 1;
    const insert = `INSERT INTO workflows (tenant, name, version, digest, graph, created_at) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT DO NOTHING`;
    const changed = await tables(env).run(insert, [
      tenant,
      name,
      version,
      digest,
      JSON.stringify(graph),
      new Date().toISOString(),
    ]);
    // If nothing changed, another request has taken the number meanwhile.
    if (changed > 0) return { name, version, digest, created: true };
  }
}

/** @param version `null`: the last one @returns `null` if there is none */
export async function workflowNamed(
  env: Bindings,
  tenant: string,
  name: string,
  version: number | null,
): Promise<StoredWorkflow | null> {
  const query = `SELECT name, version, digest, graph, created_at FROM workflows
    WHERE tenant = ?1 AND name = ?2 AND (?3 IS NULL OR version = ?3) ORDER BY version DESC LIMIT 1`;
  return tables(env).first(stored, query, [tenant, name, version]);
}

/** The last versions of a tenant's workflows, sorted by name. */
export async function listWorkflows(env: Bindings, tenant: string, limit: number, after: string) {
  const query = `SELECT name, max(version) AS version, digest, created_at FROM workflows
    WHERE tenant = ?1 AND name > ?2 GROUP BY name ORDER BY name LIMIT ?3`;
  const rows = await tables(env).rows(listed, query, [tenant, after, limit + 1]);
  return pageOfRows(rows, limit, ({ name }) => name);
}

/** Removes a workflow; returns whether it existed. Runs that began with it continue. */
export async function removeWorkflow(env: Bindings, tenant: string, name: string): Promise<boolean> {
  const changed = await tables(env).run("DELETE FROM workflows WHERE tenant = ? AND name = ?", [
    tenant,
    name,
  ]);
  return changed > 0;
}

/** The run's state as lists show it. A run that waits for a person shows that, whatever else it does. */
export function listedAs(state: WorkflowState): string {
  const { finished, paused, stopped, visits } = state;
  const asks = visits.some(({ wait }) => wait?.approval != null && wait.answer === null);
  return asks && finished === null && !paused && stopped === null ? "awaiting_approval" : statusOf(state);
}

/** @param session the session of the run; routes find the run under its id */
export async function noteWorkflowRun(
  env: Bindings,
  { tenant, id }: { tenant: string; id: string },
  state: WorkflowState,
): Promise<void> {
  const { spec, began, finished } = state;
  const name = spec.workflow?.name ?? spec.graph.name;
  const {
    total_cost: cost_usd,
    price_known = true,
    ...tokens
  } = totalOutcomes([...state.stages, ...state.compensations]);
  const times = { status: listedAs(state), created_at: began, settled_at: finished?.at ?? null };
  const figures = figuresOf(times, { ...tokens, cost_usd, price_known });
  const code = finished?.error?.code ?? null;
  const run: RunEntry = { id, kind: "workflow", name, session: id, ...figures, code };
  const row = await tables(env).prepared(
    `INSERT INTO workflow_runs (tenant, id, workflow, task, status, created_at, finished_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
     ON CONFLICT (tenant, id) DO UPDATE SET task = ?4, status = ?5, finished_at = ?7`,
    [tenant, id, name, firstOf(spec.task, SHOWN_TASK), statusOf(state), run.created_at, run.settled_at],
  );
  const { persist_path } = spec;
  const path = persist_path === undefined ? [] : [await recordRow(env, { tenant, id, persist_path }, run)];
  await noteRuns(env, [{ tenant, run }], [row, ...path]);
}

async function recordRow(
  env: Bindings,
  { tenant, id, persist_path }: { tenant: string; id: string; persist_path: string },
  { created_at }: Pick<RunEntry, "created_at">,
): Promise<D1PreparedStatement> {
  const insert = `INSERT INTO workflow_records (tenant, path, run, created_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (tenant, path) DO UPDATE SET run = excluded.run, created_at = excluded.created_at
      WHERE excluded.created_at >= workflow_records.created_at`;
  return records(env).prepared(insert, [tenant, persist_path, id, created_at]);
}

/** The run that wrote its record last at a path that its request named; `null`: there is none. */
export async function runWithRecordAt(env: Bindings, tenant: string, path: string): Promise<string | null> {
  const query = "SELECT run FROM workflow_records WHERE tenant = ? AND path = ?";
  return (await records(env).first(z.object({ run: z.string() }), query, [tenant, path]))?.run ?? null;
}

export async function forgetWorkflowRun(env: Bindings, tenant: string, id: string): Promise<void> {
  await tables(env).run("DELETE FROM workflow_runs WHERE tenant = ? AND id = ?", [tenant, id]);
  await records(env).run("DELETE FROM workflow_records WHERE tenant = ? AND run = ?", [tenant, id]);
  await forgetRuns(env, tenant, [id]);
}

/**
 * A tenant's workflow runs, the newest first, one page at a time.
 * @throws BadRequest for a cursor that no page returned
 */
export async function listWorkflowRuns(
  env: Bindings,
  { status, ...page }: Wanted & { status: string | null },
): Promise<NewestFirst<ListedRun>> {
  const select = "SELECT id, workflow, task, status, created_at, finished_at FROM workflow_runs";
  return newestFirst(tables(env), run, page, select, {
    where: "(?5 IS NULL OR status = ?5)",
    values: [status],
  });
}
