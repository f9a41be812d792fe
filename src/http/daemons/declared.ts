/**
 * Daemons that skills declare. Those of published skills belong to the operator's tenant, those of an uploaded skill to
 * its tenant. Reconciling is safe to repeat: it leaves alone what is already right.
 */
import { DEFAULT_TENANT } from "../../auth/api-key.ts";
import { sha256 } from "../../bytes.ts";
import type { Deployment } from "../../deployment.ts";
import { CatalogMissing } from "../../errors/request.ts";
import { toHullError } from "../../errors.ts";
import { type Background, logLine } from "../../log.ts";
import { daemonFolder, daemonSpec, snapshotIn } from "../../run/agent/daemon-spec.ts";
import { detachedContext, type RunContext } from "../../run/context.ts";
import { sessionClient } from "../../run/session-client.ts";
import { declaredDaemons } from "../../session/daemon/directory.ts";
import type { Card } from "../../skill/manifest.ts";

/** The id of a declared daemon: always the same for a skill of a tenant, and unique to it. */
async function daemonId(tenant: string, slug: string): Promise<string> {
  return `dmn_${(await sha256(JSON.stringify(["declared", tenant, slug]))).slice(0, 32)}`;
}

/**
 * Brings the daemons of a tenant's served skills up to date. A failure is logged, and a later sweep repeats the work.
 * @param options `published`: this isolate has just published. Any other may know an earlier catalog, to whose daemons
 * it must not go back
 */
export async function reconcileDaemons(
  deployment: Deployment,
  tenant: string,
  background: Background,
  { published = false }: { published?: boolean } = {},
): Promise<void> {
  try {
    if (!published) await deployment.registry.refresh();
    // KV shows a publish elsewhere about a minute late; D1 shows uploads at once.
    const late = !published && tenant === DEFAULT_TENANT;
    await reconcile(contextOf(deployment, tenant, background), late);
  } catch (error) {
    const { code, operator } = toHullError(error);
    // Before the first publish there is nothing to update.
    if (code === CatalogMissing.code) return;
    const line = { event: "daemons_not_reconciled", tenant, code, ...operator };
    logLine(deployment.settings.eventRedactor, line, "error");
  }
}

async function reconcile(context: RunContext, late: boolean): Promise<void> {
  const { deployment, tenant, background } = context;
  const catalog = await deployment.catalogs.of(tenant, background, 0);
  const own = tenant === DEFAULT_TENANT ? catalog.cards : catalog.uploads;
  const wanted = new Map(own.filter(({ daemon }) => daemon === true).map((card) => [card.slug, card]));
  for (const { id, skill } of await declaredDaemons(context)) {
    // This version of Hull cannot know what an unreadable upload declares.
    if (wanted.has(skill) || catalog.unreadable.some(({ slug }) => slug === skill)) continue;
    await attempt(context, skill, () => sessionClient(context, id).ask("undeclare", { late }));
  }
  for (const card of wanted.values()) await attempt(context, card.slug, () => declare(context, card, late));
}

async function declare(context: RunContext, { slug, version }: Card, late: boolean): Promise<void> {
  const { manifest } = await context.deployment.registry.skill(version);
  const { daemon } = manifest;
  if (daemon === undefined) return;
  const { task, options = {}, ...wakes } = daemon;
  const id = await daemonId(context.tenant, slug);
  const spec = await daemonSpec(context, id, {
    prompt: task,
    system: null,
    publishes: true,
    options: { persist_path: snapshotIn(daemonFolder(id)), ...options, ...wakes, skill: slug },
  });
  const settings = {
    name: slug,
    persist_path: daemonFolder(id),
    capacity: 1024,
    webhook: null,
    declared: { skill: slug, version },
  };
  await sessionClient(context, id).ask("declare", { spec, settings, late });
}

async function attempt(context: RunContext, skill: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const { code, message, operator } = toHullError(error);
    logLine(context, { event: "daemon_not_declared", skill, code, detail: message, ...operator }, "error");
  }
}

export function contextOf(deployment: Deployment, tenant: string, background: Background): RunContext {
  return detachedContext(
    deployment,
    { requestId: crypto.randomUUID(), tenant, startedAt: Date.now() },
    background,
  );
}
