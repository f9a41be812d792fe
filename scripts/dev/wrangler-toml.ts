/** The parts of wrangler.toml that the local Worker needs. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "smol-toml";
import * as z from "zod";

const binding = z.object({ binding: z.string() });
/** The parts of wrangler.toml that the local Worker needs. */
const wranglerConfig = z.object({
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
  triggers: z.object({ crons: z.array(z.string()) }),
  ratelimits: z.array(
    z.object({
      name: z.string(),
      namespace_id: z.string(),
      simple: z.object({ limit: z.number(), period: z.union([z.literal(10), z.literal(60)]) }),
    }),
  ),
});

/** What wrangler.toml binds to the Worker. */
export type WranglerConfig = z.infer<typeof wranglerConfig>;

/** Reads wrangler.toml. @throws ZodError if a required binding is missing */
export async function bindingsOf(repoDir: string): Promise<WranglerConfig> {
  return wranglerConfig.parse(parse(await readFile(join(repoDir, "wrangler.toml"), "utf8")));
}

/** The names of the bindings in wrangler.toml. */
export async function bindingNames(repoDir: string): Promise<Set<string>> {
  const config = await bindingsOf(repoDir);
  const { kv_namespaces, d1_databases, r2_buckets, worker_loaders, durable_objects, ratelimits } = config;
  const named = [...kv_namespaces, ...d1_databases, ...r2_buckets, ...worker_loaders, config.assets];
  return new Set([
    ...[...named, ...config.ai].map(({ binding: name }) => name),
    ...[...durable_objects.bindings, ...ratelimits].map(({ name }) => name),
  ]);
}
