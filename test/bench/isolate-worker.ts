/** A Worker of a bench that has Worker Loader, in workerd, next to the emptiest isolate that it allows. */
import { join } from "node:path";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { fileTexts } from "../../scripts/dev/file-texts.ts";

/** What such a Worker loads for the floor: it answers with its input. */
export const EMPTY_ISOLATE = `import { WorkerEntrypoint } from "cloudflare:workers";
export default class extends WorkerEntrypoint { call(text) { return text; } }`;

/** @param source JavaScript; its imports are relative to the checkout */
export async function startIsolateWorker(name: string, source: string): Promise<Miniflare> {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: join(import.meta.dirname, "..", ".."), loader: "js" },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    external: ["cloudflare:*", "node:*"],
    logLevel: "error",
    plugins: [fileTexts],
  });
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      name,
      modules: [{ type: "ESModule", path: "worker.mjs", contents: outputFiles[0]?.text ?? "" }],
      compatibilityDate: "2026-10-20",
      workerLoaders: { LOADER: {} },
      unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
    }),
  );
  await miniflare.ready;
  return miniflare;
}
