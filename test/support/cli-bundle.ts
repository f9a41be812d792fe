/**
 * Bundles the command line, so that a test's server starts in a third of the processor time that it takes from 300 source
 * files. The modules still know the places of their sources, so the Worker's process, the migrations and the like are
 * those of the checkout.
 */
import { basename, join, relative } from "node:path";
import { build } from "esbuild";
import { compiledProgram, places, writeBundle } from "./compiled-bundle.ts";

/** Packages that are loaded on demand, as they are from the sources. */
const EXTERNAL = ["esbuild", "miniflare", "wrangler", "typescript"];
const REQUIRE =
  'import{createRequire as hullRequire}from"node:module";const require=hullRequire(import.meta.url);';
/** A program that starts from compiled code is no module, and cannot wait at its top level. */
const REPLACED = [
  {
    file: /\/scripts\/hull\.ts$/,
    from: "process.exitCode = await runCli(process.argv.slice(2));",
    to: "runCli(process.argv.slice(2)).then((code) => { process.exitCode = code; });",
  },
];
const START = "hull.cjs";

/**
 * Bundles the command line below `folder`, and returns the file to start. Next to it are `cli.mjs`, which has the exports
 * of `scripts/cli.ts`, and `fake-wrangler.mjs`.
 */
export async function bundleCli(repo: string, folder: string): Promise<string> {
  const [{ outputFiles }, program] = await Promise.all([
    build({
      entryPoints: ["scripts/cli", "test/support/fake-wrangler"].map((path) => ({
        in: join(repo, `${path}.ts`),
        out: basename(path),
      })),
      outdir: folder,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      splitting: true,
      write: false,
      platform: "node",
      target: "node24",
      format: "esm",
      external: EXTERNAL,
      banner: { js: REQUIRE },
      logLevel: "error",
      plugins: [places],
    }),
    compiledProgram(repo, "scripts/hull.ts", START, REPLACED, { external: EXTERNAL }),
  ]);
  const modules = outputFiles.map(({ path, text }): [string, string] => [relative(folder, path), text]);
  return join(await writeBundle(folder, "cli-", [...modules, ...program]), START);
}
