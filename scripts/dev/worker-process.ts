/**
 * The local Worker in a separate process, since workerd would outlive a parent that is killed. Its standard input has
 * two uses: the first line contains the options as JSON (with secrets, so neither arguments nor environment nor a file
 * will do), and when it closes everything ends. One line of its output contains the URL, the others are the Worker's.
 */
import { flushCompileCache } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { fireTriggers } from "./triggers.ts";
import type { WorkerInput, WorkerOptions } from "./worker.ts";

/** Time limit for wrangler to end, in ms. */
const GRACE_MS = 3000;

/** Loads only the code that starts the Worker: wrangler takes a second of processor time to load. */
const startDirect = async (options: WorkerOptions, bundle: string) =>
  (await import("./direct.ts")).startDirect(options, bundle);
const startWrangler = async (options: WorkerOptions) =>
  (await import("./wrangler.ts")).startWrangler(options);

let stop = async (): Promise<void> => {};

async function start(line: string): Promise<void> {
  const { bundle, ...given }: WorkerInput = JSON.parse(line);
  const options: WorkerOptions = {
    ...given,
    variables: new Map(given.variables),
    onLine: (text) => process.stdout.write(`${text}\n`),
  };
  const worker = await (bundle === null ? startWrangler(options) : startDirect(options, bundle));
  stop = worker.stop;
  fireTriggers(options.config.triggers.crons, (cron) => {
    worker.scheduled(cron).catch((error: unknown) => {
      options.onLine(JSON.stringify({ event: "trigger_failed", cron, error: String(error) }));
    });
  });
  process.stdout.write(`${JSON.stringify({ event: "listening", url: worker.url })}\n`);
  // Node itself stores what it compiled when a process ends, unless somebody kills it.
  flushCompileCache();
}

let ending = false;

/**
 * miniflare ends workerd whenever this process exits. With a moment before the exit, it also removes its temporary
 * folders.
 */
async function end(): Promise<void> {
  if (ending) return;
  ending = true;
  await Promise.race([stop().catch(() => {}), sleep(GRACE_MS)]);
  process.exit();
}

// Nothing reads these streams any more, but wrangler keeps writing lines while it ends.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => void end());
process.on("SIGTERM", () => void end());
let input = "";
process.stdin
  .setEncoding("utf8")
  .on("data", (text: string) => {
    const before = input;
    input += text;
    // Not with readline, whose lines also end at U+2028: a value may contain one.
    const at = before.includes("\n") ? -1 : input.indexOf("\n");
    if (at !== -1) void start(input.slice(0, at));
  })
  .once("close", () => void end());
