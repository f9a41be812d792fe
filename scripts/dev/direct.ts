/**
 * The Worker in workerd without wrangler's proxy (`--direct`, benchmarks, `hull call`): the same bundle and the same
 * bindings of wrangler.toml, handed to miniflare.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { parse } from "smol-toml";
import * as z from "zod";
import type { WorkerOptions } from "./worker-process.ts";

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
  ratelimits: z.array(
    z.object({
      name: z.string(),
      namespace_id: z.string(),
      simple: z.object({ limit: z.number(), period: z.union([z.literal(10), z.literal(60)]) }),
    }),
  ),
});

async function configOf(repoDir: string): Promise<z.infer<typeof wranglerConfig>> {
  return wranglerConfig.parse(parse(await readFile(join(repoDir, "wrangler.toml"), "utf8")));
}

/** The names that wrangler.toml gives to bindings. */
export async function bindingNames(repoDir: string): Promise<Set<string>> {
  const config = await configOf(repoDir);
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

/** What miniflare needs to know of the Worker: its bundle and its bindings. */
export async function workerOptions({
  repoDir,
  host,
  port,
  variables,
  bundle,
}: Omit<WorkerOptions, "stateDir" | "onLine">) {
  const config = await configOf(repoDir);
  const script = bundle === null ? await bundleWorker(repoDir, config.main) : await readFile(bundle, "utf8");
  const named = <T extends { binding: string }>(list: T[], id: (item: T) => string) =>
    Object.fromEntries(list.map((item) => [item.binding, id(item)]));
  return {
    name: "hull",
    modules: [{ type: "ESModule" as const, path: "worker.mjs", contents: script }],
    compatibilityDate: config.compatibility_date,
    compatibilityFlags: config.compatibility_flags,
    bindings: Object.fromEntries(variables),
    kvNamespaces: named(config.kv_namespaces, (item) => item.binding),
    d1Databases: named(config.d1_databases, (item) => item.binding),
    r2Buckets: named(config.r2_buckets, (item) => item.bucket_name),
    durableObjects: Object.fromEntries(
      config.durable_objects.bindings.map(({ name, class_name }) => [
        name,
        { className: class_name, useSQLite: true },
      ]),
    ),
    workerLoaders: Object.fromEntries(config.worker_loaders.map(({ binding: name }) => [name, {}])),
    serviceBindings: {
      [config.assets.binding]: { disk: { path: join(repoDir, config.assets.directory) } },
    },
    ratelimits: Object.fromEntries(config.ratelimits.map(({ name, ...limit }) => [name, limit])),
    unsafeDirectSockets: [{ host, port }],
  };
}

/** Starts workerd, which ends with this process; answers its URL. */
export async function startDirect(
  options: WorkerOptions,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      ...(await workerOptions(options)),
      log: new Log(LogLevel.NONE),
      handleStructuredLogs: ({ message }) => options.onLine(message),
      // The folder that wrangler uses inside its --persist-to, so that both ways of serving share their state.
      resourcePersistencePath: join(options.stateDir, "v3"),
    }),
  );
  await miniflare.ready;
  const url = await miniflare.unsafeGetDirectURL();
  return { url: url.origin, stop: () => miniflare.dispose() };
}
