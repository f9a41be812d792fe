/** `GET /usage`: what the caller's tenant has spent. */
import * as z from "zod/mini";
import type { Usage } from "../api/answers/spending.ts";
import { usdOf } from "../engine/usd.ts";
import { BadRequest } from "../errors/request.ts";
import { unknownCursor } from "../errors/unknown-cursor.ts";
import { askTenant } from "../run/ledger.ts";
import { sendUsage } from "../run/usage-batch.ts";
import type { Spend, UsageGroup, UsageRow } from "../session/ledger/rpc.ts";
import { parsedJson } from "../skill/json-depth.ts";
import type { RequestContext } from "./context.ts";
import { jsonNow, pageLimit } from "./page.ts";
import { oneOf } from "./parameters.ts";

const GROUPS = ["skill", "session", "model", "day"] as const satisfies readonly UsageGroup[];

/** A page of sums by day, skill, session or model. */
export async function getUsage(context: RequestContext): Promise<Response> {
  const { query } = context;
  const group_by = oneOf(query, "group_by", GROUPS) ?? "day";
  const wanted = {
    from: dayIn(query, "from"),
    to: dayIn(query, "to"),
    group_by,
    session: query.get("session"),
    limit: pageLimit(query),
    after: keyIn(query, group_by),
  };
  await sendUsage(context);
  const { rows, more } = await askTenant(context, async (ledger) => await ledger.usage(wanted));
  const data: Usage[] = rows.map((row) => ({ ...named(group_by, row), ...figures(row.spend) }));
  const last = rows.at(-1);
  return jsonNow({ data, next_cursor: more && last !== undefined ? JSON.stringify(last.key) : null });
}

/** The name of a group; `null` for spend without a skill or session. */
function named(
  group: UsageGroup,
  { key: [first = "", second = ""] }: UsageRow,
): Pick<Usage, UsageGroup | "provider"> {
  return group === "model" ? { provider: first, model: second } : { [group]: first === "" ? null : first };
}

function figures(spend: Spend) {
  const { calls, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = spend;
  return {
    calls,
    input_tokens,
    output_tokens,
    cache_read_tokens,
    cache_write_tokens,
    cost_usd: usdOf(spend.cost),
    price_known: spend.unpriced_calls === 0,
    estimated_calls: spend.estimated_calls,
    duration_ms: spend.duration_ms,
  };
}

function dayIn(query: URLSearchParams, name: string): string | null {
  const text = query.get(name);
  if (text === null) return null;
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(text) : null;
  if (date !== null && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)) return text;
  throw new BadRequest({ detail: `The parameter ${name} must be a day like 2026-01-31, not "${text}".` });
}

const keyShape = z.lazy(() => z.array(z.string()));

function keyIn(query: URLSearchParams, group: UsageGroup): string[] | null {
  const text = query.get("cursor");
  if (text === null) return null;
  const key = keyShape.safeParse(parsedJson(text));
  if (key.success && key.data.length === (group === "model" ? 2 : 1)) return key.data;
  throw unknownCursor();
}
