/**
 * Runs the Worker in workerd without wrangler's proxy (`--direct`, benchmarks, `hull call`): miniflare gets the same
 * bundle and the same bindings of wrangler.toml.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { bundleWorker } from "./worker-bundle.ts";
import type { WorkerOptions } from "./worker-process.ts";
import { bindingsOf } from "./wrangler-toml.ts";

/** The Worker's bundle and bindings, for miniflare. */
export async function workerOptions({
  repoDir,
  host,
  port,
  variables,
  bundle,
}: Omit<WorkerOptions, "stateDir" | "onLine">) {
  const config = await bindingsOf(repoDir);
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

/** Starts workerd, which ends with this process; returns its URL. */
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
