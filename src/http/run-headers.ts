/** What the headers, the log line and the metrics of a request say about the skill that it runs. */
import { servedCard } from "../run/agent/skills.ts";
import type { Card } from "../skill/manifest.ts";
import type { RequestContext } from "./context.ts";

/** The headers of a run of a skill. */
export const headersOf = ({ slug, version, stale }: Pick<Card, "slug" | "version" | "stale">) => ({
  "x-hull-skill": `${slug}@${version.slice(0, 12)}`,
  ...(stale === true ? { "x-hull-stale": "1" } : {}),
});

/** The same where a request names the skill to run; none for a skill that Hull does not serve to the tenant. */
export async function namedSkillHeaders(
  context: RequestContext,
  named: unknown,
): Promise<Record<string, string>> {
  const card = typeof named === "string" ? await servedCard(context, named) : undefined;
  if (card === undefined) return {};
  context.log.skill = card.slug;
  context.log.digest = card.version.slice(0, 12);
  if (card.uploaded === true) context.log.uploaded = true;
  return headersOf(card);
}

/** The same for the answers that follow, and for an error in their place. */
export async function noteSkill(context: RequestContext, named: unknown): Promise<void> {
  context.runHeaders = { ...context.runHeaders, ...(await namedSkillHeaders(context, named)) };
}

/** Notes that an earlier request with the same `Idempotency-Key` did what this one asks for. */
export function noteReplay(context: RequestContext): void {
  context.runHeaders = { ...context.runHeaders, "x-hull-replayed": "1" };
}

/** Adds the headers that every run has; headers that the answer already has, e.g. for caching, stay. */
export function withHeaders(response: Response, headers: Record<string, string>): Response {
  for (const [name, value] of Object.entries(headers)) {
    if (!response.headers.has(name)) response.headers.set(name, value);
  }
  return response;
}
