/** `POST /llm/call`, `/llm/structured`, `/llm/completion`, `/llm/stream` (agent-runtime.md §1). */
import * as z from "zod/mini";
import { callLlm } from "../../llm/call.ts";
import { completionCall } from "../../llm/completion.ts";
import type { CallInput } from "../../llm/prepare.ts";
import { callStructured } from "../../llm/structured-call.ts";
import type { RunEvent } from "../../run/events.ts";
import { llmHost } from "../../run/llm-host.ts";
import { logError } from "../../run/problem.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { readJson } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { jsonNow } from "../page.ts";
import { EventStream, wantsEvents } from "../sse.ts";
import { accountOf } from "./account.ts";
import { errorDict, llmError, llmProblem } from "./problem.ts";
import { Teller } from "./teller.ts";

/** JSON bodies of model routes (contract.md "Models and agent runs"). */
export const MAX_MODEL_BODY_BYTES = 32 * 1024 * 1024;

const maybe = z.exactOptional;
const object = () =>
  z.custom<JsonObject>(
    (value) => typeof value === "object" && value !== null && !Array.isArray(value),
    "must be an object",
  );
const common = () => ({ system: maybe(z.nullable(z.string())), options: maybe(object()) });

const callBody = z.lazy(() => z.strictObject({ prompt: maybe(z.nullable(z.string())), ...common() }));
const structuredBody = z.lazy(() => z.strictObject({ prompt: z.string(), schema: object(), ...common() }));
const completionBody = z.lazy(() =>
  z.strictObject({ prefix: z.string(), suffix: maybe(z.nullable(z.string())), ...common() }),
);

/** `POST /llm/call`: one call, whole or as events. */
export async function postCall(context: RequestContext): Promise<Response> {
  const body = await readJson(context.request, callBody, MAX_MODEL_BODY_BYTES);
  const input = { prompt: body.prompt ?? null, system: body.system ?? null, options: body.options ?? {} };
  return wantsEvents(context.request) === "no" ? whole(context, input) : streamed(context, input);
}

/** `POST /llm/stream`: the same as events, whatever `Accept` says. */
export async function postStream(context: RequestContext): Promise<Response> {
  const body = await readJson(context.request, callBody, MAX_MODEL_BODY_BYTES);
  const input = { prompt: body.prompt ?? null, system: body.system ?? null, options: body.options ?? {} };
  return streamed(context, input);
}

/** `POST /llm/structured`: JSON, or the reason why there is none, in one envelope. */
export async function postStructured(context: RequestContext): Promise<Response> {
  const body = await readJson(context.request, structuredBody, MAX_MODEL_BODY_BYTES);
  const { prompt, schema, system = null, options = {} } = body;
  const host = await hostOf(context, context.request.signal);
  try {
    const describe = (error: unknown) => errorDict(error, context);
    return shown(context, await callStructured({ prompt, schema, system, options }, host, describe));
  } catch (error) {
    throw llmError(error, context);
  }
}

/** `POST /llm/completion`: the text between a prefix and a suffix. */
export async function postCompletion(context: RequestContext): Promise<Response> {
  const body = await readJson(context.request, completionBody, MAX_MODEL_BODY_BYTES);
  const { prefix, suffix = null, system = null, options = {} } = body;
  return whole(context, completionCall({ prefix, suffix, system, options }));
}

function hostOf(context: RequestContext, signal: AbortSignal) {
  return llmHost(context, { signal, session: null, skill: null, account: accountOf(context, null) });
}

async function whole(context: RequestContext, input: CallInput): Promise<Response> {
  try {
    const host = await hostOf(context, context.request.signal);
    const { result } = await callLlm(input, host);
    noteUsage(context, result.usage);
    return shown(context, result);
  } catch (error) {
    throw llmError(error, context);
  }
}

function shown(context: RequestContext, value: object): Response {
  return jsonNow(context.settings.redactor.json(value));
}

const noteUsage = (context: RequestContext, usage: unknown): void => {
  context.log.usage = usage;
};

/** Failures known before the first byte use their real status; later ones are events. */
async function streamed(context: RequestContext, input: CallInput): Promise<Response> {
  const { signal } = context.request;
  const abort = new AbortController();
  if (signal.aborted) abort.abort();
  else signal.addEventListener("abort", () => abort.abort(), { once: true });
  const host = await hostOf(context, abort.signal);
  const id = `call_${crypto.randomUUID().replaceAll("-", "")}`;
  const events = new EventStream(id, context, () => abort.abort());
  const begun = Promise.withResolvers<void>();
  let open = false;
  const emit = async (event: RunEvent): Promise<void> => {
    open = true;
    begun.resolve();
    await events.send(event);
  };
  const teller = new Teller(context, emit);
  const finished = callLlm(input, host, teller.watcher)
    .then(async ({ result }) => {
      noteUsage(context, result.usage);
      await teller.end();
      await emit({ event: "done", data: { ok: true, ...result } });
    })
    .catch(async (thrown: unknown) => {
      const error = llmError(thrown, context);
      if (!open) {
        events.abandon();
        begun.reject(error);
        return;
      }
      await teller.end();
      logError(error, context);
      await emit({ event: "error", data: { ...llmProblem(error, context) } });
      await emit({ event: "done", data: { ok: false, duration_ms: context.durationMs } });
    })
    .finally(() => events.close());
  context.finished = finished;
  context.background(finished);
  await begun.promise;
  return new Response(events.body, {
    headers: { "cache-control": "no-store", "content-type": "text/event-stream; charset=utf-8" },
  });
}
