/** Runs of a skill that outlive their connection: idempotent and asynchronous calls. */

import { sha256 } from "../../bytes.ts";
import { takesAnyFile } from "../../run/agent/workspace-option.ts";
import type { RunInput } from "../../run/handle.ts";
import { holdFiles, userParts } from "../../run/llm-input.ts";
import { checkTrust } from "../../run/trust.ts";
import type { Begun, BegunSkill } from "../../session/unlisted/rpc.ts";
import type { SkillRecord } from "../../skill/manifest.ts";
import type { RequestContext } from "../context.ts";
import { type ExecutionClient, executionOf } from "../execution-client.ts";
import { afterOf, eventsResponse, storedError } from "../executions.ts";
import { jsonAnswer } from "../json.ts";
import {
  calledAt,
  type DurableCall,
  durableCall,
  idempotencyKey,
  keyReused,
  requestHash,
  takeInput,
} from "./idempotency.ts";
import { type SentInput, withStoredFiles } from "./stored-input.ts";

/**
 * Begins the run, or returns to it. Answers with 202 immediately, with the events, or with the result when it exists.
 * @param headers of every answer of the run
 */
export async function runDurable(
  context: RequestContext,
  call: DurableCall,
  skill: { version: string; record: SkillRecord },
  sent: SentInput,
  limit: number,
  streaming: boolean,
  headers: Record<string, string>,
): Promise<Response> {
  const execution = executionOf(context, call.id);
  const begun =
    (await attached(context, call, execution, sent)) ??
    (await started(context, call, execution, skill, sent, limit));
  return answerDurable(context, call, { execution, begun, streaming, headers });
}

interface BegunRun {
  execution: ExecutionClient;
  begun: Begun;
  streaming: boolean;
  /** Headers of every answer of the run. */
  headers: Record<string, string>;
}

/** Answers for a run that was begun: with 202 immediately, with the events, or with the result when it exists. */
export async function answerDurable(
  context: RequestContext,
  { id, respondAsync }: DurableCall,
  { execution, begun, streaming, headers }: BegunRun,
): Promise<Response> {
  if (begun === "other_request") throw keyReused(context);
  context.log.execution = begun;
  const all = { ...headers, ...(begun === "finished" ? { "x-hull-replayed": "1" } : {}) };
  if (respondAsync) {
    const { status, run_id } = await execution.status();
    const names = run_id === null ? {} : { run_id, session_id: null };
    const further = { location: `/executions/${id}`, "preference-applied": "respond-async" };
    return jsonAnswer({ id, ...names, status }, { status: 202, headers: { ...all, ...further } });
  }
  if (streaming) {
    const events = await execution.follow(afterOf(context.request, id), true);
    return eventsResponse(context, id, events, all);
  }
  const answer = await execution.answer();
  context.runHeaders = all;
  if (!answer.ok) throw storedError(answer);
  if (begun === "started") Object.assign(context.log, answer.timings);
  return new Response(answer.body, { headers: { ...all, ...answer.headers } });
}

/**
 * The skill, in the version of the run that the caller's key began: a repeated call gets the answer of that run,
 * whatever happened to the skill since. `null` if the request does not call a skill, or no run began with its key.
 * @param path of the request
 * @throws BadRequest for an invalid key
 */
export async function begunSkill(context: RequestContext, path: string): Promise<BegunSkill | null> {
  if (idempotencyKey(context.request) === null) return null;
  const call = await durableCall(context, calledAt(path));
  const begun = call === null ? null : await executionOf(context, call.id).begun();
  if (begun === null || begun.version === "") return null;
  const { manifest } = await context.deployment.registry.skill(begun.version);
  return manifest.method === context.request.method ? begun : null;
}

/** Returns to a run. The files that the call names may be gone by now, but the run has copies of its own. */
async function attached(
  context: RequestContext,
  { keyed }: DurableCall,
  execution: ExecutionClient,
  sent: SentInput,
): Promise<Begun | null> {
  if (!keyed || sent.ids.length === 0) return null;
  return execution.attach(await namingHash(context, sent));
}

/** Inputs that name the same stored files are equal: the content of an id never changes. */
async function namingHash(context: RequestContext, { text, ids }: SentInput): Promise<string> {
  return requestHash(context, [text === null ? null : await sha256(text), ids]);
}

async function started(
  context: RequestContext,
  { id }: DurableCall,
  execution: ExecutionClient,
  { version, record }: { version: string; record: SkillRecord },
  sent: SentInput,
  limit: number,
): Promise<Begun> {
  const { manifest } = record;
  // A run to which the caller could have returned may have failed by now.
  checkTrust(context.settings, record);
  const whole = await withStoredFiles(context, manifest, sent, limit);
  const anyFile = takesAnyFile(context, record);
  const checked = manifest.mode === "llm" && !anyFile ? await checkedInput(record, whole) : whole;
  const { hashes, text, files } = await takeInput(context, id, checked);
  const names = files.map(({ filename, mime }) => [filename, mime]);
  const request_hash =
    sent.ids.length > 0
      ? await namingHash(context, sent)
      : await requestHash(context, [text === null, names, hashes]);
  return execution.begin({ skill: manifest.slug, digest: version, request_hash, text, files });
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
