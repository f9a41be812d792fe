/**
 * Which skills a request may find: with a key, those that the key may run; without one, those that hull.toml makes
 * public.
 */
import { PUBLIC_CALLER } from "../../auth/caller.ts";
import { Unauthenticated } from "../../errors/request.ts";
import type { Card } from "../../skill/manifest.ts";
import type { RequestContext } from "../context.ts";
import { guard, sentKey } from "../guard.ts";
import { checkRate } from "../rate.ts";
import { servedTo } from "../served.ts";

/**
 * The cards, sorted by slug. Calling this admits the request.
 * @throws as `guard`, if a key is needed or the sent one is wrong
 */
export async function visibleCards(context: RequestContext): Promise<readonly Card[]> {
  const { public_skills } = context.settings;
  try {
    await guard(context, "invoke");
  } catch (error) {
    const unknown = !(error instanceof Unauthenticated) || sentKey(context.request) !== null;
    if (unknown || public_skills.length === 0) throw error;
    context.admit(PUBLIC_CALLER);
    await checkRate(context);
    const { cards } = await context.deployment.registry.catalog(context.background);
    return cards.filter(({ slug }) => public_skills.includes(slug));
  }
  await checkRate(context);
  return (await servedTo(context)).cards;
}
