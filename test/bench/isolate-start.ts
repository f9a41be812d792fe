/** What it takes workerd to compile and evaluate modules when an isolate starts. */
import type { WorkerModules } from "../../scripts/dev/worker-modules.ts";
import { bindingsOf } from "../../scripts/dev/wrangler-toml.ts";
import { startIsolateWorker } from "./isolate-worker.ts";
import { cpuOf, withWorkerd } from "./processes.ts";

/** Of each kind, one after the other: processor time is counted in ticks of 10 ms. */
const STARTS = 3;
const ROUNDS = 5;

/**
 * Processor time of isolates whose main module imports the given one, over that of isolates that get the same bytes as texts: the
 * median of some rounds. Both are started by the same workerd, which runs already. On Linux only.
 */
export async function startRatio(repoDir: string, modules: WorkerModules, main: string): Promise<number> {
  const { compatibility_date, compatibility_flags } = await bindingsOf(repoDir);
  const answer = 'export default { fetch: () => new Response("ok") };';
  const host = `
const list = ${JSON.stringify([...modules])};
const worker = (kind, main) => ({
  compatibilityDate: ${JSON.stringify(compatibility_date)},
  compatibilityFlags: ${JSON.stringify(compatibility_flags)},
  mainModule: "main.js",
  modules: { ...Object.fromEntries(list.map(([name, text]) => [name, { [kind]: text }])), "main.js": main },
});
const workers = {
  "/text": () => worker("text", ${JSON.stringify(answer)}),
  "/js": () => worker("js", ${JSON.stringify(`import "./${main}"; ${answer}`)}),
};
export default {
  async fetch({ url }, { LOADER }) {
    for (let i = 0; i < ${STARTS}; i++) {
      const isolate = LOADER.load(workers[new URL(url).pathname]());
      await (await isolate.getEntrypoint().fetch(url)).text();
    }
    return new Response("ok");
  },
};`;
  const { started: miniflare, pid } = await withWorkerd(() => startIsolateWorker("start", host));
  try {
    const url = await miniflare.unsafeGetDirectURL();
    const took = async (kind: "text" | "js"): Promise<number> => {
      const before = cpuOf(pid);
      const said = await (await fetch(new URL(kind, url))).text();
      if (said !== "ok") throw new RangeError(`an isolate did not start: ${said}`);
      return cpuOf(pid) - before;
    };
    const ratios: number[] = [];
    for (let i = 0; i < ROUNDS; i++) {
      const text = await took("text");
      ratios.push((await took("js")) / text);
    }
    return ratios.toSorted((a, b) => a - b)[ROUNDS >> 1] ?? Number.NaN;
  } finally {
    await miniflare.dispose();
  }
}
