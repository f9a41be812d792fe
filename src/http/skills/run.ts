/**
 * One run of a skill over HTTP: reads the input, runs the mode, and answers with the result or as events.
 */

import { InvalidRequest } from "../../errors/llm.ts";
import { NotAcceptable } from "../../errors/request.ts";
import { lazily } from "../../lazily.ts";
import { takesAnyFile } from "../../run/agent/workspace-option.ts";
import type { RunEvent } from "../../run/events.ts";
import type { RunHandle, RunInput, RunOutput } from "../../run/handle.ts";
import { hasEffects, runMode } from "../../run/mode.ts";
import { takeSlot } from "../../run/slot.ts";
import { checkTrust } from "../../run/trust.ts";
import type { Card, SkillRecord } from "../../skill/manifest.ts";
import { isTextType } from "../../skill/media.ts";
import { discardBody } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { runEvents, silentHandle } from "../event-answer.ts";
import { headersOf, withHeaders } from "../run-headers.ts";
import { runId } from "../run-id.ts";
import { wantsEvents } from "../sse.ts";
import { calledAt, durableCall } from "./idempotency.ts";
import { indexedCall } from "./index-call.ts";
import { type InputState, readInput, whileInput } from "./input.ts";
import { withProducedFiles } from "./produced-files.ts";
import { runDurable } from "./run-durable.ts";
import { runProxy } from "./run-proxy.ts";
import { servedFile, serveStatic, streamStatic } from "./run-static.ts";
import { withStoredFiles } from "./stored-input.ts";

const runInSession = lazily(async () => (await import("./run-in-session.ts")).runInSession);

/** Receives the events of a run whose answer is sent whole. */
export type Watch = (event: RunEvent) => Promise<void>;

/** The parts of its card that a call of a skill needs. */
interface CalledSkill extends Pick<Card, "slug" | "version" | "stale"> {
  /** A call with the same key began a run of this version; this call returns to that run. */
  begun?: true;
}

/**
 * Runs a skill and answers. Every failure before the answer begins throws a `HullError`.
 * @param watch for a run that neither streams nor outlives its connection
 */
export async function runSkill(
  context: RequestContext,
  card: CalledSkill,
  watch: Watch | null = null,
): Promise<Response> {
  const { request, settings, deployment } = context;
  context.log.skill = card.slug;
  context.log.digest = card.version.slice(0, 12);
  const record = await deployment.registry.skill(card.version);
  if (record.uploaded_by !== undefined) context.log.uploaded = true;
  if (card.begun === undefined) checkTrust(settings, record);
  const { manifest } = record;
  if (context.bot !== null) context.log.bot = context.bot;
  const limit = Math.min(settings.max_body_bytes, manifest.max_input_bytes ?? settings.max_body_bytes);
  const durable = hasEffects(manifest.mode) ? await durableCall(context, calledAt(manifest.route)) : null;
  const id = durable?.id ?? runId(context);
  const headers = {
    "cache-control": "no-store",
    "x-hull-execution-id": id,
    ...headersOf(card),
  };
  context.log.execution_id = id;
  if (manifest.mode === "proxy") {
    context.runHeaders = headers;
    const release = await takeSlot(context, manifest, id);
    const over = Promise.withResolvers<void>();
    const onEnd = (): void => {
      release();
      over.resolve();
    };
    try {
      const answer = await runProxy(context, record, limit, request.signal, onEnd);
      // Only then does the log know whether the upstream broke off.
      context.finished ??= over.promise;
      return withHeaders(answer, headers);
    } catch (error) {
      release();
      throw error;
    }
  }
  const streaming = chooseForm(request, record);
  if (manifest.mode === "static-file" && !streaming) {
    context.runHeaders = headers;
    await discardBody(context);
    return serveStatic(context, record, headers);
  }
  const state: InputState = { fault: null };
  const anyFile = takesAnyFile(context, record);
  const sent = await readInput(context, manifest, limit, state, anyFile);
  const session = manifest.mode === "llm" ? (sent.session ?? sessionIn(request)) : null;
  if (session !== null) {
    const input = await withStoredFiles(context, manifest, sent, limit);
    context.runHeaders = headers;
    if (!anyFile && input.files.length > 0)
      throw new InvalidRequest({ option: "session_id", detail: NO_FILES_IN_SESSION });
    const answer = withHeaders(await runInSession(context, record, session, input), headers);
    return anyFile ? withProducedFiles(context, manifest, answer) : answer;
  }
  if (durable !== null) {
    const skill = { version: card.version, record };
    const work = runDurable(context, durable, skill, sent, limit, streaming, headers);
    const answer = await whileInput({ work, state });
    return anyFile ? withProducedFiles(context, manifest, answer) : answer;
  }
  const input = sent.ids.length === 0 ? sent : await withStoredFiles(context, manifest, sent, limit);
  context.runHeaders = headers;
  const run: OpenRun = { id, context, record, input, state };
  if (streaming) return streamed(run, headers);
  const answer = await whole(run, headers, watch);
  return anyFile ? withProducedFiles(context, manifest, answer) : answer;
}

/** Most calls have no query, and to parse a URL takes long. */
const sessionIn = ({ url }: Request): string | null =>
  url.includes("?") ? new URL(url).searchParams.get("session_id") : null;

const NO_FILES_IN_SESSION =
  "A skill without workspace tools takes no files together with session_id. Send the text alone, or leave session_id out.";

interface OpenRun {
  id: string;
  context: RequestContext;
  record: SkillRecord;
  input: RunInput;
  state: InputState;
}

/** Whether to answer with events; 406 if the client accepts only events and the output is not text. */
function chooseForm(request: Request, record: SkillRecord): boolean {
  const wanted = request.method === "HEAD" ? "no" : wantsEvents(request);
  const { output, output_mime, mode } = record.manifest;
  // The events of an llm skill name the files that its run made.
  const text =
    mode === "static-file" ? isTextType(servedFile(record).type) : mode === "llm" || output !== "file";
  if (wanted === "no" || text) return wanted !== "no";
  if (wanted === "only") {
    const reason =
      "The output is a file, and Hull cannot send a file as events. Call without stream=1, and accept the file's type.";
    throw new NotAcceptable({ accepted: [output_mime ?? "*/*"], reason });
  }
  return false;
}

/** The list of runs has every run that has effects. */
function perform(handle: RunHandle): Promise<RunOutput> {
  const { mode, slug } = handle.record.manifest;
  return mode === "static-file" ? streamStatic(handle) : indexedCall(handle, slug, () => runMode(handle));
}

async function whole(run: OpenRun, headers: Record<string, string>, watch: Watch | null): Promise<Response> {
  const { state, ...rest } = run;
  const silent = silentHandle(run.context, run.id, run.context.request.signal);
  const handle: RunHandle = {
    ...silent,
    ...rest,
    ...(watch === null ? {} : { streaming: true, emit: watch }),
  };
  const output = await whileInput({ work: perform(handle), state });
  return new Response(output.body, { headers: { ...headers, ...output.headers } });
}

function streamed(
  { id, context, state, ...of }: OpenRun,
  headers: Record<string, string>,
): Promise<Response> {
  const { slug, mode } = of.record.manifest;
  return runEvents(context, id, {
    headers,
    about: { skill: slug, mode },
    run: (begun) => whileInput({ work: perform({ ...begun, ...of }), state }),
    done: (output) => ({ ...output?.done, duration_ms: context.durationMs, ...context.timings }),
  });
}
