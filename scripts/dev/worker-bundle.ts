/** The Worker as one module. Loads neither miniflare nor wrangler, which take long to load. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type BuildOptions, build } from "esbuild";
import { bindingsOf } from "./wrangler-toml.ts";

/** How esbuild bundles the Worker. */
export const workerBuild = (repoDir: string, entry: string) =>
  ({
    entryPoints: [join(repoDir, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    logLevel: "error",
  }) satisfies BuildOptions;

/** Bundles the Worker as a deploy does: one minified ES module. */
export async function bundleWorker(repoDir: string, entry: string): Promise<string> {
  const result = await build(workerBuild(repoDir, entry));
  return result.outputFiles[0]?.text ?? "";
}

/** The Worker's bundle. The tests make it once for all the servers that they start. */
export async function workerBundle(repoDir: string): Promise<string> {
  const made = process.env.HULL_WORKER_BUNDLE;
  if (made !== undefined) return readFile(made, "utf8");
  const { main } = await bindingsOf(repoDir);
  return bundleWorker(repoDir, main);
}
