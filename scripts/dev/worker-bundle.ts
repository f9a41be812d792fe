/**
 * Bundles the Worker into modules: the entry, and parts that the Worker imports when a request first needs them. Loads
 * neither miniflare nor wrangler, which take long to load, and esbuild only to bundle.
 */
import { dirname, join, relative } from "node:path";
import type { BuildOptions, Metafile, Plugin } from "esbuild";
import { buildCached } from "./build-cache.ts";
import { fileTexts } from "./file-texts.ts";
import { REPO_DIR } from "./paths.ts";
import { readModules, type WorkerModules, writeModules } from "./worker-modules.ts";

/**
 * Makes one module of everything that the entry imports, by letting each part import the entry too. Otherwise esbuild
 * makes a module for each set of parts that share code, and workerd takes longer to load many modules than one.
 */
const oneEntry = (entry: string): Plugin => ({
  name: "one-entry",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) =>
      kind === "dynamic-import" ? { path: join(resolveDir, path), namespace: "part" } : null,
    );
    onLoad({ filter: /./, namespace: "part" }, ({ path }) => ({
      contents: `import ${JSON.stringify(entry)}; export * from ${JSON.stringify(path)};`,
      resolveDir: dirname(path),
    }));
  },
});

/** How esbuild bundles the Worker. */
export const workerBuild = (repoDir: string) => {
  const entry = join(repoDir, "src/worker.ts");
  return {
    // By default, this is the folder of the process, which may no longer exist.
    absWorkingDir: repoDir,
    entryPoints: { worker: entry },
    outdir: join(repoDir, "dist"),
    bundle: true,
    splitting: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    logLevel: "error",
    plugins: [oneEntry(entry), fileTexts],
  } satisfies BuildOptions;
};

/** Bundles the Worker, minified, and says what each module consists of. */
export async function bundleWithMetafile(
  repoDir: string,
): Promise<{ modules: WorkerModules; metafile: Metafile }> {
  const { build } = await import("esbuild");
  const options = workerBuild(repoDir);
  const { outputFiles, metafile } = await build({ ...options, metafile: true });
  return {
    modules: new Map(outputFiles.map(({ path, text }) => [relative(options.outdir, path), text])),
    metafile,
  };
}

/** Absolute paths of the files from which esbuild made something, without modules that plugins made. */
export function inputsOf({ inputs }: Metafile, repoDir: string): string[] {
  return Object.keys(inputs)
    .filter((name) => !/^(?:[\w-]+:|\()/.test(name))
    .map((name) => join(repoDir, name.replace(/\?raw$/, "")));
}

/**
 * The folder of the Worker's modules for a start: a cached one, or `dir`, which it fills. The tests bundle them once for
 * all servers that they start.
 * @param cacheDir see `buildCached`
 */
export async function workerFolder(dir: string, cacheDir?: string): Promise<string> {
  const make = async (folder: string): Promise<string[]> => {
    const { modules, metafile } = await bundleWithMetafile(REPO_DIR);
    await writeModules(folder, modules);
    return inputsOf(metafile, REPO_DIR);
  };
  return process.env.HULL_WORKER_BUNDLE ?? buildCached("worker", dir, make, cacheDir);
}

/** The Worker's modules, newly bundled except in tests. */
export async function workerModules(): Promise<WorkerModules> {
  const bundled = process.env.HULL_WORKER_BUNDLE;
  return bundled === undefined ? (await bundleWithMetafile(REPO_DIR)).modules : readModules(bundled);
}
