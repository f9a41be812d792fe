/**
 * A JavaScript handler in an isolate, compared with the emptiest call of an isolate, and with `node` started on the same
 * file.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EMPTY_ISOLATE, startIsolateWorker } from "./isolate-worker.ts";
import { compare, load, post } from "./load.ts";
import { ms, perSecond, type Row, row } from "./row.ts";
import { spawnAndWait } from "./script.ts";

const HANDLER = `import { argv } from "node:process";
export default async function handler(args) {
  const { text } = args;
  return { count: text.trim().split(/\\s+/).filter(Boolean).length };
}
if (argv[2] === "bare") console.log(JSON.stringify(await handler(JSON.parse(argv[3]))));
`;
const ARGS = JSON.stringify({ text: "one two three" });

const WORKER = `
import { callHandler } from "./src/tool/isolate/handler.ts";
import { Isolates } from "./src/tool/isolate/isolate.ts";
import { IsolatePlaces } from "./src/tool/isolate/places.ts";
const empty = { compatibilityDate: "2026-10-20", mainModule: "m.js", modules: { "m.js": ${JSON.stringify(EMPTY_ISOLATE)} }, globalOutbound: null };
const tool = { name: "count_words", script: "scripts/count_words.js" };
let count = 0;
let isolates = null;
export default {
  async fetch(request, { LOADER }) {
    const text = await request.text();
    const { pathname } = new URL(request.url);
    const fresh = pathname.endsWith("/first");
    if (pathname.startsWith("/empty"))
      return new Response(await LOADER.get(fresh ? "empty " + count++ : "empty", () => empty).getEntrypoint().call(text));
    const call = { tool, args: JSON.parse(text), callId: "c", sessionId: null, bot: null, models: {}, config: {}, env: {},
      timeoutMs: 10_000, signal: request.signal, note() {} };
    isolates ??= new Isolates(LOADER);
    const isolate = { isolates, places: new IsolatePlaces(), id: fresh ? "handler " + count++ : "handler", outbound: null, guarded: true,
      source: async () => ${JSON.stringify(HANDLER)} };
    const { outcome } = await callHandler(call, isolate, { files: [], python: null });
    return Response.json(outcome.value, { status: outcome.fault === null ? 200 : 500 });
  },
};`;

export async function isolateRows(rounds: number): Promise<Row[]> {
  const miniflare = await startIsolateWorker("handlers", WORKER);
  const dir = mkdtempSync(join(tmpdir(), "hull-bench-isolate-"));
  writeFileSync(join(dir, "handler.mjs"), HANDLER);
  try {
    const { origin } = await miniflare.unsafeGetDirectURL();
    const ask = (path: string) => () => post(`${origin}/${path}`, ARGS);
    const warm = await compare(ask("empty"), ask("handler"), 1, rounds);
    const over = Math.max(0, warm.ours.p50 - warm.floor.p50);
    const spawned = await load(
      () => spawnAndWait([process.execPath, "handler.mjs", "bare", ARGS], dir),
      4,
      Math.ceil(rounds / 5),
    );
    const four = await load(ask("handler"), 4, rounds);
    // Isolates of many digests stay in memory for a while: few are enough.
    const first = await compare(ask("empty/first"), ask("handler/first"), 1, Math.ceil(rounds / 30));
    const share = spawned.per_second / four.per_second;
    const tenth = (value: number): string => `1/${(1 / value).toFixed(0)}`;
    return [
      row(
        "JS handler, warm: p50 over an empty isolate call",
        ms(warm.floor.p50),
        ms(warm.ours.p50),
        over,
        1,
        ms,
      ),
      row(
        "JS handler, c=4: node's calls to ours",
        perSecond(spawned.per_second),
        perSecond(four.per_second),
        share,
        0.1,
        tenth,
      ),
      row(
        "JS handler, first call of a digest: p50",
        ms(first.floor.p50),
        ms(first.ours.p50),
        first.ours.p50,
        30,
        ms,
      ),
    ];
  } finally {
    await miniflare.dispose();
    rmSync(dir, { recursive: true, force: true });
  }
}

if (import.meta.main) console.table(await isolateRows(100));
