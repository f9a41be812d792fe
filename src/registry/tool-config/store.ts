/** Configured values of tools in D1: one row for each value, secrets sealed. */

import * as z from "zod/mini";
import TOOL_CONFIG from "../../../migrations/0005_tool_config.sql?raw";
import { flagColumn, type OwnTables, ownTables } from "../../database.ts";
import type { Owner } from "../../env.ts";

export type StoredValue = z.output<typeof rowShape>;
const rowShape = z.lazy(() =>
  z.object({
    tool: z.string(),
    param: z.string(),
    /** `""`: the value applies to every bot. */
    bot: z.string(),
    /** JSON; for a secret the sealed text. */
    value: z.string(),
    sealed: flagColumn(),
  }),
);
type ValueName = Pick<StoredValue, "tool" | "param" | "bot">;

const COLUMNS = "tool, param, bot, value, sealed";

const own = (owner: Owner): OwnTables => ownTables(owner, TOOL_CONFIG);

/** The values for every bot, and those of one bot. */
export function readValues(owner: Owner, slug: string, bot: string | null): Promise<StoredValue[]> {
  const query =
    `SELECT ${COLUMNS} FROM tool_config WHERE tenant = ?1 AND slug = ?2 AND bot IN ('', ?3)` as const;
  return own(owner).rows(rowShape, query, [slug, bot ?? ""]);
}

/** All secrets of a skill, for any bot. */
export function readSecrets(owner: Owner, slug: string): Promise<StoredValue[]> {
  const query = `SELECT ${COLUMNS} FROM tool_config WHERE tenant = ?1 AND slug = ?2 AND sealed = 1` as const;
  return own(owner).rows(rowShape, query, [slug]);
}

const ONE_VALUE = "WHERE tenant = ?1 AND slug = ?2 AND bot = ?3 AND tool = ?4 AND param = ?5";

/** Sets values, and removes those whose `value` is `null`; all or none. */
export async function writeValues(
  owner: Owner,
  slug: string,
  values: readonly (ValueName & { value: string | null; sealed: boolean })[],
  now: Date,
): Promise<void> {
  if (values.length === 0) return;
  const remove = `DELETE FROM tool_config ${ONE_VALUE}` as const;
  const insert = `INSERT INTO tool_config (tenant, slug, bot, tool, param, value, sealed, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (tenant, slug, bot, tool, param) DO UPDATE
    SET value = excluded.value, sealed = excluded.sealed, updated_at = excluded.updated_at`;
  await own(owner).batch(
    values.map(({ bot, tool, param, value, sealed }) => {
      const name = [slug, bot, tool, param];
      return value === null ? [remove, name] : [insert, [...name, value, sealed ? 1 : 0, now.toISOString()]];
    }),
  );
}

/**
 * Replaces values sealed with an older key by those sealed with a newer one, except values that were changed meanwhile.
 */
export async function replaceSealed(
  owner: Owner,
  slug: string,
  values: readonly (ValueName & { before: string; value: string })[],
): Promise<void> {
  if (values.length === 0) return;
  const update = `UPDATE tool_config SET value = ?7 ${ONE_VALUE} AND value = ?6` as const;
  await own(owner).batch(
    values.map(({ bot, tool, param, before, value }) => [update, [slug, bot, tool, param, before, value]]),
  );
}
