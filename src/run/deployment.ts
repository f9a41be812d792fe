/** What a deployment has to know before it serves: its models, and the value of every variable that is secret. */
import { type Bindings, type Settings, settings } from "../env.ts";
import { loadModelRegistry } from "../model/registry/load.ts";
import { currentCatalog } from "../registry/published.ts";

const opened = new WeakSet<Settings>();

/**
 * Reads the provider file and the published catalog, both of which name secret variables, once per isolate: what leaves
 * before that would pass a redactor that does not know them. Answers `null` once that is done. What cannot be read is tried
 * again by whoever needs it, which then fails by itself. Requests that come at once each read for themselves, since one
 * request may not wait for what another one reads.
 * @param background keeps a promise alive after the answer
 */
export function openDeployment(
  env: Bindings,
  background: (work: Promise<unknown>) => void,
): Promise<void> | null {
  const own = settings(env);
  return opened.has(own) ? null : open(own, env, background);
}

async function open(
  own: Settings,
  env: Bindings,
  background: (work: Promise<unknown>) => void,
): Promise<void> {
  const [models] = await Promise.allSettled([loadModelRegistry(own, env), currentCatalog(env, background)]);
  if (models.status === "fulfilled") opened.add(own);
}
