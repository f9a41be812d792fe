/** Configured values of tools in D1: one row for each value, secrets sealed. */

import * as z from "zod/mini";
import TOOL_CONFIG from "../../../migrations/0005_tool_config.sql?raw";
import { Tables } from "../../database.ts";
import type { Bindings } from "../../env.ts";

/** Identifies a configuration by tenant and skill. */
interface ConfigOf {
  tenant: string;
  slug: string;
}

export type StoredValue = z.output<typeof rowShape>;
const rowShape = z.lazy(() =>
  z.object({
    tool: z.string(),
    param: z.string(),
    /** `""`: the value applies to every bot. */
    bot: z.string(),
    /** JSON; for a secret the sealed text. */
    value: z.string(),
    sealed: z.pipe(
      z.number(),
      z.transform((flag) => flag === 1),
    ),
  }),
);
type ValueName = Pick<StoredValue, "tool" | "param" | "bot">;

const COLUMNS = "tool, param, bot, value, sealed";

const tables = ({ DB }: Bindings): Tables => new Tables(DB, TOOL_CONFIG);

/** The values for every bot, and those of one bot. */
export async function readValues(
  env: Bindings,
  { tenant, slug }: ConfigOf,
  bot: string | null,
): Promise<StoredValue[]> {
  return tables(env).rows(
    rowShape,
    `SELECT ${COLUMNS} FROM tool_config WHERE tenant = ? AND slug = ? AND bot IN ('', ?)`,
    [tenant, slug, bot ?? ""],
  );
}

/** All secrets of a skill, for any bot. */
export async function readSecrets(env: Bindings, { tenant, slug }: ConfigOf): Promise<StoredValue[]> {
  return tables(env).rows(
    rowShape,
    `SELECT ${COLUMNS} FROM tool_config WHERE tenant = ? AND slug = ? AND sealed = 1`,
    [tenant, slug],
  );
}

/** Sets values, and removes those whose `value` is `null`; all or none. */
export async function writeValues(
  env: Bindings,
  { tenant, slug }: ConfigOf,
  values: readonly (ValueName & { value: string | null; sealed: boolean })[],
  now: Date,
): Promise<void> {
  if (values.length === 0) return;
  const remove =
    "DELETE FROM tool_config WHERE tenant = ? AND slug = ? AND bot = ? AND tool = ? AND param = ?";
  const insert = `INSERT INTO tool_config (tenant, slug, bot, tool, param, value, sealed, updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, slug, bot, tool, param) DO UPDATE
    SET value = excluded.value, sealed = excluded.sealed, updated_at = excluded.updated_at`;
  await tables(env).batch(
    values.map(({ bot, tool, param, value, sealed }) => {
      const name = [tenant, slug, bot, tool, param];
      return value === null ? [remove, name] : [insert, [...name, value, sealed ? 1 : 0, now.toISOString()]];
    }),
  );
}

/**
 * Replaces values sealed with an older key by those sealed with a newer one, except values that were changed meanwhile.
 */
export async function replaceSealed(
  env: Bindings,
  { tenant, slug }: ConfigOf,
  values: readonly (ValueName & { before: string; value: string })[],
): Promise<void> {
  if (values.length === 0) return;
  const update = `UPDATE tool_config SET value = ?
     WHERE tenant = ? AND slug = ? AND bot = ? AND tool = ? AND param = ? AND value = ?`;
  await tables(env).batch(
    values.map(({ bot, tool, param, before, value }) => [
      update,
      [value, tenant, slug, bot, tool, param, before],
    ]),
  );
}
