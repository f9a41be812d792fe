/**
 * The runs of a tenant, however they were started: rows in D1 for lists and sums (docs/storage-schema.md). A row is
 * written when a run begins, waits and ends; for a short run only at its end. If the run has an object of its own, that
 * is authoritative, and nothing waits for the row. Each write replaces the whole row, so the next write makes up for a
 * lost one.
 */

import * as z from "zod/mini";
import RUNS from "../../migrations/0009_runs.sql?raw";
import RUN_PRICES from "../../migrations/0023_run_prices.sql?raw";
import RUN_MODELS from "../../migrations/0026_run_models.sql?raw";
import RUNS_BY_FILTER from "../../migrations/0028_runs_by_filter.sql?raw";
import FEWER_ROWS from "../../migrations/0034_runs_in_fewer_rows.sql?raw";
import {
  databaseWith,
  flagColumn,
  matching,
  type OwnTables,
  ownTables,
  removeInBatches,
  Tables,
} from "../database.ts";
import type { Bindings, Owner } from "../env.ts";
import { type NewestFirst, newestFirst, type Wanted } from "./newest-first.ts";
import { figuresShape, type RunEntry, type RunFigures, runEntry } from "./run-entry.ts";

/** How long the row of an ended run is kept after the run's beginning, in ms. */
const KEPT_MS = 30 * 24 * 3_600_000;
/** Rows that a sweep removes at once. */
const BATCH = 1000;

const COLUMNS = [
  "id",
  "kind",
  "name",
  "session",
  "model",
  "state",
  "created_at",
  "settled_at",
  "duration_ms",
  "input_tokens",
  "output_tokens",
  "cost_usd",
  "code",
  "price_known",
] as const satisfies (keyof RunEntry)[];

/**
 * The columns of a row. An earlier version of Hull noted in a table of its own whether the price is known. A still earlier
 * one did not note it: the price of its runs counts as known if they took no tokens.
 */
const SHOWN = `${COLUMNS.slice(0, -1)}, coalesce(price_known,
  (SELECT p.price_known FROM run_prices AS p WHERE p.tenant = runs.tenant AND p.id = runs.id),
  input_tokens + output_tokens = 0) AS price_known`;

const rowShape = z.lazy(() =>
  z.extend(runEntry(), {
    price_known: flagColumn(),
  }),
);

/** What stays the same while a run lasts. SQLite writes an index again for each update of one of its columns. */
const FIXED: readonly string[] = ["id", "kind", "name", "session", "created_at"];
/** A value of a row in JSON, a list of lists of values. */
const given = (column: string): string => `value ->> ${["tenant", ...COLUMNS].indexOf(column)}`;

/** Removes the rows of earlier runs with the ids of these. */
const REMOVE_EARLIER = `DELETE FROM runs WHERE rowid IN (SELECT r.rowid FROM json_each(?)
  JOIN runs AS r ON r.tenant = ${given("tenant")} AND r.id = ${given("id")} WHERE r.created_at < ${given("created_at")})`;
/** Writes rows. A row with a run's end is kept. */
const WRITE = `INSERT INTO runs (tenant, ${COLUMNS}) SELECT ${["tenant", ...COLUMNS].map(given)} FROM json_each(?) WHERE true
  ON CONFLICT (tenant, id) DO UPDATE SET ${COLUMNS.filter((name) => !FIXED.includes(name)).map((name) => `${name} = excluded.${name}`)}
  WHERE excluded.settled_at IS NOT NULL OR runs.settled_at IS NULL`;

const SCHEMA = RUNS + RUN_PRICES + RUN_MODELS + RUNS_BY_FILTER + FEWER_ROWS;
const tables = ({ DB }: Bindings): Tables => new Tables(DB, SCHEMA);
const own = (owner: Owner): OwnTables => ownTables(owner, SCHEMA);

/** The statements that write rows of any tenants. */
export async function runRows(
  env: Bindings,
  runs: readonly { tenant: string; run: RunEntry }[],
): Promise<D1PreparedStatement[]> {
  if (runs.length === 0) return [];
  const rows = JSON.stringify(
    runs.map(({ tenant, run }) => [tenant, ...COLUMNS.map((column) => run[column])]),
  );
  const db = await databaseWith(env.DB, SCHEMA);
  return [REMOVE_EARLIER, WRITE].map((statement) => db.prepare(statement).bind(rows));
}

/**
 * Writes rows of any tenants.
 * @param also statements to execute in the same transaction
 */
export async function noteRuns(
  env: Bindings,
  runs: readonly { tenant: string; run: RunEntry }[],
  also: readonly D1PreparedStatement[] = [],
): Promise<void> {
  const statements = [...(await runRows(env, runs)), ...also];
  if (statements.length > 0) await env.DB.batch(statements);
}

/** Removes the rows of a removed session's runs. */
export async function forgetRuns(owner: Owner, ids: readonly string[]): Promise<void> {
  const remove = "DELETE FROM runs WHERE tenant = ?1 AND id IN (SELECT value FROM json_each(?2))";
  await own(owner).run(remove, [JSON.stringify(ids)]);
}

/** The columns by which lists are filtered, with the wanted value of each; `null` means any. */
type Columns = Record<"state" | "kind" | "name" | "session" | "model" | "code", string | null>;

interface RunFilter extends Wanted, Columns {
  /** Whether those of workflow stages are among them. */
  stages: boolean;
}

/**
 * The condition that excludes the runs of workflow stages: run and session of a stage have the same digits. An index has
 * the other runs, and another one these: their conditions are the same.
 */
