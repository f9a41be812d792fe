/** `/runs`: the tenant's runs over all surfaces, from their index. */
import { CallNotFound } from "../errors/llm.ts";
import { BadRequest } from "../errors/request.ts";
import { flushRows } from "../session/index-rows.ts";
import { RUN_KINDS } from "../session/run-entry.ts";
import { countWaiting, indexedRun, listIndexedRuns, runFigures } from "../session/run-index.ts";
import type { RequestContext } from "./context.ts";
import { jsonNow, pageLimit } from "./page.ts";

const DAY_MS = 24 * 3_600_000;

/** `GET /runs`: the newest first; a run appears a moment after it began. */
export async function getAllRuns(context: RequestContext): Promise<Response> {
  const query = new URL(context.request.url).searchParams;
  const kind = query.get("kind");
  if (kind !== null && !RUN_KINDS.some((one) => one === kind)) {
    throw new BadRequest({ detail: `kind must be one of ${RUN_KINDS.join(", ")}, not "${kind}".` });
  }
  const filter = {
    tenant: context.tenant,
    limit: pageLimit(query),
    cursor: query.get("cursor"),
    state: query.get("state"),
    kind,
    name: query.get("name"),
    session: query.get("session"),
    code: query.get("code"),
  };
  await flushRows(context.deployment);
  return jsonNow(await listIndexedRuns(context.env, filter));
}

/** `GET /runs/:id`. @throws CallNotFound */
export async function getIndexedRun(
  context: RequestContext,
  { id = "" }: Record<string, string>,
): Promise<Response> {
  await flushRows(context.deployment);
  const run = await indexedRun(context.env, context.tenant, id);
  if (run === null) throw new CallNotFound({ what: "run", id });
  return jsonNow(run);
}

/** `GET /runs/figures`: sums of the last 24 hours by skill, and how many runs wait for an approval. */
export async function getRunFigures(context: RequestContext): Promise<Response> {
  const { env, tenant } = context;
  await flushRows(context.deployment);
  const since = new Date(Date.now() - DAY_MS).toISOString();
  const [data, waiting] = await Promise.all([runFigures(env, tenant, since), countWaiting(env, tenant)]);
  return jsonNow({ since, awaiting_approval: waiting, data });
}
