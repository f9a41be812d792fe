/**
 * `startDirect` in a process of its own, since workerd would outlive a parent that is killed. Its standard input is
 * both: the first line holds the options as JSON (they contain secrets, so neither arguments nor environment), and
 * when it closes everything ends. The first line of its output tells the URL, the others are the Worker's.
 */
import { createInterface } from "node:readline";
import * as z from "zod";
import { startDirect } from "./direct.ts";

const optionsLine = z.object({
  repoDir: z.string(),
  host: z.string(),
  port: z.int(),
  stateDir: z.string(),
  variables: z.array(z.tuple([z.string(), z.string()])),
});

async function start(line: string): Promise<void> {
  const options = optionsLine.parse(JSON.parse(line));
  const { url } = await startDirect({
    ...options,
    variables: new Map(options.variables),
    onLine: (text) => process.stdout.write(`${text}\n`),
  });
  process.stdout.write(`${JSON.stringify({ event: "listening", url })}\n`);
}

// miniflare ends workerd whenever this process exits, and on SIGTERM exits by itself.
process.stdout.on("error", () => process.exit());
createInterface({ input: process.stdin })
  .once("line", (line) => void start(line))
  .once("close", () => process.exit());
