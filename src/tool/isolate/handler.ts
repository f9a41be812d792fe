/** One call of a Skill Tools handler in an isolate: it takes JSON and files, and returns JSON and changed files. */

import * as z from "zod/mini";
import { firstWords } from "../../cut.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import {
  CANCELLED,
  failedCall,
  type HandlerCall,
  type HandlerFault,
  type HandlerOutcome,
  NOTES,
  networkHint,
} from "../handler/call.ts";
import HANDLER_HARNESS from "./handler-harness.mjs?raw";
import type { FolderFile, HandlerRpc, HarnessCall, HostCallback } from "./handler-rpc.ts";
import HARNESS from "./harness.mjs?raw";
import {
  answerParts,
  type IsolateCode,
  type IsolateLimits,
  type IsolateOutcome,
  type Isolates,
  overCpu,
  withinTime,
} from "./isolate.ts";
import { guardLoops } from "./loop-guard.ts";
import type { IsolatePlaces } from "./places.ts";

/** Longest result, in UTF-16 units of JSON. */
const MAX_RESULT = 5_000_000;
/** The most UTF-16 units of a handler's notes to read. */
const MAX_NOTES = 2_000_000;
/** The most bytes of files that a call may change: they travel in one message, limited to 32 MiB. */
const MAX_CHANGED = 24 * 1024 * 1024;
/** The most requests of a handler to the outside, including its messages while it works. */
const MAX_SUBREQUESTS = 1000;
/** Time for a handler's isolate to start and to deliver its files, in addition to the time of the call. */
const MARGIN_MS = 2000;

/** The isolate that runs a call. */
export interface HandlerIsolate {
  isolates: Isolates;
  places: IsolatePlaces;
  /** Isolates with the same id share the module's state; `null`: one for this call alone. */
  id: string | null;
  /** Text of the ES module. */
  source: () => Promise<string>;
  /** `null`: no network. */
  outbound: Fetcher | null;
  /** As in `IsolateCall` of hooks. */
  guarded: boolean;
}

/** What a call may use in addition to its input. */
interface HandlerHelp {
  /** The files of the work folder when the call begins. */
  files: readonly FolderFile[];
  /** `null`: the tool has no `ctx.python`. Returns the handler's result, as JSON. */
  python: ((code: string, timeoutMs: number | null) => Promise<JsonObject>) | null;
}

/** The changes of the work folder. */
interface FolderChanges {
  written: FolderFile[];
  removed: string[];
  /** Changes that Hull did not accept, and why. */
  left: [path: string, why: string][];
}

const answerShape = z.lazy(() =>
  z.object({
    kind: z.enum(["value", "thrown", "invalid", "timeout"]),
    text: z.string(),
    written: z.array(z.object({ path: z.string(), bytes: z.instanceof(Uint8Array) })),
    removed: z.array(z.string()),
    left: z.array(z.tuple([z.string(), z.string()])),
  }),
);
const pythonShape = z.lazy(() => z.object({ code: z.string(), timeoutMs: z.nullable(z.number()) }));

const UNCHANGED: FolderChanges = { written: [], removed: [], left: [] };
const OUT_OF_TURN = "The isolate answered out of turn.";

/** Runs the call. A fault of the handler is an outcome; only the registry and the platform cause errors. */
export async function callHandler(
  call: HandlerCall,
  isolate: HandlerIsolate,
  help: HandlerHelp,
): Promise<{ outcome: HandlerOutcome; changes: FolderChanges }> {
  const { tool, timeoutMs, signal } = call;
  const started = Date.now();
  const ended = (fault: HandlerFault, error: string) => ({
    outcome: failedCall(fault, error, Date.now() - started),
    changes: UNCHANGED,
  });
  const outcome = await isolate.places.hold(isolate.id, signal, async (): Promise<IsolateOutcome> => {
    const rpc = signal.aborted
      ? null
      : await isolateOf(isolate, { script: scriptOf(tool), env: call.env, timeoutMs });
    // The call may be cancelled while the module is read.
    if (rpc === null || signal.aborted) return { by: "signal" };
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const callback = listener(call, help, over);
    const asked = rpc.run(JSON.stringify(harnessCall(call, help)), [...help.files], callback);
    return withinTime(asked, timeoutMs + MARGIN_MS, signal).finally(end);
  });
  if (outcome.by === "signal") return ended("cancelled", CANCELLED);
  const late = () => {
    if (isolate.id !== null) isolate.isolates.abandon(isolate.id);
    return ended("timeout", `${tool.name} was stopped after ${timeoutMs} ms, its time limit.`);
  };
  if (outcome.by === "time" || (outcome.by === "error" && overCpu(outcome.message))) return late();
  if (outcome.by === "error") return ended("tool_error", outcome.message);
  // The answer of a call that changed no file is short.
  const short = answerParts(outcome.value);
  const answer = answerShape.safeParse(short === null ? outcome.value : { ...short, ...UNCHANGED });
  if (!answer.success) return ended("tool_error", OUT_OF_TURN);
  const { kind, text, ...changes } = answer.data;
  if (kind === "timeout") return late();
  const duration_ms = Date.now() - started;
  const failed = (message: string) => ({ outcome: failedCall("tool_error", message, duration_ms), changes });
  if (kind === "thrown") return failed(text + networkHint(text, tool));
  const value = kind === "value" ? parsedJson(text) : undefined;
  if (value === undefined) return failed(`The result cannot be sent as JSON: ${firstWords(text, 200)}.`);
  return { outcome: { value, fault: null, duration_ms, exit_code: null, diagnostics: [] }, changes };
}

