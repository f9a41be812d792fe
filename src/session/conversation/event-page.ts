/** A session's events page by page, for people and programs that look back. */
import type { ConversationStore } from "./store.ts";

/** The most events that one page examines. If a filter drops most of them, the page is short. */
const MAX_READ = 10_000;
/** Characters of data after which a page ends. */
const MAX_CHARACTERS = 1024 * 1024;

export interface EventPage {
  /** `data` is the event's own data. */
  data: { seq: number; event: string; data: unknown }[];
  /** Number of the last event that the page examined; `null`: it was the last event. */
  next: number | null;
}

/**
 * The events after a number, oldest first.
 * @param name only events of this name; `null`: all
 */
export function eventPage(
  store: ConversationStore,
  { after, limit, name }: { after: number; limit: number; name: string | null },
): EventPage {
  const data: EventPage["data"] = [];
  const last = store.lastEvent();
  let seen = after;
  let characters = 0;
  for (let batch = store.events(seen); batch.length > 0; batch = store.events(seen)) {
    for (const { seq, event, data: value } of batch) {
      seen = seq;
      if (name === null || event === name) {
        data.push({ seq, event, data: value });
        characters += JSON.stringify(value).length;
      }
      const full = data.length >= limit || characters >= MAX_CHARACTERS || seen - after >= MAX_READ;
      if (full) return { data, next: seen < last ? seen : null };
    }
  }
  return { data, next: null };
}
