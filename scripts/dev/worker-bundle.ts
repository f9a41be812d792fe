/**
 * The Worker as modules: the entry, and parts that the Worker imports when a request first needs them. Loads neither
 * miniflare nor wrangler, which take long to load.
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { type BuildOptions, build, type Metafile, type Plugin } from "esbuild";
import { buildCached } from "./build-cache.ts";
import { fileTexts } from "./file-texts.ts";
import { REPO_DIR } from "./paths.ts";

/** The module that workerd starts with. */
export const ENTRY = "worker.js";

/** The texts of ES modules by file name. They import each other as `./<name>`. */
export type WorkerModules = ReadonlyMap<string, string>;

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

/** Bundles the Worker, minified. */
export async function bundleWorker(repoDir: string): Promise<WorkerModules> {
  return (await bundleWithMetafile(repoDir)).modules;
}

/** Bundles the Worker, and says what each module was made of. */
export async function bundleWithMetafile(
  repoDir: string,
): Promise<{ modules: WorkerModules; metafile: Metafile }> {
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
 */
export async function workerFolder(dir: string): Promise<string> {
  return (
    process.env.HULL_WORKER_BUNDLE ??
    buildCached("worker", dir, async (folder) => {
      const { modules, metafile } = await bundleWithMetafile(REPO_DIR);
      await writeModules(folder, modules);
      return inputsOf(metafile, REPO_DIR);
    })
  );
}

/** The Worker's modules, newly bundled except in tests. */
export async function workerModules(): Promise<WorkerModules> {
  const bundled = process.env.HULL_WORKER_BUNDLE;
  return bundled === undefined ? bundleWorker(REPO_DIR) : readModules(bundled);
}

/** Reads the modules in a folder. */
export async function readModules(dir: string): Promise<WorkerModules> {
  const names = (await readdir(dir)).filter((name) => name.endsWith(".js"));
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(dir, name), "utf8")] as const)),
  );
}

/**
 * Makes a folder contain exactly these modules. Those that it already has stay untouched, since a server may be watching
 * them. None is ever there in part, since another server may be starting from them.
 */
export async function writeModules(dir: string, modules: WorkerModules): Promise<void> {
  await mkdir(dir, { recursive: true });
  const present = await readModules(dir);
  // The entry names the others, so it comes last.
  for (const [name, text] of [...modules].sort(([a], [b]) => Number(a === ENTRY) - Number(b === ENTRY))) {
    if (present.get(name) === text) continue;
    const part = join(dir, `${name}.${process.pid}`);
    await writeFile(part, text);
    await rename(part, join(dir, name));
  }
  for (const name of present.keys()) if (!modules.has(name)) await rm(join(dir, name), { force: true });
}
