/**
 * Bundles the process of the Worker with miniflare into one file, which starts from compiled code. A test's server then
 * starts in three quarters of the processor time.
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { compiledProgram, writeBundle } from "./compiled-bundle.ts";

/** Packages that are loaded on demand, or that find files of theirs by their own place. */
const EXTERNAL = ["esbuild", "sharp", "workerd", "wrangler", "youch"];
const REPLACED = [
  {
    // A bundler does not see this.
    file: /\/scripts\/dev\/direct\.ts$/,
    from: 'createRequire(import.meta.url)("miniflare")',
    to: 'require("miniflare")',
  },
  {
    // miniflare would copy all that it has written for workerd so far, 2 MB in the end, for almost each value that follows.
    file: /\/miniflare\/dist\/src\/index\.js$/,
    from: "s.buffer = new ArrayBuffer(srcBuffer.byteLength + minSize)",
    to: "s.buffer = new ArrayBuffer(2 * srcBuffer.byteLength + minSize)",
  },
];
const START = "worker-process.cjs";

/** Bundles it below `folder`; returns the module to start. */
export async function bundleWorkerProcess(repo: string, folder: string): Promise<string> {
  const miniflare = createRequire(join(repo, "package.json")).resolve("miniflare");
  const files = await compiledProgram(repo, "scripts/dev/worker-process.ts", START, REPLACED, {
    external: EXTERNAL,
    minify: true,
    legalComments: "none",
    // Its other files are next to its module.
    define: { __dirname: JSON.stringify(dirname(miniflare)), __filename: JSON.stringify(miniflare) },
  });
  return join(await writeBundle(folder, "worker-process-", files), START);
}
