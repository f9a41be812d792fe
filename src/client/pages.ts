/** Lists, page by page. */
import type { CallSettings, Transport } from "./transport.ts";

interface Page<Item> {
  data: Item[];
  next_cursor: string | null;
}

/** Every item of a list; pages are requested on demand. */
export async function* pages<Item>(
  transport: Transport,
  path: string,
  settings: CallSettings,
): AsyncGenerator<Item, void, undefined> {
  for (let cursor: string | undefined; ; ) {
    const call = { method: "GET", path, query: { limit: 100, cursor }, repeatable: true } as const;
    const { data, next_cursor } = await transport.json<Page<Item>>(call, settings);
    yield* data;
    if (next_cursor === null) return;
    cursor = next_cursor;
  }
}
