/** What `hull dev` prints of the log lines of the Worker and the runner. */

import * as z from "zod";
import { writeError, writeOut } from "../terminal-text.ts";
import { certificateLine, reportsProblem } from "./report.ts";

/** Shortens lines of requests and executions; prints others only if they report a problem, or with --verbose. */
export function printLine(line: string, from: string, verbose: boolean): void {
  const parsed = parseEntry(line);
  const entry = parsed ?? {};
  const { event, path, status, session_id, spans } = entry;
  if (event === "request") {
    // Requests of hull dev itself.
    const own = Number(status) < 400 && /^\/(_hull\/|healthz$)/.test(String(path));
    if (!own || verbose) printEntry(`${entry.method} ${path} ${status}`, entry);
    return;
  }
  if (event === "execution") {
    printEntry(`${entry.skill} ${entry.execution_id} ${entry.state}`, entry);
    return;
  }
  if (spans !== undefined && (event === "run" || event === "run_attempt" || event === "compaction")) {
    const what = event === "compaction" ? "compaction" : `run ${entry.run_id}`;
    writeOut(`${what} of ${session_id}\n${spanLines(spans)}`);
    if (!verbose) return;
  }
  const untrusted = certificateLine(line);
  if (untrusted !== null) writeError(`[${from}] ${untrusted}\n`);
  const notable = from === "hull" || / ended \(|\[wrangler:error\]|✘/.test(line) || reportsProblem(event);
  if (!notable && !verbose) return;
  // wrangler colours its own lines. Entries hold what models, tools and users write.
  if (parsed === null) process.stderr.write(`[${from}] ${line}\n`);
  else writeError(`[${from}] ${line}\n`);
}

function printEntry(what: string, entry: Record<string, unknown>): void {
  const { code, duration_ms, request_id, error, stack, spans } = entry;
  const why = code === undefined ? "" : ` ${code}`;
  writeOut(`${what}${why} ${duration_ms} ms ${request_id}\n`);
  if (error !== undefined) writeError(`  ${JSON.stringify(error)}\n`);
  if (stack !== undefined) writeError(`  ${stack}\n`);
  writeOut(spanLines(spans));
}

/** The spans that `HULL_TRACE=1` adds to a log line, one per line in the order in which they began. */
function spanLines(spans: unknown): string {
  const parsed = spanList.safeParse(spans);
  if (!parsed.success) return "";
  const inOrder = parsed.data.toSorted((a, b) => a.at_ms - b.at_ms);
  const lines = inOrder.map(({ name, at_ms, duration_ms, ...attributes }) => {
    const facts = Object.entries(attributes).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
    return `  ${String(at_ms).padStart(6)} ms ${`+${duration_ms}`.padStart(7)} ms  ${[name, ...facts].join("  ")}\n`;
  });
  return lines.join("");
}

const spanList = z.array(z.looseObject({ name: z.string(), at_ms: z.number(), duration_ms: z.number() }));

function parseEntry(line: string): Record<string, unknown> | null {
  if (!line.startsWith("{")) return null;
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
