// `npm run docs` writes this file from src/client.
/** Lists, page by page. */
import type { CallSettings, Transport } from "./transport.ts";
/** Every item of a list; pages are requested on demand. */
export declare function pages<Item>(transport: Transport, path: string, settings: CallSettings): AsyncGenerator<Item, void, undefined>;
