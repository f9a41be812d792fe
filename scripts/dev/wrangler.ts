/** Runs the Worker with wrangler, which watches the sources and bundles them again when they change. */
import { join } from "node:path";
import { unstable_startWorker } from "wrangler";
import { CommandError, EXIT } from "../command.ts";
import { outboundOf } from "./outbound.ts";
import type { StartedWorker, WorkerOptions } from "./worker.ts";

/**
 * Starts wrangler in this process and returns the Worker's URL. Passes variables as values: wrangler reads a `.env` by
 * rules of its own, which change a `$` and lose values that contain every kind of quote.
 */
export async function startWrangler(options: WorkerOptions): Promise<StartedWorker> {
  const { repoDir, host, port, stateDir, variables, onLine } = options;
  const bindings = Object.fromEntries(
    [...variables].map(([name, value]) => [name, { type: "secret_text" as const, value }]),
  );
  const worker = await unstable_startWorker({
    config: join(repoDir, "wrangler.toml"),
    // A file must be named, or wrangler adds the `.env` next to wrangler.toml.
    envFiles: ["/dev/null"],
    bindings,
    sendMetrics: false,
    dev: {
      server: { hostname: host, port },
      // Other users of this machine could read the Worker's memory there.
      inspector: false,
      remote: false,
      persist: stateDir,
      watch: true,
      ...outboundOf(process.env, async () => (await import("miniflare")).Response),
      structuredLogsHandler: ({ message }: { message: string }) => onLine(message),
    },
  });
  await worker.ready;
  const { origin } = await worker.url;
  return {
    url: origin,
    // `worker.scheduled` looks for the Worker in wrangler's proxy, which does not have it.
    async scheduled(cron) {
      const answer = await fetch(`${origin}/cdn-cgi/local/scheduled?cron=${encodeURIComponent(cron)}`);
      if (!answer.ok) throw new CommandError(EXIT.failed, "trigger_failed", await answer.text());
      await answer.body?.cancel();
    },
    stop: () => worker.dispose(),
  };
}
