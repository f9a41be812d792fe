/**
 * Gives workerd the sources as one module, bundled once for the run. Otherwise each test file transfers and evaluates
 * some 400 modules one by one, which takes longer than the tests of most files.
 */
import { globSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build } from "esbuild";
import type { Plugin } from "vitest/config";
import { fileTexts } from "../../scripts/dev/file-texts.ts";

const REPO = dirname(dirname(import.meta.dirname));
const SOURCES = join(REPO, "src");
/** Bundles lie in here, one folder for each run. */
const BUNDLES = join(REPO, "node_modules", ".cache", "hull-worker-tests");
/** Modules that workerd loads by itself from these files. */
export const PREBUILT_RULES = [{ type: "ESModule" as const, include: [`${BUNDLES}/**/*.mjs`] }];

/** Bundles on first use, in watch mode not at all: there the sources go to workerd as they are. */
export function prebuiltSources(): Plugin {
  let watching = false;
  let bundled: Promise<string> | null = null;
  return {
    name: "hull-prebuilt-sources",
    enforce: "pre",
    configureVitest({ vitest }) {
      watching = vitest.config.watch;
      vitest.onClose(async () => {
        if (bundled !== null) rmSync(await bundled, { recursive: true, force: true });
      });
    },
    async load(id) {
      if (watching || !id.startsWith(`${SOURCES}/`)) return null;
      bundled ??= bundle();
      const module = JSON.stringify(join(await bundled, relative(SOURCES, id).replace(/ts$/, "mjs")));
      const isWorker = id === join(SOURCES, "worker.ts");
      return `export * from ${module};${isWorker ? `export { default } from ${module};` : ""}`;
    },
  };
}

/** Answers the folder that has a module for each source file; they share what they export in one chunk. */
async function bundle(): Promise<string> {
  const files = globSync(join(SOURCES, "**", "*.ts")).filter((file) => !file.endsWith(".d.ts"));
  mkdirSync(BUNDLES, { recursive: true });
  const folder = mkdtempSync(join(BUNDLES, "run-"));
  await build({
    entryPoints: files.map((file) => ({
      in: `entry:${file}`,
      out: relative(SOURCES, file).replace(/\.ts$/, ""),
    })),
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    logLevel: "error",
    plugins: [
      fileTexts,
      {
        name: "entries",
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /^entry:/ }, ({ path }) => ({
            path: path.slice("entry:".length),
            namespace: "entry",
          }));
          onResolve({ filter: /^all:$/ }, ({ path }) => ({ path, namespace: "all" }));
          onLoad({ filter: /./, namespace: "entry" }, ({ path }) => {
            const file = JSON.stringify(path);
            const isWorker = path === join(SOURCES, "worker.ts");
            // What every entry needs goes into a chunk that all share, so there is one of it.
            const contents = `import "all:"; export * from ${file};${isWorker ? `export { default } from ${file};` : ""}`;
            return { contents, resolveDir: SOURCES };
          });
          onLoad({ filter: /./, namespace: "all" }, () => ({
            contents: files.map((file) => `import ${JSON.stringify(file)};`).join("\n"),
            resolveDir: SOURCES,
          }));
        },
      },
    ],
  });
  return folder;
}
