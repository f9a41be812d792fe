/** `POST /runs`: an agent run without a session, answered when it ends or as events (agent-runtime.md §0.2). */
import * as z from "zod/mini";
import { BadRequest } from "../errors/request.ts";
import { runAnonymous } from "../run/agent/anonymous.ts";
import { agentSpec } from "../run/agent/options.ts";
import { llmHost } from "../run/llm-host.ts";
import { logError } from "../run/problem.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { readJson } from "./body.ts";
import type { RequestContext } from "./context.ts";
import { accountOf } from "./llm/account.ts";
import { MAX_MODEL_BODY_BYTES } from "./llm/call.ts";
import { llmError, llmProblem } from "./llm/problem.ts";
import { Teller } from "./llm/teller.ts";
import { jsonNow } from "./page.ts";
import { EventStream, wantsEvents } from "./sse.ts";

const maybe = z.exactOptional;

/** What a run is asked, in a session or without one. */
export const runBody = z.lazy(() =>
  z.strictObject({
    prompt: maybe(z.nullable(z.string())),
    system: maybe(z.nullable(z.string())),
    options: maybe(
      z.custom<JsonObject>(
        (value) => typeof value === "object" && value !== null && !Array.isArray(value),
        "must be an object",
      ),
    ),
  }),
);

/** The name of a new run. */
export const newRunId = (): string => `run_${crypto.randomUUID().replaceAll("-", "")}`;

export async function postRun(context: RequestContext): Promise<Response> {
  const { request } = context;
  const later = /\brespond-async\b/i.test(request.headers.get("prefer") ?? "");
  if (later || new URL(request.url).searchParams.get("wait") === "none") {
    const detail =
      "A run without a session is answered when it ends. Start it in a session to come back to it later.";
    throw new BadRequest({ detail });
  }
  const {
    prompt = null,
    system = null,
    options = {},
  } = await readJson(request, runBody, MAX_MODEL_BODY_BYTES);
  const abort = new AbortController();
  if (request.signal.aborted) abort.abort();
  else request.signal.addEventListener("abort", () => abort.abort(), { once: true });
  const account = accountOf(context, null);
  const host = await llmHost(context, { signal: abort.signal, session: null, skill: null, account });
  const run = newRunId();
  context.log.run_id = run;
  try {
    const spec = await agentSpec(context, host, { prompt, system, options }, { run, session: null });
    if (wantsEvents(request) === "no") {
      const quiet = { watcher: {}, started: () => {}, emit: () => {} };
      const result = await runAnonymous(context, spec, { host, signal: abort.signal, ...quiet });
      return jsonNow(context.settings.redactor.json(result));
    }
    const events = new EventStream(run, context, () => abort.abort());
    const teller = new Teller(context, (event) => events.send(event));
    const begun = Promise.withResolvers<void>();
    let open = false;
    const finished = runAnonymous(context, spec, {
      host,
      signal: abort.signal,
      watcher: teller.watcher,
      started() {
        open = true;
        begun.resolve();
      },
      emit: (event) => void teller.tell(event),
    })
      .then(async (result) => {
        await teller.end();
        await events.send({ event: "done", data: { ok: true, ...result } });
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
        await events.send({ event: "error", data: llmProblem(error, context) });
        await events.send({ event: "done", data: { ok: false, duration_ms: context.durationMs } });
      })
      .finally(() => events.close());
    context.finished = finished;
    context.background(finished);
    await begun.promise;
    return new Response(events.body, {
      headers: { "cache-control": "no-store", "content-type": "text/event-stream; charset=utf-8" },
    });
  } catch (error) {
    throw llmError(error, context);
  }
}
