/** The paged, searchable listing behind `GET /skills`. Pure. */
import type { Card } from "../skill/manifest.ts";

interface Query {
  /** Words that must all occur in name, slug, description or tool names; letter case does not matter. */
  q: string;
  mode: string | null;
  limit: number;
  /** Slug after which the page begins. */
  after: string | null;
}

interface Page {
  cards: Card[];
  /** Number of matching cards on all pages. */
  total: number;
  /** Slug to continue after, or `null` on the last page. */
  next: string | null;
}

/** One page of the matching cards; `cards` are sorted by slug. */
export function searchCards(cards: readonly Card[], query: Query): Page {
  const words = query.q.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = cards.filter((card) => {
    if (query.mode !== null && card.mode !== query.mode) return false;
    if (words.length === 0) return true;
    const text = [card.name, card.slug, card.description, ...(card.tools ?? [])].join("\n").toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const { after } = query;
  const rest = after === null ? matching : matching.filter((card) => card.slug > after);
  const page = rest.slice(0, query.limit);
  const next = rest.length > page.length ? (page.at(-1)?.slug ?? null) : null;
  return { cards: page, total: matching.length, next };
}
