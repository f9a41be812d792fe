/**
 * Gives workerd all sources as one module, bundled once per run, and each package that tests import as another module.
 * Otherwise each test file would transfer and evaluate some 400 modules one by one, and as many again for a vendor's
 * SDK, which takes longer than the tests of most files.
 */
import { globSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { type BuildOptions, build } from "esbuild";
import type { Plugin } from "vitest/config";
import { fileTexts } from "../../scripts/dev/file-texts.ts";

const REPO = dirname(dirname(import.meta.dirname));
const SOURCES = join(REPO, "src");
/** A module of a package, except those of vitest, which it handles itself. */
const PACKAGED = /\/node_modules\/(?!\.|vitest\/|@vitest\/|@cloudflare\/).*\.m?js$/;
/** The folder of the bundles, with one folder for each run. */
const BUNDLES = join(REPO, "node_modules", ".cache", "hull-worker-tests");
/** Modules that workerd loads by itself from these files. */
export const PREBUILT_RULES = [{ type: "ESModule" as const, include: [`${BUNDLES}/**/*.mjs`] }];

const COMMON = {
  bundle: true,
  format: "esm",
  target: "es2024",
  conditions: ["workerd", "worker", "browser"],
  external: ["cloudflare:*", "node:*"],
  logLevel: "error",
} as const satisfies BuildOptions;

/** Bundles on first use. In watch mode it bundles nothing: the sources go to workerd unchanged. */
export function prebuiltSources(): Plugin {
  let watching = false;
  let folder: string | null = null;
  let bundled: Promise<string> | null = null;
  const own = (): string => {
    mkdirSync(BUNDLES, { recursive: true });
    folder ??= mkdtempSync(join(BUNDLES, "run-"));
    return folder;
  };
  return {
    name: "hull-prebuilt-sources",
    enforce: "pre",
    configureVitest({ vitest }) {
      watching = vitest.config.watch;
      vitest.onClose(async () => {
        await bundled;
        if (folder !== null) rmSync(folder, { recursive: true, force: true });
      });
    },
    async load(id) {
      if (watching) return null;
      if (PACKAGED.test(id)) return bundledPackage(id, own());
      if (!id.startsWith(`${SOURCES}/`)) return null;
      bundled ??= bundleSources(own());
      return exportsOf(id, await bundled);
    },
  };
}

/**
 * The replacement of a package's file: the file and all its imports as one module. `null`: only Node can find its
 * exports.
 */
async function bundledPackage(file: string, folder: string): Promise<string | null> {
  const name = relative(REPO, file).replaceAll("/", "_");
  const outfile = join(folder, "packages", name.replace(/\.m?js$/, ".mjs"));
  const { metafile } = await build({
    ...COMMON,
    entryPoints: [file],
    outfile,
    absWorkingDir: REPO,
    metafile: true,
  });
  const [{ exports = [] } = {}] = Object.values(metafile.outputs);
  if (metafile.inputs[relative(REPO, file)]?.format !== "esm") return null;
  const module = JSON.stringify(outfile);
  return `export * from ${module};${exports.includes("default") ? `export { default } from ${module};` : ""}`;
}

const FILES = globSync(join(SOURCES, "**", "*.ts")).filter((file) => !file.endsWith(".d.ts"));
const nameOf = (file: string): string => `m${FILES.indexOf(file)}`;

/** Makes one module of all source files, which exports each file's exports under its own name; returns its path. */
async function bundleSources(folder: string): Promise<string> {
  const lines = FILES.map((file) => `export * as ${nameOf(file)} from ${JSON.stringify(file)};`);
  const outfile = join(folder, "all.mjs");
  const stdin = { contents: lines.join("\n"), resolveDir: SOURCES };
  await build({ ...COMMON, stdin, outfile, plugins: [fileTexts] });
  return outfile;
}

/** The replacement of a source file: its exports, imported from the module of all sources. */
async function exportsOf(file: string, all: string): Promise<string> {
  const { metafile } = await build({ entryPoints: [file], outdir: SOURCES, write: false, metafile: true });
  const [{ exports = [] } = {}] = Object.values(metafile.outputs);
  const name = nameOf(file);
  const lines = exports.map((key) =>
    key === "default" ? `export default ${name}.default;` : `export const ${key} = ${name}.${key};`,
  );
  return [`import { ${name} } from ${JSON.stringify(all)};`, ...lines].join("\n");
}
