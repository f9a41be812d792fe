/**
 * Bundles the command line into a few modules, so that a test's server starts in half the processor time that it takes
 * from 300 source files. The modules still know the places of their sources, so the Worker's process, the migrations and
 * the like are those of the checkout.
 */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin, transform } from "esbuild";

/** Packages that are loaded on demand, as they are from the sources. */
const EXTERNAL = ["esbuild", "miniflare", "wrangler", "typescript"];
/** How long the bundle of other sources is kept, in ms; another run may still use it. */
const KEPT_MS = 86_400_000;
const REQUIRE =
  'import{createRequire as hullRequire}from"node:module";const require=hullRequire(import.meta.url);';

/** Makes each module report the place of its source. */
export const places: Plugin = {
  name: "places",
  setup({ onLoad }) {
    onLoad({ filter: /\/(?:scripts|src|container)\/.*\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      if (!source.includes("import.meta.")) return { contents: source, loader: "ts" };
      const { code } = await transform(source, {
        loader: "ts",
        target: "node24",
        define: {
          "import.meta.dirname": JSON.stringify(dirname(path)),
          "import.meta.url": JSON.stringify(pathToFileURL(path).href),
          "import.meta.main": "false",
        },
      });
      return { contents: code, loader: "js" };
    });
  },
};

/**
 * Bundles the command line into its own folder below `folder`, named by its content, and returns the module to start.
 * Next to it are `cli.mjs`, which has the exports of `scripts/cli.ts`, and `fake-wrangler.mjs`.
 */
export async function bundleCli(repo: string, folder: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: ["scripts/hull", "scripts/cli", "test/support/fake-wrangler"].map((path) => ({
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
  });
  const hash = createHash("sha256");
  for (const { path, contents } of outputFiles) hash.update(path).update(contents);
  const name = `cli-${hash.digest("hex").slice(0, 16)}`;
  // Always at the same path, because Node finds its compiled code by the path.
  const target = join(folder, name);
  await mkdir(target, { recursive: true });
  for (const { path, contents } of outputFiles)
    await writeFile(join(target, path.slice(folder.length + 1)), contents);
  await removeOthers(folder, "cli-", name);
  return join(target, "hull.mjs");
}

/** Removes old bundles of other sources: the folders whose names begin with `prefix`, except `name`. */
export async function removeOthers(folder: string, prefix: string, name: string): Promise<void> {
  for (const other of await readdir(folder)) {
    if (!other.startsWith(prefix) || other === name) continue;
    const { mtimeMs } = await stat(join(folder, other));
    if (Date.now() - mtimeMs > KEPT_MS) await rm(join(folder, other), { recursive: true });
  }
}
