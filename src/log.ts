/** The log: one line of JSON each, without secrets. No other file of the Worker writes to the console. */
import type { Redactor } from "./redact.ts";

/**
 * Removes secrets: a redactor, or the context of a request or a run, which may know further secrets, and whose lines say
 * which request and whose it is.
 */
type Redacts =
  | Pick<Redactor, "json">
  | { redacted(line: object): object; requestId: string; log: { tenant?: string } };

/** Logs a line. `error`: somebody should look at it. */
export function logLine(by: Redacts, line: object, level: "log" | "warn" | "error" = "log"): void {
  const shown =
    "json" in by ? by.json(line) : by.redacted({ ...line, request_id: by.requestId, tenant: by.log.tenant });
  console[level](JSON.stringify(shown));
}

/** Keeps work alive that continues after the answer, e.g. `ctx.waitUntil`. */
export type Background = (work: Promise<unknown>) => void;

/** Nobody waits for work in the background, so its failure is logged here. */
export const loggingBackground =
  (by: Redacts, keep: Background): Background =>
  (work) =>
    keep(work.catch((error: unknown) => logFault(by, { event: "background_failed" }, error)));

/** Logs a fault that nobody else learns of. @param error what was thrown, if anything was */
export function logFault(by: Redacts, line: object, error?: unknown): void {
  logLine(by, error === undefined ? line : { ...line, error: String(error) }, "error");
}
