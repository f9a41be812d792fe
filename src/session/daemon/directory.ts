/**
 * The directory of daemons: rows in D1, for lists, for webhooks, and for the sweep that checks daemons
 * (docs/storage-schema.md). Each daemon writes its own row. The daemon's object is authoritative.
 */

import * as z from "zod/mini";
import DAEMONS from "../../../migrations/0006_daemons.sql?raw";
import DAEMON_SKILLS from "../../../migrations/0024_daemon_skills.sql?raw";
import DAEMONS_TO_RESUME from "../../../migrations/0037_daemons_to_resume.sql?raw";
import { jsonColumn, type OwnStatement, type OwnTables, ownTables, Tables } from "../../database.ts";
import type { Bindings, Owner } from "../../env.ts";
import { DaemonPathTaken } from "../../errors/daemon.ts";
import { type NewestFirst, newestFirst, type Wanted } from "../newest-first.ts";
import { type DaemonStatus, type ListedDaemon, listedDaemon } from "./listed.ts";
import type { Webhook } from "./rpc.ts";
import type { DaemonRow } from "./store.ts";

/** A daemon's entry in the directory. */
export interface DaemonNote
  extends Pick<DaemonRow, "name" | "persist_path" | "skill" | "webhook" | "created_at"> {
  tenant: string;
  id: string;
  status: DaemonStatus;
  /** The skill that it runs; `null`: none. Absent: as before. */
  runs?: string | null;
  /** When the sweep must check whether the daemon still wakes, Unix ms; `null`: it never wakes by itself. */
  check_at: number | null;
}

/** After a rollback, a row may have a status of a later version of Hull. */
const anyStatus = z.custom<DaemonStatus>((value) => typeof value === "string");
const listed = z.lazy(() => z.extend(listedDaemon(), { status: anyStatus }));
const declared = z.lazy(() => z.object({ id: z.string(), skill: z.string() }));
const place = z.lazy(() => z.object({ tenant: z.string(), id: z.string() }));
const hooked = z.lazy(() => z.object({ tenant: z.string(), webhook: jsonColumn<Webhook>() }));

const SCHEMA = DAEMONS + DAEMON_SKILLS + DAEMONS_TO_RESUME;
const tables = ({ DB }: Bindings): Tables => new Tables(DB, SCHEMA);
const own = (owner: Owner): OwnTables => ownTables(owner, SCHEMA);

/** @throws DaemonPathTaken if another running daemon has the path */
export async function noteDaemon(env: Bindings, note: DaemonNote): Promise<void> {
  const { tenant, id, name, status, persist_path, skill, webhook, check_at, created_at } = note;
  const values = [id, name, status, persist_path, skill, webhook && JSON.stringify(webhook), check_at];
  const row: OwnStatement = [
    `INSERT INTO daemons (tenant, id, name, status, persist_path, skill, webhook, check_at, created_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
     ON CONFLICT (tenant, id) DO UPDATE SET name = ?3, status = ?4, persist_path = ?5, skill = ?6, webhook = ?7,
       check_at = ?8`,
    [...values, new Date(created_at).toISOString()],
  ];
  try {
    await own({ env, tenant }).batch([row, ...skillRow(note)]);
  } catch (error) {
    if (/UNIQUE constraint failed/.test(String(error))) {
      throw new DaemonPathTaken({ path: persist_path ?? "" });
    }
    throw error;
  }
}

function skillRow({ id, runs }: DaemonNote): OwnStatement[] {
  if (runs === undefined) return [];
  if (runs === null) return [["DELETE FROM daemon_skills WHERE tenant = ?1 AND id = ?2", [id]]];
  return [["INSERT OR REPLACE INTO daemon_skills (tenant, id, skill) VALUES (?1, ?2, ?3)", [id, runs]]];
}

export async function forgetDaemon(owner: Owner, id: string): Promise<void> {
  await own(owner).run("DELETE FROM daemons WHERE tenant = ?1 AND id = ?2", [id]);
}

/** A tenant's daemons, the newest first, a page at a time. @throws BadRequest for an unknown cursor */
export function listDaemons(owner: Owner, page: Wanted): Promise<NewestFirst<ListedDaemon>> {
  const runs = "SELECT s.skill FROM daemon_skills AS s WHERE s.tenant = daemons.tenant AND s.id = daemons.id";
  const query = `SELECT id, name, status, persist_path, coalesce(skill, (${runs})) AS skill, created_at
    FROM daemons WHERE tenant = ?1` as const;
  return newestFirst(own(owner), listed, [query, []], page);
}

/** Id of the daemon that last had this path; `null`: none had it. */
export async function daemonAt(owner: Owner, path: string): Promise<string | null> {
  const query =
    "SELECT tenant, id FROM daemons WHERE tenant = ?1 AND persist_path = ?2 ORDER BY created_at DESC LIMIT 1";
  return (await own(owner).first(place, query, [path]))?.id ?? null;
}

/** The tenant of the daemon with this id, and its signature scheme, if the daemon accepts signed calls; else `null`. */
export async function webhookOf(
  env: Bindings,
  id: string,
): Promise<{ tenant: string; webhook: Webhook } | null> {
  const query = "SELECT tenant, webhook FROM daemons WHERE id = ? AND webhook IS NOT NULL";
  return tables(env).first(hooked, query, [id]);
}

/**
 * Some daemons whose check was due before a time (Unix ms). The selection is random, so that daemons that no sweep
 * can reach do not starve the others.
 */
export async function overdueDaemons(
  env: Bindings,
  now: number,
  limit: number,
): Promise<{ tenant: string; id: string }[]> {
  // Each half reads an index of its own.
  const query = `SELECT tenant, id FROM daemons
    WHERE status = 'running' AND check_at < ?1 OR status = 'failed' AND check_at < ?1 ORDER BY random() LIMIT ?2`;
  return tables(env).rows(place, query, [now, limit]);
}

/** A tenant's daemons that skills declare, and that run or will be resumed. */
export function declaredDaemons(owner: Owner): Promise<z.infer<typeof declared>[]> {
  const query = `SELECT id, skill FROM daemons
    WHERE tenant = ?1 AND skill IS NOT NULL AND (status = 'running' OR check_at IS NOT NULL)`;
  return own(owner).rows(declared, query);
}

/** The tenants of running daemons that skills declare. Such a daemon has a path, so the query reads an index. */
export async function declaringTenants(env: Bindings): Promise<string[]> {
  const query = `SELECT DISTINCT tenant FROM daemons
    WHERE status = 'running' AND persist_path IS NOT NULL AND skill IS NOT NULL`;
  const rows = await tables(env).rows(z.object({ tenant: z.string() }), query);
  return rows.map(({ tenant }) => tenant);
}