/**
 * Why a module cannot be a handler, or `null`. Loading it runs its top level.
 * @param name of the module, for the text
 */
export async function handlerFault(
  isolate: Omit<HandlerIsolate, "id" | "outbound">,
  name: string,
  timeoutMs: number,
): Promise<string | null> {
  const of = { script: name, env: {}, timeoutMs };
  const outcome = await isolate.places.hold(null, undefined, async (): Promise<IsolateOutcome> => {
    const rpc = await isolateOf({ ...isolate, id: null, outbound: null }, of);
    return withinTime(rpc.check(fromHarness(name), timeoutMs), timeoutMs + MARGIN_MS, undefined);
  });
  if (outcome.by === "error") return outcome.message;
  if (outcome.by !== "answer") return `it was not loaded within ${timeoutMs} ms`;
  const { value } = outcome;
  return value === null || typeof value === "string" ? value : OUT_OF_TURN;
}

async function isolateOf(
  { isolates, id, source, outbound, guarded }: HandlerIsolate,
  { script, env, timeoutMs }: { script: string; env: Record<string, string>; timeoutMs: number },
): Promise<Fetcher<HandlerRpc>> {
  const limits: IsolateLimits = { cpuMs: timeoutMs, subRequests: MAX_SUBREQUESTS };
  const code = async (): Promise<IsolateCode> => {
    const text = await source();
    const modules = {
      [MAIN]: HANDLER_HARNESS,
      ".hull/harness.mjs": HARNESS,
      [moduleOf(script)]: guarded ? guardLoops(text) : text,
    };
    return { main: MAIN, modules, env, outbound, node: true };
  };
  return isolates.of(id, code, limits);
}

/** No script's name begins with a segment of this name. */
const MAIN = ".hull/main.js";

const scriptOf = ({ script, name }: HandlerCall["tool"]): string => script ?? name;
const moduleOf = (script: string): string => script.replaceAll(/[^\w./-]/g, "_");
const fromHarness = (script: string): string => `../${moduleOf(script)}`;

function harnessCall(call: HandlerCall, { python }: HandlerHelp): HarnessCall {
  const { tool, args, config, env, models, callId, sessionId, bot, timeoutMs } = call;
  const module = fromHarness(scriptOf(tool));
  const limits = { timeout: timeoutMs, most: MAX_RESULT, mostStreamed: MAX_NOTES, mostChanged: MAX_CHANGED };
  return { module, args, config, env, models, callId, sessionId, bot, python: python !== null, ...limits };
}

/**
 * The handler may send anything: unknown messages are dropped.
 * @param over resolves once nobody waits for the call any more
 */
function listener({ note, signal }: HandlerCall, { python }: HandlerHelp, over: Promise<void>): HostCallback {
  return async (kind, text) => {
    if (typeof text !== "string" || text.length > MAX_RESULT) return "";
    switch (kind) {
      case "stderr":
        note({ kind: "output", stream: kind, text });
        return "";
      case "emit":
      case "artifact": {
        const said = NOTES[kind](kind === "emit" ? text : (parsedJson(text) ?? null));
        if (said !== null) note(said);
        return "";
      }
      case "python": {
        const asked = pythonShape.safeParse(parsedJson(text));
        if (python === null || !asked.success) return JSON.stringify({ error: "There is no Python here." });
        return JSON.stringify(await python(asked.data.code, asked.data.timeoutMs));
      }
      case "cancelled":
        await over;
        return signal.aborted ? CANCELLED : "";
      default:
        // Only hostile code sends another one: the harness is checked against these.
        kind satisfies never;
        return "";
    }
  };
}
