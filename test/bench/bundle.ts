/** The Worker bundle: its size, and what compiling and evaluating it adds to the start of workerd. */
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { bundleWorker } from "../../scripts/dev/worker-bundle.ts";
import { ms, type Row, row } from "./row.ts";

const kilobytes = (value: number): string => `${value.toFixed(1)} KB`;
/** Loads the subject and answers without it. */
const ENTRY = "import './subject'; export default { fetch: () => new Response('ok') };";

export async function bundleRows(): Promise<Row[]> {
  const script = await bundleWorker(join(import.meta.dirname, "..", ".."), "src/worker.ts");
  const size = gzipSync(script, { level: 9 }).length / 1024;
  const starts: { text: number[]; hull: number[] } = { text: [], hull: [] };
  for (let i = 0; i < 9; i++) {
    // The same bytes as a text: handing a megabyte to workerd takes miniflare longer than workerd needs to evaluate it.
    starts.text.push(await startTime("Text", script));
    starts.hull.push(await startTime("ESModule", script));
  }
  // The quickest of each: what else runs only ever adds to a start.
  const floor = Math.min(...starts.text);
  const hull = Math.min(...starts.hull);
  return [
    row("Worker bundle, minified, gzipped", "", kilobytes(size), size, 250, kilobytes),
    row(
      "Worker compiled and evaluated: start of workerd over the same bytes as a text",
      ms(floor),
      ms(hull),
      Math.max(0, hull - floor),
      25,
      ms,
    ),
  ];
}

/** ms from asking for workerd to its first answer, with the subject loaded but not asked. */
async function startTime(type: "ESModule" | "Text", contents: string): Promise<number> {
  const begun = performance.now();
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      name: "start",
      modules: [
        { type: "ESModule", path: "entry.mjs", contents: ENTRY },
        { type, path: "subject", contents },
      ],
      compatibilityDate: "2026-10-20",
      compatibilityFlags: ["enable_request_signal"],
      unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
    }),
  );
  await miniflare.ready;
  await (await fetch(await miniflare.unsafeGetDirectURL())).arrayBuffer();
  const took = performance.now() - begun;
  await miniflare.dispose();
  return took;
}
