/**
 * A tenant's list of sessions: rows in D1 that the sessions themselves write (docs/storage-schema.md). The session's own
 * object is authoritative. A failed write is repeated later, and nothing else waits for it.
 */
import * as z from "zod/mini";
import SESSIONS from "../../migrations/0004_sessions.sql?raw";
import OF_CONTAINERS from "../../migrations/0019_sessions_of_containers.sql?raw";
import WITHOUT_STAGES from "../../migrations/0033_sessions_without_stages.sql?raw";
import STAGES from "../../migrations/0035_sessions_of_stages.sql?raw";
import { matching, type OwnTables, ownTables, Tables } from "../database.ts";
import type { Bindings, Owner } from "../env.ts";
import type { Page, PageWanted } from "../list-page.ts";
import { type NewestFirst, newestFirst, type Wanted } from "./newest-first.ts";
import { type SessionEntry, sessionRowShape } from "./session-entry.ts";

/**
 * The condition that selects sessions in which stages of workflow runs ran, by id and owner. An index has these, and
 * another one the others: their conditions are the same.
 */
const OF_STAGE = `(substr(id, 1, 4) = 'wfs_' AND (parent_id IS NOT NULL OR json_extract(metadata, '$.workflow_run_id') IS NOT NULL))`;

const own = (owner: Owner): OwnTables => ownTables(owner, SESSIONS + WITHOUT_STAGES + STAGES);

/** The most rows of a statement: their metadata of at most 16,384 characters each fit into a value of 2 MB, however escaped. */
export const ROWS_AT_ONCE = 20;

/** The statement that writes rows of any tenants, at most `ROWS_AT_ONCE`. */
export async function sessionRows(
  { DB }: Bindings,
  sessions: readonly { tenant: string; session: SessionEntry }[],
): Promise<D1PreparedStatement> {
  const rows = sessions.map(({ tenant, session: { id, state, created_at, parent_id, metadata } }) => [
    tenant,
    id,
    state,
    created_at,
    parent_id,
    JSON.stringify(metadata),
  ]);
  return new Tables(DB, SESSIONS).prepared(
    `INSERT INTO sessions (tenant, id, state, created_at, parent_id, metadata)
     SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(?) WHERE true
     ON CONFLICT (tenant, id) DO UPDATE SET state = excluded.state, created_at = excluded.created_at,
       parent_id = excluded.parent_id, metadata = excluded.metadata`,
    [JSON.stringify(rows)],
  );
}

export async function noteSession({ env, tenant }: Owner, session: SessionEntry): Promise<void> {
  await (await sessionRows(env, [{ tenant, session }])).run();
}

export async function forgetSession(owner: Owner, id: string): Promise<void> {
  await own(owner).run("DELETE FROM sessions WHERE tenant = ?1 AND id = ?2", [id]);
}

/** The ids of those of a tenant's sessions that exist. */
export async function sessionsAmong(
  env: Bindings,
  sessions: readonly { tenant: string; session: string }[],
): Promise<Set<string>> {
  if (sessions.length === 0) return new Set();
  const rows = await new Tables(env.DB, SESSIONS).rows(
    z.object({ id: z.string() }),
    "SELECT id FROM sessions WHERE (tenant, id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))",
    [JSON.stringify(sessions.map(({ tenant, session }) => [tenant, session]))],
  );
  return new Set(rows.map(({ id }) => id));
}

const COLUMNS = "id, state, created_at, parent_id, metadata";
/** All sessions, for SQLite to merge in order of creation. */
const ALL = `(SELECT * FROM sessions WHERE NOT ${OF_STAGE} UNION ALL SELECT * FROM sessions WHERE ${OF_STAGE})`;

/**
 * A tenant's sessions, the newest first, a page at a time.
 * @param stages whether to include sessions in which stages of workflow runs ran
 * @throws BadRequest for a cursor that no page returned
 */
export function listSessions(
  owner: Owner,
  { stages, ...page }: Wanted & { stages: boolean },
): Promise<NewestFirst<SessionEntry>> {
  const query = stages
    ? (`SELECT ${COLUMNS} FROM ${ALL} WHERE tenant = ?1` as const)
    : (`SELECT ${COLUMNS} FROM sessions WHERE tenant = ?1 AND NOT ${OF_STAGE}` as const);
  return newestFirst(own(owner), sessionRowShape, [query, []], page);
}

/**
 * A tenant's sessions whose ids are in a range, sorted by creation and id. It reads all of these, and no others.
 * @param page `from` and `to`: the first id, and the first one after the range; `name`: that of their metadata, empty
 * where it has none; `null` means any
 */
export function listSessionsBy(
  owner: Owner,
  { from, to, name, ...page }: PageWanted & { from: string; to: string; name: string | null },
): Promise<Page<SessionEntry>> {
  const [conditions, values] = matching({ "ifnull(json_extract(metadata, '$.name'), '')": name });
  const query =
    `SELECT ${COLUMNS} FROM sessions WHERE tenant = ?1 AND id >= ?2 AND id < ?3 ${conditions}` as const;
  return own(owner).page(sessionRowShape, [query, [from, to, ...values]], ["created_at", "id"], page);
}

const oldContainer = z.lazy(() => z.object({ tenant: z.string(), id: z.string(), ttl_ms: z.int() }));

/**
 * Some sessions of containers that could have expired before `used`, had nobody used them. Only a session's object knows
 * its last use. The selection is random, so that a sweep finds all of them in time, whatever becomes of the others.
 * @param used Unix ms
 * @param ttlMs the time to live of a container that names none, in ms
 */
export async function oldContainers(
  { DB }: Bindings,
  { used, ttlMs, most }: { used: number; ttlMs: number; most: number },
): Promise<z.output<typeof oldContainer>[]> {
  const ttl = `iif(json_type(metadata, '$.expires_minutes') IN ('integer', 'real'),
    CAST(json_extract(metadata, '$.expires_minutes') * 60000 AS INTEGER), ?2)`;
  return new Tables(DB, SESSIONS + OF_CONTAINERS).rows(
    oldContainer,
    `SELECT tenant, id, ${ttl} AS ttl_ms FROM sessions
     WHERE id >= 'container_01' AND id < 'container_02' AND json_extract(metadata, '$.container') = 1
       AND created_at < strftime('%Y-%m-%dT%H:%M:%fZ', (?1 - ${ttl}) / 1000.0, 'unixepoch')
     ORDER BY random() LIMIT ?3`,
    [used, ttlMs, most],
  );
}
