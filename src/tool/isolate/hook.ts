/** One call of a hook: JSON in, JSON out, within a time limit (agent-runtime.md §0.4). */
import * as z from "zod/mini";
import { HookFailed, HookInvalid, HookTimeout } from "../../errors/hook.ts";
import type { Redactor } from "../../redact.ts";
import { nestsTooDeep } from "../../skill/json-depth.ts";
import type { Json } from "../../skill/manifest.ts";
import { abandonIsolate, freshIsolate, type HarnessRpc, type IsolateLimits, warmIsolate } from "./isolate.ts";

/** Where nobody says otherwise, in ms. */
export const HOOK_TIMEOUT_MS = 10_000;
/** Longest answer, in UTF-16 units of JSON. */
const MAX_RESULT = 5_000_000;
const MAX_REASON = 2000;

const answerShape = z.lazy(() => z.object({ kind: z.string(), text: z.string(), logs: z.array(z.string()) }));

const exportsShape = z.lazy(() => z.object({ names: z.array(z.string()), fault: z.nullable(z.string()) }));
/** The harness answers in its own shapes only, unless the hooks changed how it works. */
const OUT_OF_TURN = "its isolate answered out of turn";

export interface IsolateCall {
  loader: WorkerLoader | undefined;
  /** Isolates of one id may share state; `null`: one for this call alone. */
  id: string | null;
  source: () => Promise<string>;
  exportName: string;
  /** `null`: the hook is called without arguments. */
  payload: Json;
  timeoutMs: number;
  signal: AbortSignal | undefined;
  redactor: Redactor;
  guarded: boolean;
  /** Lines that the hook wrote to the console, redacted. Absent: they are dropped. */
  onLog?: (line: string) => void;
}

/** @throws HookFailed HookInvalid HookTimeout HooksUnavailable, and the signal's reason */
export async function callInIsolate(call: IsolateCall): Promise<Json> {
  const { id, loader, exportName: hook, payload, redactor, timeoutMs, signal } = call;
  signal?.throwIfAborted();
  const limits: IsolateLimits = { guarded: call.guarded, cpuMs: timeoutMs };
  const isolate =
    id === null
      ? freshIsolate(loader, await call.source(), limits)
      : warmIsolate(loader, id, call.source, limits);
  const asked = payload === null ? null : JSON.stringify(payload);
  const failed = (reason: string) => new HookFailed({ hook, reason: shortened(redactor.text(reason)) });
  const outcome = await withinTime(isolate.call(hook, asked, timeoutMs, MAX_RESULT), timeoutMs, signal);
  if (outcome.by === "signal") throw signal?.reason;
  if (outcome.by === "error" && !/exceeded CPU time limit/i.test(outcome.message))
    throw failed(outcome.message);
  const answer = outcome.by === "answer" ? answerShape.safeParse(outcome.value) : undefined;
  if (answer === undefined || (answer.success && answer.data.kind === "timeout")) {
    if (id !== null && loader !== undefined) abandonIsolate(loader, id);
    throw new HookTimeout({ hook, timeout_ms: timeoutMs });
  }
  if (!answer.success) throw new HookInvalid({ hook, reason: OUT_OF_TURN });
  const { kind, text, logs } = answer.data;
  for (const line of logs) call.onLog?.(redactor.text(line));
  if (kind === "thrown") throw failed(text);
  if (kind !== "value") throw new HookInvalid({ hook, reason: shortened(redactor.text(text)) });
  return parsed(hook, text);
}

function parsed(hook: string, text: string): Json {
  if (text.length > MAX_RESULT)
    throw new HookInvalid({ hook, reason: `it is longer than ${MAX_RESULT} characters` });
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    throw new HookInvalid({ hook, reason: "it is no JSON" });
  }
  if (nestsTooDeep(value)) throw new HookInvalid({ hook, reason: "it nests too deep" });
  return value;
}

/** Names of the functions that a module exports, or what keeps it from being loaded. @throws HooksUnavailable */
export async function exportsOf(
  loader: WorkerLoader | undefined,
  source: string,
  { guarded, timeoutMs }: { guarded: boolean; timeoutMs: number },
): Promise<{ names: string[] } | { fault: string }> {
  const isolate: Fetcher<HarnessRpc> = freshIsolate(loader, source, { guarded, cpuMs: timeoutMs });
  const outcome = await withinTime(isolate.exports(timeoutMs), timeoutMs, undefined);
  if (outcome.by === "error") return { fault: outcome.message };
  if (outcome.by !== "answer") return { fault: `it was not loaded within ${timeoutMs} ms` };
  const found = exportsShape.safeParse(outcome.value);
  if (!found.success) return { fault: OUT_OF_TURN };
  const { names, fault } = found.data;
  return fault === null ? { names: names.sort() } : { fault };
}

type Outcome =
  | { by: "answer"; value: unknown }
  | { by: "error"; message: string }
  | { by: "time" }
  | { by: "signal" };

/** Waits for whichever comes first; what comes later is nobody's business. */
async function withinTime(
  work: Promise<unknown>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const timer = setTimeout(resolve, timeoutMs, { by: "time" });
  const onAbort = () => resolve({ by: "signal" });
  signal?.addEventListener("abort", onAbort, { once: true });
  work.then(
    (value) => resolve({ by: "answer", value }),
    (error: unknown) => resolve({ by: "error", message: faultText(error) }),
  );
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

/** What the platform says of an isolate that broke, without the words around it. */
function faultText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text
    .replace(/^Failed to start Worker:\s*/, "")
    .replace(/^Uncaught\s+/, "")
    .replace(/\s*\n\s*/g, " ");
}

const shortened = (text: string): string =>
  text.length <= MAX_REASON ? text : `${text.slice(0, MAX_REASON)}…`;
