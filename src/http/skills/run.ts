/**
 * A call of a skill over HTTP: reads the input, runs the mode, and answers in the form that the client asks for.
 */

import { sha256 } from "../../bytes.ts";
import { InvalidRequest } from "../../errors/llm.ts";
import { NotAcceptable } from "../../errors/request.ts";
import { lazily } from "../../lazily.ts";
import { takesAnyFile } from "../../run/agent/workspace-option.ts";
import type { RunEvent } from "../../run/events.ts";
import type { RunInput } from "../../run/handle.ts";
import { holdFiles, userParts } from "../../run/llm-input.ts";
import { hasEffects, runMode } from "../../run/mode.ts";
import { takeSlot } from "../../run/slot.ts";
import { checkTrust } from "../../run/trust.ts";
import type { Begun, BegunSkill } from "../../session/unlisted/rpc.ts";
import type { Card, SkillRecord } from "../../skill/manifest.ts";
import { isTextType } from "../../skill/media.ts";
import { type AnswerForm, answerCall, type Call, formOf, openCall } from "../answer.ts";
import { discardBody } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { type ExecutionClient, executionOf, takeInput } from "../execution-client.ts";
import { idDigits, idempotencyKey, requestHash } from "../idempotency.ts";
import { headersOf, withHeaders } from "../run-headers.ts";
import { wantsEvents } from "../sse.ts";
import { type InputState, readInput, whileInput } from "./input.ts";
import { withProducedFiles } from "./produced-files.ts";
import { runProxy } from "./run-proxy.ts";
import { servedFile, serveStatic, streamStatic } from "./run-static.ts";
import { type SentInput, withStoredFiles } from "./stored-input.ts";

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
  const { mode } = manifest;
  if (context.bot !== null) context.log.bot = context.bot;
  const limit = Math.min(settings.max_body_bytes, manifest.max_input_bytes ?? settings.max_body_bytes);
  const form = formFor(request, record);
  const called = hasEffects(mode) ? calledAt(manifest.route) : null;
  const call = await openCall(context, form, called, headersOf(card));
  if (mode === "proxy") return proxied(context, record, limit, call);
  if (mode === "static-file" && !form.events) {
    await discardBody(context);
    return serveStatic(context, record, context.runHeaders);
  }
  const state: InputState = { fault: null };
  const anyFile = takesAnyFile(context, record);
  const sent = await readInput(context, manifest, limit, state, anyFile);
  const session = mode === "llm" ? sessionOf(request, sent) : null;
  const whole = (): Promise<RunInput> => withStoredFiles(context, manifest, sent, limit);
  const asked = { version: card.version, record, sent, whole, state };
  const answer = await (session === null
    ? callAlone(context, form, call, asked, watch)
    : callInSession(context, session, asked));
  return anyFile ? withProducedFiles(context, manifest, answer) : answer;
}

/** Answers a call outside of a session. */
async function callAlone(
  context: RequestContext,
  form: AnswerForm,
  call: Call,
  asked: AskedSkill,
  watch: Watch | null,
): Promise<Response> {
  const { version: digest, record, state } = asked;
  const { mode, slug } = record.manifest;
  // The object of a call that lasts gets its input with the call.
  const input = call.lasting ? asked.sent : await asked.whole();
  return answerCall(context, form, call, {
    name: mode === "static-file" ? null : slug,
    about: { skill: slug, mode },
    run(handle) {
      const run = { ...handle, record, digest, input };
      return whileInput({ work: mode === "static-file" ? streamStatic(run) : runMode(run), state });
    },
    done: (output) => ({ ...output?.done, duration_ms: context.durationMs, ...context.timings }),
    begin: (execution) => whileInput({ work: began(context, call, execution, asked), state }),
    watch,
  });
}

async function callInSession(
  context: RequestContext,
  session: string,
  { record, whole }: AskedSkill,
): Promise<Response> {
  const input = await whole();
  if (input.files.length > 0 && !takesAnyFile(context, record)) {
    throw new InvalidRequest({ option: "session_id", detail: NO_FILES_IN_SESSION });
  }
  return runInSession(context, record, session, input);
}

/** The session that the form or the URL names; `null`: neither does. @throws InvalidRequest if they differ */
function sessionOf({ url }: Request, { session }: SentInput): string | null {
  // Most calls have no query, and to parse a URL takes long.
  const named = url.includes("?") ? new URL(url).searchParams.get("session_id") : null;
  if (session !== undefined && named !== null && session !== named)
    throw new InvalidRequest({ option: "session_id", detail: TWO_SESSIONS });
  return session ?? named;
}

const TWO_SESSIONS = "The form and the URL name two sessions. Send session_id in one of the two places.";

