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
  ratelimits: z.array(
    z.object({
      name: z.string(),
      namespace_id: z.string(),
      simple: z.object({ limit: z.number(), period: z.union([z.literal(10), z.literal(60)]) }),
    }),
  ),
});

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

interface DirectOptions {
  /** Where wrangler.toml and the sources are. */
  repoDir: string;
  host: string;
  port: number;
  /** Folder of the persistent state. */
  stateDir: string;
  variables: ReadonlyMap<string, string>;
  onLine: (line: string) => void;
}

/** What miniflare needs to know of the Worker: its bundle and its bindings. */
export async function workerOptions({
  repoDir,
  host,
  port,
  variables,
}: Pick<DirectOptions, "repoDir" | "host" | "port" | "variables">) {
  const text = await readFile(join(repoDir, "wrangler.toml"), "utf8");
  const config = wranglerConfig.parse(parse(text));
  const script = await bundleWorker(repoDir, config.main);
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
export async function startDirect(options: DirectOptions): Promise<{ url: string }> {
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
  return { url: url.origin };
}
