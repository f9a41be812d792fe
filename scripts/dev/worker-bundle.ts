/** The Worker's sources and bindings on this machine. Loads neither miniflare nor wrangler, which take long to load. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { parse } from "smol-toml";
import * as z from "zod";

const binding = z.object({ binding: z.string() });
/** The parts of wrangler.toml that the local Worker needs. */
const configShape = z.object({
  main: z.string(),
  compatibility_date: z.string(),
  compatibility_flags: z.array(z.string()),
  kv_namespaces: z.array(binding),
  d1_databases: z.array(binding),
  r2_buckets: z.array(binding.extend({ bucket_name: z.string() })),
  durable_objects: z.object({ bindings: z.array(z.object({ name: z.string(), class_name: z.string() })) }),
  worker_loaders: z.array(binding).default([]),
  assets: binding.extend({ directory: z.string() }),
  ai: binding.transform((one) => [one]).default([]),
  ratelimits: z.array(
    z.object({
      name: z.string(),
      namespace_id: z.string(),
      simple: z.object({ limit: z.number(), period: z.union([z.literal(10), z.literal(60)]) }),
    }),
  ),
});

/** What wrangler.toml says of the Worker. */
export async function wranglerConfig(repoDir: string): Promise<z.infer<typeof configShape>> {
  return configShape.parse(parse(await readFile(join(repoDir, "wrangler.toml"), "utf8")));
}

/** The names that wrangler.toml gives to bindings. */
export async function bindingNames(repoDir: string): Promise<Set<string>> {
  const config = await wranglerConfig(repoDir);
  const { kv_namespaces, d1_databases, r2_buckets, worker_loaders, durable_objects, ratelimits } = config;
  const named = [...kv_namespaces, ...d1_databases, ...r2_buckets, ...worker_loaders, config.assets];
  return new Set([
    ...[...named, ...config.ai].map(({ binding: name }) => name),
    ...[...durable_objects.bindings, ...ratelimits].map(({ name }) => name),
  ]);
}

/** Bundles the Worker as a deploy does: one minified ES module. */
export async function bundleWorker(repoDir: string, entry: string): Promise<string> {
  const result = await build({
    entryPoints: [join(repoDir, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    logLevel: "error",
  });
  return result.outputFiles[0]?.text ?? "";
}

/** The Worker's bundle. The tests make it once for all the servers that they start. */
export async function workerBundle(repoDir: string): Promise<string> {
  const made = process.env.HULL_WORKER_BUNDLE;
  if (made !== undefined) return readFile(made, "utf8");
  const { main } = await wranglerConfig(repoDir);
  return bundleWorker(repoDir, main);
}
