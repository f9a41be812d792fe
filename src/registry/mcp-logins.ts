/**
 * Logins at MCP servers in D1 (docs/mcp.md): one row for each server of hull.toml, with its tokens sealed. A login that
 * changes is sealed anew, so the sealed text also identifies its state.
 */
import * as z from "zod/mini";
import MCP_LOGINS from "../../migrations/0025_mcp_logins.sql?raw";
import { flagColumn, type Statement, Tables } from "../database.ts";
import type { Bindings } from "../env.ts";

/** A server by its name in hull.toml and its address: a login for another address does not count. */
interface LoginAt {
  server: string;
  url: string;
}

export type StoredLogin = z.output<typeof rowShape>;
const rowShape = z.lazy(() =>
  z.object({
    server: z.string(),
    url: z.string(),
    /** `null`: nobody has logged in. */
    sealed: z.nullable(z.string()),
    /** When the access token ends; `null`: not known. */
    expires_at: z.nullable(z.string()),
    /** Whether it has a refresh token. */
    renewable: flagColumn(),
    /** Whether it no longer works. */
    lost: flagColumn(),
    /** Why the server or its authorization server last refused it; `null`: it works. */
    failure: z.nullable(z.string()),
    failed_at: z.nullable(z.string()),
  }),
);

const COLUMNS = "server, url, sealed, expires_at, renewable, lost, failure, failed_at";
/** How long one isolate may take to renew a login, in s; afterwards another one may try. */
const LEASE_S = 30;

const tables = ({ DB }: Bindings): Tables => new Tables(DB, MCP_LOGINS);

export function readLogin(env: Bindings, { server, url }: LoginAt): Promise<StoredLogin | null> {
  const statement = `SELECT ${COLUMNS} FROM mcp_logins WHERE server = ? AND url = ?`;
  return tables(env).first(rowShape, statement, [server, url]);
}

export function listLogins(env: Bindings): Promise<StoredLogin[]> {
  return tables(env).rows(rowShape, `SELECT ${COLUMNS} FROM mcp_logins`);
}

/** What changes with the tokens of a login. */
interface Renewed {
  sealed: string;
  expires_at: string | null;
  renewable: boolean;
}

/** Stores a login in place of the server's earlier one. */
export async function storeLogin(
  env: Bindings,
  { server, url }: LoginAt,
  { sealed, expires_at, renewable }: Renewed,
): Promise<void> {
  await tables(env).run(
    "INSERT OR REPLACE INTO mcp_logins (server, url, sealed, expires_at, renewable) VALUES (?, ?, ?, ?, ?)",
    [server, url, sealed, expires_at, renewable ? 1 : 0],
  );
}

/** Takes the right to renew a login for a while. The clock is the database's, which all isolates share. */
export async function takeLease(env: Bindings, server: string, sealed: string): Promise<boolean> {
  const statement = `UPDATE mcp_logins SET lease_until = unixepoch() + ${LEASE_S}
    WHERE server = ? AND sealed = ? AND lost = 0 AND (lease_until IS NULL OR lease_until <= unixepoch())`;
  return (await tables(env).run(statement, [server, sealed])) === 1;
}

/** Stores the tokens that replace those of `before`, unless another login took its place meanwhile. */
export async function renewLogin(
  env: Bindings,
  server: string,
  before: string,
  { sealed, expires_at, renewable }: Renewed,
): Promise<void> {
  const statement = `UPDATE mcp_logins SET sealed = ?, expires_at = ?, renewable = ?,
    lost = 0, failure = NULL, failed_at = NULL, lease_until = NULL WHERE server = ? AND sealed = ?`;
  await tables(env).run(statement, [sealed, expires_at, renewable ? 1 : 0, server, before]);
}

/** Gives the right to renew back. @param lost whether the login no longer works */
export async function failLogin(
  env: Bindings,
  server: string,
  before: string,
  { failure, lost }: { failure: string; lost: boolean },
): Promise<void> {
  const statement = `UPDATE mcp_logins SET failure = ?, failed_at = ?, lost = ?, lease_until = NULL
    WHERE server = ? AND sealed = ?`;
  await tables(env).run(statement, [failure, new Date().toISOString(), lost ? 1 : 0, server, before]);
}

/** Records why a server without login refused Hull; `null`: it does not any more. */
export async function noteRefusal(
  env: Bindings,
  { server, url }: LoginAt,
  failure: string | null,
): Promise<void> {
  const forget: Statement = ["DELETE FROM mcp_logins WHERE server = ? AND sealed IS NULL", [server]];
  const note: Statement = [
    "INSERT OR IGNORE INTO mcp_logins (server, url, failure, failed_at) VALUES (?, ?, ?, ?)",
    [server, url, failure, new Date().toISOString()],
  ];
  await tables(env).batch(failure === null ? [forget] : [forget, note]);
}

/** Removes a login and what is known of its failures. */
export async function removeLogin(env: Bindings, server: string): Promise<void> {
  await tables(env).run("DELETE FROM mcp_logins WHERE server = ?", [server]);
}
