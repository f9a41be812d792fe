/** Gives rows for the lists of sessions and runs to the deployment's collector. */

import type { Deployment } from "../deployment.ts";
import type { Bindings } from "../env.ts";
import type { Background } from "../log.ts";
import type { RowNote } from "../row-collector.ts";
import type { IndexRow } from "./index-row.ts";
import { runRows } from "./run-index.ts";
import { ROWS_AT_ONCE, sessionRows } from "./session-index.ts";

/** Adds rows to the lists. Another object or request may send them, even before the caller's own writes are on disk. */
export function queueRows(
  { indexRows, env }: Deployment,
  rows: readonly IndexRow[],
  background: Background,
): RowNote[] {
  return indexRows.add(rows, (all) => write(env, all), background);
}

/** Sends the rows that wait in this isolate. Readers of a list call it first, so that they find what happened before. */
export function flushRows({ indexRows, env }: Deployment): Promise<void> {
  return indexRows.flush((all) => write(env, all));
}

async function write(env: Bindings, rows: readonly IndexRow[]): Promise<void> {
  const runs = rows.flatMap((row) => ("run" in row ? [row] : []));
  const sessions = rows.flatMap((row) => ("session" in row ? [row] : []));
  const statements = await runRows(env, runs);
  while (sessions.length > 0) statements.push(await sessionRows(env, sessions.splice(0, ROWS_AT_ONCE)));
  await env.DB.batch(statements);
}
