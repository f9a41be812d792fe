/** One call of a hook: JSON in, JSON out, within a time limit. */

import * as z from "zod/mini";
import { firstOf } from "../../cut.ts";
import { HookFailed, HookInvalid, HooksUnavailable, HookTimeout } from "../../errors/hook.ts";
import type { Redactor } from "../../redact.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import type { Json } from "../../skill/manifest.ts";
import HARNESS from "./harness.mjs?raw";
import HOOK_HARNESS from "./hook-harness.mjs?raw";
import { answerParts, type IsolateCode, type Isolates, overCpu, withinTime } from "./isolate.ts";
import { guardLoops } from "./loop-guard.ts";
import type { IsolatePlaces } from "./places.ts";

const MAIN = "hull.js";

/** Longest answer, in UTF-16 units of JSON. */
const MAX_RESULT = 5_000_000;
const MAX_REASON = 2000;

const exportsShape = z.lazy(() => z.object({ names: z.array(z.string()), fault: z.nullable(z.string()) }));
/** The interface of the harness. Hull checks its answers, since they come from possibly hostile code. */
interface HarnessRpc extends Rpc.WorkerEntrypointBranded {
  call(name: string, payload: string | null, timeout: number, most: number): Promise<string>;
  exports(timeout: number): Promise<{ names: string[]; fault: string | null }>;
}

/** The reason for an answer in no known form: the harness sends such an answer only if the hooks tampered with it. */
const OUT_OF_TURN = "its isolate answered out of turn";

interface IsolateCall {
  /** `null`: the deployment has none. */
  isolates: Isolates | null;
  places: IsolatePlaces;
  /** Isolates with the same id may share state; `null`: one for this call alone. */
  id: string | null;
  source: () => Promise<string>;
  exportName: string;
  /** `null`: the hook is called without arguments. */
  payload: Json;
  timeoutMs: number;
  signal: AbortSignal | undefined;
  redactor: Redactor;
  /** The platform enforces no CPU limit, as in local dev: loops are ended by other means. */
  guarded: boolean;
}

/** @throws HookFailed HookInvalid HookTimeout HooksUnavailable, and the signal's reason */
export async function callInIsolate(call: IsolateCall): Promise<Json> {
  const { id, places, exportName: hook, payload, redactor, timeoutMs, signal, guarded } = call;
  signal?.throwIfAborted();
  const isolates = present(call.isolates);
  const limits = { cpuMs: timeoutMs, subRequests: 0 };
  const code = async () => codeOf(await call.source(), guarded);
  const failed = (reason: string) => new HookFailed({ hook, reason: shortened(redactor.text(reason)) });
  const outcome = await places.hold(id, signal, async () => {
    signal?.throwIfAborted();
    const isolate = await isolates.of<HarnessRpc>(id, code, limits);
    signal?.throwIfAborted();
    const asked = payload === null ? null : JSON.stringify(payload);
    return withinTime(isolate.call(hook, asked, timeoutMs, MAX_RESULT), timeoutMs, signal);
  });
  if (outcome.by === "signal") throw signal?.reason;
  if (outcome.by === "error" && !overCpu(outcome.message)) throw failed(outcome.message);
  const answer = outcome.by === "answer" ? answerParts(outcome.value) : undefined;
  if (answer === undefined || answer?.kind === "timeout") {
    if (id !== null) isolates.abandon(id);
    throw new HookTimeout({ hook, timeout_ms: timeoutMs });
  }
  if (answer === null) throw new HookInvalid({ hook, reason: OUT_OF_TURN });
  const { kind, text } = answer;
  if (kind === "thrown") throw failed(text);
  if (kind !== "value") throw new HookInvalid({ hook, reason: shortened(redactor.text(text)) });
  return parsed(hook, text);
}

function parsed(hook: string, text: string): Json {
  if (text.length > MAX_RESULT)
    throw new HookInvalid({ hook, reason: `it is longer than ${MAX_RESULT} characters` });
  const value = parsedJson(text);
  if (value === undefined) throw new HookInvalid({ hook, reason: "it is not JSON, or nests too deep" });
  return value;
}

/** Names of the functions that a module exports, or why it cannot be loaded. @throws HooksUnavailable */
export async function exportsOf(
  isolates: Isolates | null,
  source: string,
  { guarded, timeoutMs }: { guarded: boolean; timeoutMs: number },
): Promise<{ names: string[] } | { fault: string }> {
  const limits = { cpuMs: timeoutMs, subRequests: 0 };
  const isolate = await present(isolates).of<HarnessRpc>(null, () => codeOf(source, guarded), limits);
  const outcome = await withinTime(isolate.exports(timeoutMs), timeoutMs, undefined);
  if (outcome.by === "error") return { fault: outcome.message };
  if (outcome.by !== "answer") return { fault: `it was not loaded within ${timeoutMs} ms` };
  const found = exportsShape.safeParse(outcome.value);
  if (!found.success) return { fault: OUT_OF_TURN };
  const { names, fault } = found.data;
  return fault === null ? { names: names.sort() } : { fault };
}

function present(isolates: Isolates | null): Isolates {
  if (isolates === null) throw new HooksUnavailable({});
  return isolates;
}

function codeOf(source: string, guarded: boolean): IsolateCode {
  const modules = {
    [MAIN]: HOOK_HARNESS,
    "harness.mjs": HARNESS,
    "hooks.js": guarded ? guardLoops(source) : source,
  };
  return { main: MAIN, modules, env: {}, outbound: null, node: false };
}

const shortened = (text: string): string =>
  text.length <= MAX_REASON ? text : `${firstOf(text, MAX_REASON)}…`;
