/**
 * Runs the Worker in workerd without wrangler's proxy (`--direct`, benchmarks, `hull call`): miniflare gets the same
 * modules and the same bindings of wrangler.toml.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { outboundOf } from "./outbound.ts";
import type { StartedWorker, WorkerOptions } from "./worker.ts";
import { ENTRY, readModules, type WorkerModules } from "./worker-modules.ts";

// An import would search this CommonJS module of 5.8 MB for its format and its exports, which takes 100 ms of processor
// time.
const miniflare: typeof import("miniflare") = createRequire(import.meta.url)("miniflare");
const { convertV4MiniflareOptions, Log, LogLevel, Miniflare } = miniflare;

/** The Worker and its bindings, for miniflare. */
export function workerOptions({
  repoDir,
  config,
  host,
  port,
  variables,
  modules,
}: Omit<WorkerOptions, "stateDir" | "onLine"> & { modules: WorkerModules }) {
  const named = <T extends { binding: string }>(list: T[], id: (item: T) => string) =>
    Object.fromEntries(list.map((item) => [item.binding, id(item)]));
  return {
    name: "hull",
    // workerd starts with the first module. Of the others, the small ones come first: for each module, miniflare copies
    // what it has written so far, and 64 MB of copies would cause another garbage collection.
    modules: [...modules]
      .sort(
        ([a, left], [b, right]) => Number(b === ENTRY) - Number(a === ENTRY) || left.length - right.length,
      )
      .map(([path, contents]) => ({ type: "ESModule" as const, path, contents })),
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
    ...outboundOf(process.env, () => miniflare.Response),
  };
}

/** Starts workerd with the modules in the folder `bundle`; it ends with this process. Returns its URL. */
export async function startDirect(options: WorkerOptions, bundle: string): Promise<StartedWorker> {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      ...workerOptions({ ...options, modules: await readModules(bundle) }),
      log: new Log(LogLevel.NONE),
      handleStructuredLogs: ({ message }) => options.onLine(message),
      // The folder that wrangler uses inside its --persist-to, so that both ways of serving share their state.
      resourcePersistencePath: join(options.stateDir, "v3"),
    }),
  );
  await miniflare.ready;
  const url = await miniflare.unsafeGetDirectURL();
  return {
    url: url.origin,
    scheduled: async (cron) => (await miniflare.getWorker()).scheduled({ cron }),
    stop: () => miniflare.dispose(),
  };
}