const NO_STAGE = "(session IS NULL OR substr(session, 1, 4) <> 'wfs_' OR id <> 'run_' || substr(session, 5))";
/** All runs, for SQLite to merge in order of their beginnings. */
const ALL = `(SELECT * FROM runs WHERE ${NO_STAGE} UNION ALL SELECT * FROM runs WHERE NOT ${NO_STAGE}) AS runs`;

/** The states of runs that have not ended. An index has only their runs, so a query must say so. */
const UNSETTLED = new Set(["running", "idle", "awaiting_tool", "awaiting_approval", "waiting"]);

/** A tenant's runs, the newest first, a page at a time. @throws BadRequest for a cursor that no page returned */
export function listIndexedRuns(
  owner: Owner,
  { state, kind, name, session, model, code, stages, ...page }: RunFilter,
): Promise<NewestFirst<RunEntry>> {
  const [conditions, values] = matching({ state, kind, name, session, model, code });
  const unsettled = state !== null && UNSETTLED.has(state) ? "AND settled_at IS NULL" : "";
  // One index has all that any of these filters select, in order.
  const together = unsettled !== "" || session !== null || name !== null || code !== null;
  const from = stages && !together ? ALL : "runs";
  const query =
    `SELECT ${SHOWN} FROM ${from} WHERE tenant = ?1 ${stages ? "" : `AND ${NO_STAGE}`} ${unsettled} ${conditions}` as const;
  return newestFirst(own(owner), rowShape, [query, values], page);
}

/** One run; `null`: no run has this id. */
export function indexedRun(owner: Owner, id: string): Promise<RunEntry | null> {
  return own(owner).first(rowShape, `SELECT ${SHOWN} FROM runs WHERE tenant = ?1 AND id = ?2`, [id]);
}

/**
 * Sums by name over the runs that began at `since` or later (RFC 3339), sorted by name. The database adds costs as
 * `sumUsd` does.
 */
export function runFigures(owner: Owner, since: string): Promise<RunFigures[]> {
  return own(owner).rows(
    figuresShape,
    `WITH found AS (
       SELECT name, state, duration_ms, cost_usd,
         row_number() OVER (PARTITION BY name, duration_ms IS NULL ORDER BY duration_ms) AS place,
         count(duration_ms) OVER (PARTITION BY name) AS ended
       FROM ${ALL} WHERE tenant = ?1 AND created_at >= ?2 AND name IS NOT NULL)
     SELECT name, count(*) AS calls, sum(state IN ('error', 'failed')) AS failures,
       max(CASE WHEN duration_ms IS NOT NULL AND place = (ended + 1) / 2 THEN duration_ms END) AS p50_ms,
       sum(CAST(round(cost_usd * 1e9) AS INTEGER)) / 1e9 AS cost_usd
     FROM found GROUP BY name ORDER BY name`,
    [since],
  );
}

/** How many of a tenant's runs wait for an approval. */
export async function countWaiting(owner: Owner): Promise<number> {
  const query =
    "SELECT count(*) AS n FROM runs WHERE tenant = ?1 AND state = 'awaiting_approval' AND settled_at IS NULL";
  const found = await own(owner).first(z.object({ n: z.number() }), query);
  return found?.n ?? 0;
}

const owned = z.lazy(() => z.object({ tenant: z.string() }));

/**
 * Some runs of any tenants that the table shows as running or waiting although they began before `runs`, or, for calls,
 * before `calls`. The selection is random, so that all of them are found in time. It contains no workflow runs, since
 * their objects maintain their rows themselves.
 * @param most how many to select of those that run, and of those that wait
 */
export async function unsettledSince(
  env: Bindings,
  { runs, calls }: { runs: Date; calls: Date },
  most: { running: number; resting: number },
): Promise<{ tenant: string; run: RunEntry }[]> {
  const query = `SELECT tenant, ${SHOWN} FROM
      (SELECT *, row_number() OVER (PARTITION BY state = 'running' ORDER BY random()) AS place FROM runs
       WHERE settled_at IS NULL AND created_at < ?1 AND kind <> 'workflow' AND (kind <> 'call' OR created_at < ?2)) AS runs
    WHERE place <= iif(state = 'running', ?3, ?4)`;
  const values = [runs.toISOString(), calls.toISOString(), most.running, most.resting];
  const [found = []] = await tables(env).batch([[query, values]]);
  return found.map((row) => ({ tenant: owned.parse(row).tenant, run: rowShape.parse(row) }));
}

/**
 * Removes rows that are too old. Rows are in the order of their first writing, so the first ones are the oldest, except
 * that an earlier version of Hull renews the row of a call in place if it runs again under its id. So a batch at a random
 * place follows those at the beginning. The row of a run that has not ended stays: a daemon lives for months, and an
 * approval may wait as long.
 */
export async function sweepRuns(env: Bindings, now: number): Promise<void> {
  const oldest = new Date(now - KEPT_MS).toISOString();
  const removeFrom = (place: string): Promise<number> =>
    tables(env).run(
      `DELETE FROM runs WHERE created_at < ?2 AND rowid IN
         (SELECT rowid FROM runs WHERE settled_at IS NOT NULL AND rowid >= ${place} ORDER BY rowid LIMIT ?1)`,
      [BATCH, oldest],
    );
  await removeInBatches(async () => (await removeFrom("0")) > 0);
  await removeFrom("(SELECT abs(random() % max(rowid)) FROM runs)");
}
