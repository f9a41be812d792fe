/** The runner's log: JSON lines on stderr. It contains no secrets, environment values or output of processes. */

type LogFields = Record<string, string | number | boolean | null | undefined>;

/** Lines are written together after this time, so that a busy runner does not need one system call per line. */
const FLUSH_MS = 100;

let pending = "";
let timer: NodeJS.Timeout | undefined;

/** Logs one event; `fields` must be free of secrets. */
export function log(level: "info" | "warn" | "error", event: string, fields: LogFields = {}): void {
  pending += `${JSON.stringify({ time: new Date().toISOString(), level, event, ...fields })}\n`;
  timer ??= setTimeout(flushLog, FLUSH_MS).unref();
}

/** Writes all pending lines. Called at exit. */
export function flushLog(): void {
  clearTimeout(timer);
  timer = undefined;
  const text = pending;
  pending = "";
  if (text !== "") process.stderr.write(text);
}

/** The text of a caught value, for the log. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return codeOf(error) ?? `${error.name}: ${error.message}`;
}

/** The system's code of an error (`ENOENT`), if it has one. */
export function codeOf(error: unknown): string | undefined {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return undefined;
}
