/** The Worker as wrangler runs it: it watches the sources and bundles them again when they change. */
import { join } from "node:path";
import { unstable_startWorker } from "wrangler";
import type { WorkerOptions } from "./worker-process.ts";

/**
 * Starts wrangler in this process and answers the Worker's URL. Variables are handed over as values: wrangler reads a
 * `.env` by rules of its own, which change a `$` and lose values that hold every kind of quote.
 */
export async function startWrangler(
  options: WorkerOptions,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const { repoDir, host, port, stateDir, variables, onLine } = options;
  const bindings = Object.fromEntries(
    [...variables].map(([name, value]) => [name, { type: "secret_text" as const, value }]),
  );
  const worker = await unstable_startWorker({
    config: join(repoDir, "wrangler.toml"),
    // A file must be named, or wrangler adds the `.env` that lies beside wrangler.toml.
    envFiles: ["/dev/null"],
    bindings,
    sendMetrics: false,
    dev: {
      server: { hostname: host, port },
      // Others who use this machine could read the Worker's memory there.
      inspector: false,
      remote: false,
      persist: stateDir,
      watch: true,
      structuredLogsHandler: ({ message }: { message: string }) => onLine(message),
    },
  });
  await worker.ready;
  return { url: (await worker.url).origin, stop: () => worker.dispose() };
}
