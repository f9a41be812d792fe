/** The Worker bundle: its size, and what its evaluation adds to the start of workerd. */
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { bundleWorker } from "../../scripts/dev/direct.ts";
import { ms, type Row, row } from "./row.ts";

const kilobytes = (value: number): string => `${value.toFixed(1)} KB`;
/** Evaluates `subject.mjs` and answers without it. */
const ENTRY = "import './subject.mjs'; export default { fetch: () => new Response('ok') };";

export async function bundleRows(): Promise<Row[]> {
  const script = await bundleWorker(join(import.meta.dirname, "..", ".."), "src/worker.ts");
  const size = gzipSync(script, { level: 9 }).length / 1024;
  const starts: { trivial: number[]; hull: number[] } = { trivial: [], hull: [] };
  for (let i = 0; i < 7; i++) {
    starts.trivial.push(await startTime("export {};"));
    starts.hull.push(await startTime(script));
  }
  const middle = (list: number[]): number => list.toSorted((a, b) => a - b)[3] ?? Number.NaN;
  const floor = middle(starts.trivial);
  const hull = middle(starts.hull);
  return [
    row("Worker bundle, minified, gzipped", "", kilobytes(size), size, 120, kilobytes),
    row(
      "Worker evaluated: start of workerd over an empty module",
      ms(floor),
      ms(hull),
      Math.max(0, hull - floor),
      25,
      ms,
    ),
  ];
}

/** ms from asking for workerd to its first answer, with the script evaluated but not asked. */
async function startTime(script: string): Promise<number> {
  const begun = performance.now();
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      name: "start",
      modules: [
        { type: "ESModule", path: "entry.mjs", contents: ENTRY },
        { type: "ESModule", path: "subject.mjs", contents: script },
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
