/** The context of one MCP request, and the pages of lists. */
import { fromBase64Url, toBase64Url, utf8, utf8OrNull } from "../../bytes.ts";
import type { Card, Json, JsonObject, SkillRecord } from "../../skill/manifest.ts";
import { byteOrder } from "../../skill/path.ts";
import type { RequestContext } from "../context.ts";
import { servedTo } from "../served.ts";
import { invalidParams, type Outcome } from "./message.ts";
import type { ProtocolVersion } from "./version.ts";

export interface Exchange {
  context: RequestContext;
  protocol: ProtocolVersion;
  /** Whether the caller's key may run things; without that right, the caller sees no skills. */
  invokes: boolean;
  /** Aborted when the client leaves. */
  signal: AbortSignal;
  /** A part of the message's arguments as JSON, with all the digits of its numbers. @param path of the part */
  written: (part: Json, ...path: string[]) => string;
}

export interface Served {
  card: Card;
  record: SkillRecord;
}

/** The part of a list entry that says that a skill's folder is broken, so that its last good version is served. */
export function staleMeta({ stale }: Card): JsonObject {
  return stale === true ? { _meta: { stale: true } } : {};
}

/** The most skills on one page of a list. */
const PAGE = 100;

/**
 * The skills after a slug that the caller may invoke, sorted by slug.
 * @returns `last`: the slug after which the next page begins; `null` on the last page
 */
export async function skillsAfter(
  { context, invokes }: Exchange,
  slug: string,
): Promise<{ skills: Served[]; last: string | null }> {
  if (!invokes) return { skills: [], last: null };
  const { cards } = await servedTo(context);
  const rest = cards.filter((card) => byteOrder(card.slug, slug) > 0);
  const page = rest.slice(0, PAGE);
  const skills = page.map(async (card) => {
    const record = await context.deployment.registry.readableSkill(card.version);
    return record === null ? [] : [{ card, record }];
  });
  return {
    skills: (await Promise.all(skills)).flat(),
    last: rest.length > PAGE ? (page.at(-1)?.slug ?? null) : null,
  };
}

/**
 * A page of a list. Its cursor, opaque to the client, is the key after which the page begins.
 * @param member of the result that has the items
 * @param pageAfter `last`: the key after which the next page begins; `null` on the last page
 */
export async function listed(
  { cursor }: JsonObject,
  member: string,
  pageAfter: (key: string) => Promise<{ items: JsonObject[]; last: string | null }>,
): Promise<Outcome> {
  const key = cursor === undefined ? "" : keyIn(cursor);
  if (key === null) return invalidParams("The cursor does not belong to this list.");
  const { items, last } = await pageAfter(key);
  return { result: { [member]: items, ...(last === null ? {} : { nextCursor: toBase64Url(utf8(last)) }) } };
}

/** The key in a cursor; `null` for a foreign one. */
function keyIn(cursor: Json): string | null {
  if (typeof cursor !== "string" || !/^[A-Za-z0-9_-]+$/.test(cursor)) return null;
  try {
    return utf8OrNull(fromBase64Url(cursor));
  } catch {
    return null;
  }
}

/** A page of a list whose items are made from skills. */
export const listedSkills = (
  exchange: Exchange,
  params: JsonObject,
  member: string,
  itemsOf: (served: Served) => JsonObject[] | Promise<JsonObject[]>,
): Promise<Outcome> =>
  listed(params, member, async (slug) => {
    const { skills, last } = await skillsAfter(exchange, slug);
    return { items: (await Promise.all(skills.map(itemsOf))).flat(), last };
  });

/** The skill of a slug; `null` if the caller may invoke none. */
export async function skillOf({ context, invokes }: Exchange, slug: string): Promise<Served | null> {
  if (!invokes) return null;
  const card = (await servedTo(context)).bySlug.get(slug);
  return card === undefined ? null : { card, record: await context.deployment.registry.skill(card.version) };
}
