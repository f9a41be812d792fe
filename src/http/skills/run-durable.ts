/** Runs of a skill that outlive their connection: idempotent and asynchronous calls (serving.md §5.2). */
import { IdempotencyKeyReused } from "../../errors/request.ts";
import type { RunInput } from "../../run/input.ts";
import { holdFiles, userParts } from "../../run/llm-input.ts";
import { logError } from "../../run/problem.ts";
import type { ExecutionAnswer } from "../../session/execution/rpc.ts";
import type { Card, SkillRecord } from "../../skill/manifest.ts";
import type { RequestContext } from "../context.ts";
import { executionOf } from "../execution-object.ts";
import { afterOf, eventsResponse, storedError } from "../executions.ts";
import { problemResponse } from "../problem.ts";
import { type DurableCall, takeInput } from "./idempotency.ts";

/**
 * Begins the run, or comes back to it, and answers: 202 at once, the events, or the result when it is there.
 * @param headers of every answer of the run
 */
export async function runDurable(
  context: RequestContext,
  call: DurableCall,
  skill: { card: Card; record: SkillRecord },
  input: RunInput,
  streaming: boolean,
  headers: Record<string, string>,
): Promise<Response> {
  const { id, respondAsync } = call;
  const { manifest } = skill.record;
  const checked = manifest.mode === "llm" ? await checkedInput(skill.record, input) : input;
  const { hash, ...taken } = await takeInput(context, id, checked);
  const execution = executionOf(context, id);
  const digest = skill.card.version;
  const begun = await execution.begin({ skill: manifest.slug, digest, request_hash: hash, ...taken });
  if (begun === "other_request") {
    throw new IdempotencyKeyReused({ key: context.request.headers.get("idempotency-key") ?? "" });
  }
  context.log.execution = begun;
  const all = { ...headers, ...(begun === "finished" ? { "x-hull-replayed": "1" } : {}) };
  if (respondAsync) {
    const { status } = await execution.status();
    const further = { location: `/executions/${id}`, "preference-applied": "respond-async" };
    return Response.json({ id, status }, { status: 202, headers: { ...all, ...further } });
  }
  if (streaming) {
    const events = await execution.events(afterOf(context.request, id), true);
    return eventsResponse(context, id, events, all);
  }
  const answer = await execution.answer();
  if (!answer.ok) return failed(context, answer, all);
  if (begun === "started") Object.assign(context.log, answer.timings);
  return new Response(answer.body, { headers: { ...all, ...answer.headers } });
}

/** The problem document of a run that failed, with what every answer of the run carries. */
function failed(
  context: RequestContext,
  answer: Extract<ExecutionAnswer, { ok: false }>,
  headers: Record<string, string>,
): Response {
  const error = storedError(answer);
  logError(error, context);
  const response = problemResponse(error, context);
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}

/** What an llm skill cannot take is told at once, also to a client who does not wait. */
async function checkedInput(record: SkillRecord, input: RunInput): Promise<RunInput> {
  const files = await holdFiles(input.files);
  userParts(record.manifest, input, files);
  return {
    text: input.text,
    files: files.map((file, index) => ({ ...file, filename: input.files[index]?.filename ?? null })),
  };
}
