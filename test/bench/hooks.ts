/** A hook call in a warm isolate, compared with the emptiest call of an isolate that Worker Loader allows. */
import { EMPTY_ISOLATE, startIsolateWorker } from "./isolate-worker.ts";
import { compare, post } from "./load.ts";
import { ms, type Row, row } from "./row.ts";

const HOOK = "export const turn = (payload) => payload;";

const WORKER = `
import { Redactor } from "./src/redact.ts";
import { callInIsolate } from "./src/tool/isolate/hook.ts";
import { Isolates } from "./src/tool/isolate/isolate.ts";
import { IsolatePlaces } from "./src/tool/isolate/places.ts";
const redactor = new Redactor([]);
let isolates = null;
const empty = { compatibilityDate: "2026-10-20", mainModule: "m.js", modules: { "m.js": ${JSON.stringify(EMPTY_ISOLATE)} }, globalOutbound: null };
export default {
  async fetch(request, { LOADER }) {
    const text = await request.text();
    if (new URL(request.url).pathname === "/empty")
      return new Response(await LOADER.get("empty", () => empty).getEntrypoint().call(text));
    isolates ??= new Isolates(LOADER);
    const call = { isolates, places: new IsolatePlaces(), id: "hook", source: async () => ${JSON.stringify(HOOK)}, exportName: "turn",
      payload: JSON.parse(text), timeoutMs: 10_000, signal: undefined, redactor, guarded: true };
    return Response.json(await callInIsolate(call));
  },
};`;

export async function hookRows(rounds: number): Promise<Row[]> {
  const miniflare = await startIsolateWorker("hooks", WORKER);
  try {
    const { origin } = await miniflare.unsafeGetDirectURL();
    const turn = JSON.stringify({ tool_names: ["a", "b"], iteration: 3 });
    const { floor, ours } = await compare(
      () => post(`${origin}/empty`, turn),
      () => post(`${origin}/hook`, turn),
      1,
      rounds,
    );
    const over = Math.max(0, ours.p50 - floor.p50);
    return [row("hook call, warm: p50 over an empty isolate call", ms(floor.p50), ms(ours.p50), over, 1, ms)];
  } finally {
    await miniflare.dispose();
  }
}

if (import.meta.main) console.table(await hookRows(100));
