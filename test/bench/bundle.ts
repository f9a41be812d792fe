/** The Worker's modules: their size, and what compiling and evaluating those that every isolate needs adds to the start of workerd. */
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { ENTRY, type WorkerModules } from "../../scripts/dev/worker-modules.ts";
import { bindingsOf } from "../../scripts/dev/wrangler-toml.ts";
import { entryModules } from "./entry-modules.ts";
import { ms, type Row, row } from "./row.ts";

const REPO = join(import.meta.dirname, "..", "..");
const kilobytes = (value: number): string => `${value.toFixed(1)} KB`;
/** Starts of each kind: one start varies by more than what is measured. */
const STARTS = 30;
/** Loads the Worker and answers without it. */
const SUBJECT = `import "./${ENTRY}"; export default { fetch: () => new Response("ok") };`;

export async function bundleRows(): Promise<Row[]> {
  const { modules, entry: outputs } = await entryModules(REPO);
  const { compatibility_date, compatibility_flags } = await bindingsOf(REPO);
  const start = (type: "ESModule" | "Text"): Promise<number> =>
    startTime(type, modules, compatibility_date, compatibility_flags);
  const starts: { text: number[]; hull: number[]; over: number[] } = { text: [], hull: [], over: [] };
  for (let i = 0; i < STARTS; i++) {
    // The same bytes as texts: handing a megabyte to workerd takes miniflare longer than workerd needs to evaluate it.
    const text = await start("Text");
    const hull = await start("ESModule");
    starts.text.push(text);
    starts.hull.push(hull);
    starts.over.push(hull - text);
  }
  const all = gzipped(modules.keys(), modules);
  const entry = gzipped(
    Object.keys(outputs).map((path) => basename(path)),
    modules,
  );
  return [
    row(
      "Worker: modules that each isolate compiles when it starts, minified, gzipped",
      kilobytes(all),
      kilobytes(entry),
      entry,
      250,
      kilobytes,
    ),
    row(
      "Worker compiled and evaluated: start of workerd over the same bytes as texts",
      ms(median(starts.text)),
      ms(median(starts.hull)),
      // Of two starts one after the other: the machine is now quicker, now slower.
      Math.max(0, median(starts.over)),
      25,
      ms,
    ),
  ];
}

/** KB of modules, gzipped together. */
function gzipped(names: Iterable<string>, modules: WorkerModules): number {
  const texts = [...names].map((name) => modules.get(name) ?? "");
  return gzipSync(texts.join("\n"), { level: 9 }).length / 1024;
}

/** ms from asking for workerd to its first answer, with the Worker loaded but not asked. */
async function startTime(
  type: "ESModule" | "Text",
  modules: WorkerModules,
  compatibilityDate: string,
  compatibilityFlags: string[],
): Promise<number> {
  const begun = performance.now();
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      name: "start",
      modules: [
        { type: "ESModule", path: "subject.js", contents: SUBJECT },
        ...[...modules].map(([path, contents]) => ({ type, path, contents })),
      ],
      compatibilityDate,
      compatibilityFlags,
      unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
    }),
  );
  await miniflare.ready;
  await (await fetch(await miniflare.unsafeGetDirectURL())).arrayBuffer();
  const took = performance.now() - begun;
  await miniflare.dispose();
  return took;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
