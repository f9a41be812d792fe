/** `/executions`: state, result, events and end of idempotent and asynchronous calls. */
import type { ShownExecution } from "../api/answers/skills.ts";
import { toProblem } from "../errors.ts";
import { parseWithOffset } from "../run/json.ts";
import type { RunSteps } from "../session/conversation/answers.ts";
import type { RunTrace } from "../session/conversation/trace.ts";
import type { ExecutionStatus } from "../session/unlisted/rpc.ts";
import { isTextType } from "../skill/media.ts";
import type { RequestContext } from "./context.ts";
import { executionOf, storedError } from "./execution-client.ts";
import { mediaType } from "./media-type.ts";
import { jsonNow, numberedPage, numericCursor, pageLimit } from "./page.ts";
import type { Params } from "./routes.ts";
import { withShortList } from "./skills/produced-files.ts";
import { eventStream, lastSeen } from "./sse.ts";

/** A longer result is not part of the status document, which then has the result's URL. */
const MAX_INLINE_BYTES = 1024 * 1024;

/** `GET /executions/:id`. */
export async function getExecution(context: RequestContext, { id = "" }: Params): Promise<Response> {
  const status = await executionOf(context, id).status();
  const { created_at, finished_at, skill } = status;
  const shown: ShownExecution = {
    id,
    skill,
    status: status.status,
    created_at: new Date(created_at).toISOString(),
    ...(finished_at === null ? {} : { finished_at: new Date(finished_at).toISOString() }),
    ...(status.result === null ? {} : { result: await resultOf(context, id, status.result) }),
    ...(status.error === null ? {} : { error: context.redacted(toProblem(status.error, context.requestId)) }),
  };
  return jsonNow(shown);
}

async function resultOf(
  context: RequestContext,
  id: string,
  { headers, size }: NonNullable<ExecutionStatus["result"]>,
): Promise<NonNullable<ShownExecution["result"]>> {
  const type = headers["content-type"] ?? "application/octet-stream";
  const common = { status: 200, content_type: type, headers, size };
  const json = /^application\/(?:[a-z0-9.-]+\+)?json$/.test(mediaType(type));
  const text = json || isTextType(mediaType(type));
  if (!text || size > MAX_INLINE_BYTES) return { ...common, url: `/executions/${id}/result` };
  const answer = await executionOf(context, id).answer();
  if (!answer.ok) return common;
  const content = await new Response(answer.body).text();
  const parsed = json ? parseWithOffset(content) : null;
  return parsed?.ok ? { ...common, json: parsed.value } : { ...common, text: content };
}

/** `GET /executions/:id/result`: waits for the result, and sends it as the call itself would have. */
export async function getExecutionResult(context: RequestContext, { id = "" }: Params): Promise<Response> {
  const answer = await executionOf(context, id).answer();
  const headers = { "cache-control": "no-store", "x-hull-execution-id": id };
  context.runHeaders = headers;
  if (!answer.ok) throw storedError(answer);
  return withShortList(new Response(answer.body, { headers: { ...headers, ...answer.headers } }));
}

/** `GET /executions/:id/events`: the events after `Last-Event-ID` or `?after=`, or all; follows to the end. */
export async function getExecutionEvents(context: RequestContext, { id = "" }: Params): Promise<Response> {
  const after = lastSeen(context.request, id) ?? 0;
  const events = await executionOf(context, id).follow(after, false);
  if (!events.ok) throw storedError(events);
  context.log.execution_id = id;
  return eventStream(events.body, { "x-hull-execution-id": id });
}

/** `GET /executions/:id/trace`: the run's steps so far, a page at a time; a script has none. */
export async function traceExecution(context: RequestContext, { id = "" }: Params): Promise<Response> {
  return jsonNow(traceJson(await executionOf(context, id).trace(tracePage(context))));
}

/** The page of steps that a request asks for. @throws BadRequest */
export function tracePage({ query }: RequestContext): { after: number; limit: number } {
  return { after: numericCursor(query) ?? 0, limit: pageLimit(query, { otherwise: 200 }) };
}

export const traceJson = ({ steps, next, ...run }: RunTrace): RunSteps => ({
  ...run,
  ...numberedPage({ data: steps, next }),
});

/** `DELETE /executions/:id`: stops a running execution, removes an ended one. */
export async function deleteExecution(context: RequestContext, params: Params): Promise<Response> {
  const { id = "" } = params;
  const done = await executionOf(context, id).cancel();
  return done === "removed" ? new Response(null, { status: 204 }) : getExecution(context, params);
}