const NO_FILES_IN_SESSION =
  "A skill without workspace tools takes no files together with session_id. Send the text alone, or leave session_id out.";

const WHOLE: AnswerForm = { later: false, events: false, wait: null };

/** The form of the answer; 406 if the client accepts only events and the output is not text. */
function formFor(request: Request, record: SkillRecord): AnswerForm {
  const { output, output_mime, mode } = record.manifest;
  // An upstream reads the request itself.
  if (mode === "proxy" || request.method === "HEAD") return WHOLE;
  const form = formOf(request);
  if (form.later && hasEffects(mode)) return form;
  const wanted = form.later || form.events ? wantsEvents(request) : "no";
  // The events of an llm skill name the files that its run made.
  const text =
    mode === "static-file" ? isTextType(servedFile(record).type) : mode === "llm" || output !== "file";
  if (wanted === "no" || text) return { later: false, events: wanted !== "no", wait: null };
  if (wanted === "yes") return WHOLE;
  const reason =
    "The output is a file, and Hull cannot send a file as events. Call without stream=1, and accept the file's type.";
  throw new NotAcceptable({ accepted: [output_mime ?? "*/*"], reason });
}

async function proxied(
  context: RequestContext,
  record: SkillRecord,
  limit: number,
  { id }: Call,
): Promise<Response> {
  const release = await takeSlot(context, record.manifest, id);
  const over = Promise.withResolvers<void>();
  const onEnd = (): void => {
    release();
    over.resolve();
  };
  try {
    const answer = await runProxy(context, record, limit, context.request.signal, onEnd);
    // Only then does the log know whether the upstream broke off.
    context.finished ??= over.promise;
    return withHeaders(answer, context.runHeaders);
  } catch (error) {
    release();
    throw error;
  }
}

/** Operations whose names a skill may have too. */
const OPERATIONS: readonly string[] = ["runs", "responses"];

/** The name by which keys tell calls of this skill from others. It follows from the route, so it needs no skill. */
function calledAt(route: string): string {
  const slug = /^\/skills\/([^/]+)$/.exec(route)?.[1];
  return slug === undefined || OPERATIONS.includes(slug) ? route : slug;
}

/**
 * The skill, in the version of the run that the caller's key began: a repeated call gets the answer of that run,
 * whatever happened to the skill since. `null` if the request does not call a skill, or no run began with its key.
 * @param path of the request
 * @throws BadRequest for an invalid key
 */
export async function begunSkill(context: RequestContext, path: string): Promise<BegunSkill | null> {
  if (idempotencyKey(context.request) === null) return null;
  const begun = await executionOf(context, `ex_${await idDigits(context, calledAt(path))}`).begun();
  if (begun === null || begun.version === "") return null;
  const { manifest } = await context.deployment.registry.skill(begun.version);
  return manifest.method === context.request.method ? begun : null;
}

/** A skill to run, in its version, with the input as it was sent and with the files that it names. */
interface AskedSkill {
  version: string;
  record: SkillRecord;
  sent: SentInput;
  whole: () => Promise<RunInput>;
  state: InputState;
}

/** Begins the run of a call that lasts, or returns to it. */
async function began(
  context: RequestContext,
  { id, keyed }: Call,
  execution: ExecutionClient,
  { version, record, sent, whole }: AskedSkill,
): Promise<Begun> {
  const named = sent.ids.length > 0 ? await namingHash(context, sent) : null;
  // The files that the call names may be gone by now, but the run has copies of its own.
  const known = keyed && named !== null ? await execution.attach(named) : null;
  if (known !== null) return known;
  // A run to which the caller could have returned may have failed by now.
  checkTrust(context.settings, record);
  const { manifest } = record;
  const input = await whole();
  const checked =
    manifest.mode === "llm" && !takesAnyFile(context, record) ? await checkedInput(record, input) : input;
  const { hashes, text, files } = await takeInput(context, id, checked);
  const names = files.map(({ filename, mime }) => [filename, mime]);
  const request_hash = named ?? (await requestHash(context, [text === null, names, hashes]));
  return execution.begin({ skill: manifest.slug, digest: version, request_hash, text, files });
}

/** Inputs that name the same stored files are equal: the content of an id never changes. */
async function namingHash(context: RequestContext, { text, ids }: SentInput): Promise<string> {
  return requestHash(context, [text === null ? null : await sha256(text), ids]);
}

/** Refuses an input that an llm skill cannot take, immediately, even if the client does not wait. */
async function checkedInput(record: SkillRecord, input: RunInput): Promise<RunInput> {
  const files = await holdFiles(input.files);
  userParts(record.manifest, input, files);
  return {
    text: input.text,
    files: files.map((file, index) => ({ ...file, filename: input.files[index]?.filename ?? null })),
  };
}
