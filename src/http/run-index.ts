/** `/runs`: the tenant's runs over all surfaces, from their index. */
import { CallNotFound } from "../errors/llm.ts";
import { flushRows } from "../session/index-rows.ts";
import { RUN_KINDS, RUN_STATES } from "../session/run-entry.ts";
import { countWaiting, indexedRun, listIndexedRuns, runFigures } from "../session/run-index.ts";
import type { RequestContext } from "./context.ts";
import { jsonNow, wantedPage } from "./page.ts";
import { flagIn, oneOf, WORDS } from "./parameters.ts";
import type { Params } from "./routes.ts";

const DAY_MS = 24 * 3_600_000;

/** `GET /runs`: the newest first; a run appears a moment after it began. Without stages' runs if `?stages=false`. */
export async function listAllRuns(context: RequestContext): Promise<Response> {
  const { query } = context;
  const filter = {
    ...wantedPage(context),
    state: oneOf(query, "state", RUN_STATES),
    kind: oneOf(query, "kind", RUN_KINDS),
    name: query.get("name"),
    session: query.get("session"),
    model: query.get("model"),
    code: query.get("code"),
    stages: !query.has("stages") || flagIn(query, "stages", WORDS),
  };
  await flushRows(context.deployment);
  return jsonNow(await listIndexedRuns(context, filter));
}

/** `GET /runs/:id`. @throws CallNotFound */
export async function getIndexedRun(context: RequestContext, { id = "" }: Params): Promise<Response> {
  await flushRows(context.deployment);
  const run = await indexedRun(context, id);
  if (run === null) throw new CallNotFound({ what: "run", id });
  return jsonNow(run);
}

/** `GET /runs/figures`: sums of the last 24 hours by skill, and how many runs wait for an approval. */
export async function getRunFigures(context: RequestContext): Promise<Response> {
  await flushRows(context.deployment);
  const since = new Date(Date.now() - DAY_MS).toISOString();
  const [data, waiting] = await Promise.all([runFigures(context, since), countWaiting(context)]);
  return jsonNow({ since, awaiting_approval: waiting, data });
}
