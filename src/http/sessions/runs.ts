/** Routes that start, await, stream, show and cancel the runs of a session. */
import type * as z from "zod/mini";
import { newRunId } from "../../run/agent/daemon-spec.ts";
import { callBody } from "../../run/request-bodies.ts";
import { sessionNamed } from "../../run/session-call.ts";
import type { RunView } from "../../session/conversation/answers.ts";
import { thrownBy } from "../../session/conversation/done.ts";
import type { SessionOperations, StreamUntil, Wait } from "../../session/conversation/rpc.ts";
import { defined } from "../../skill/json.ts";
import { answerRun, formOf } from "../answer.ts";
import type { RequestContext } from "../context.ts";
import { traceJson, tracePage } from "../executions.ts";
import { anonymousRun, modelCall } from "../operations.ts";
import { numberedPage, numericCursor, pageBefore, pageLimit } from "../page.ts";
import type { Handler } from "../routes.ts";
import { noteReplay, noteSkill } from "../run-headers.ts";
import { eventStream, lastSeen } from "../sse.ts";
import { keyedName, noBody, sessionOf, shownNow, shows } from "./object.ts";

type Asked = z.infer<typeof callBody>;
const read = modelCall(callBody);

/** `POST /sessions/:id/runs`. */
export const startRun: Handler = async (context, { id = "" }) =>
  runIn(context, id, await read(context.request));

/** `POST /runs`: a run without a session, or in the one that the option `session_id` names. */
export const runAgent: Handler = async (context) => {
  const body = await read(context.request);
  const id = sessionNamed(body.options);
  return id === null ? anonymousRun(context, body) : runIn(context, id, body);
};

/** A call of a skill's own route; `files_before`: as of `start`, `said`: the caller's own text. */
interface CalledSkill {
  files_before: number;
  said: string;
}

/**
 * Begins a run, or returns to the one that the same `Idempotency-Key` began.
 * @param called `null`: it is no such call
 */
export async function runIn(
  context: RequestContext,
  id: string,
  body: Asked,
  called: CalledSkill | null = null,
): Promise<Response> {
  const form = formOf(context.request, { waits: true });
  const request = await keyedName(context, body);
  const session = sessionOf(context, id);
  await noteSkill(context, body.options?.skill);
  return answerRun(context, form, id, async (after) => {
    const until = streamUntil(form.wait);
    const asked = {
      ...newRun(context, body, called),
      request,
      ...(form.events ? { wait: "none" as const, followed: until } : { wait: form.wait }),
    };
    // No other request can know a run without a key, so one call begins and follows it.
    const begun = form.events && request === null ? await session.start(asked, after) : null;
    const run = begun?.run ?? (await session.ask("start", asked));
    const { run_id, session_id, status } = run;
    if (run_id !== asked.run_id) noteReplay(context);
    return {
      run_id,
      accepted: () => ({
        location: `/sessions/${session_id}/runs/${run_id}`,
        document: { id: run_id, run_id, session_id, status },
      }),
      events: async () => begun?.events ?? session.events(run_id, after, until),
      whole: (headers) => answered(context, run, headers),
    };
  });
}

/**
 * Where a stream ends. Normally it ends at the point where a whole answer would come, but by default it continues while
 * the client answers calls of its own tools.
 */
function streamUntil(wait: Wait | null): StreamUntil {
  if (wait === null) return "usual";
  return wait === "idle" ? "rest" : "end";
}

type NewRun = Pick<SessionOperations["start"]["in"], "run_id" | "work" | "files_before">;

/**
 * A new run. The session's object prepares it: the object resolves the request, and keeps the result for the run itself.
 */
function newRun(
  { publishes }: RequestContext,
  { prompt = null, system = null, options = {} }: Asked,
  called: CalledSkill | null,
): NewRun {
  const asked = { prompt, system, options, publishes };
  const run_id = newRunId();
  if (called === null) return { run_id, work: { asked } };
  const { files_before, said } = called;
  return { run_id, work: { asked: { ...asked, called: true, arguments: said } }, files_before };
}

/** The result of a run that has ended or rests; if the run failed, the answer has its error. */
function answered(context: RequestContext, run: RunView, headers: Record<string, string>): Response {
  if (run.error !== undefined) throw thrownBy(run.error);
  const { result: made, awaiting, approvals } = run;
  const body = context.settings.redactor.jsonText({ ...made, ...defined({ awaiting, approvals }) });
  return new Response(body, { headers: { ...headers, "content-type": "application/json" } });
}

/**
 * `GET /sessions/:id/events`: those after `Last-Event-ID` or `?after=`, else only future ones. The stream never ends.
 */
export const followSession: Handler = async (context, { id = "" }) =>
  eventStream(await sessionOf(context, id).events(null, lastSeen(context.request, id)));

/** `GET /sessions/:id/events/list`: the stored events, oldest first, a page at a time. */
export const listSessionEvents: Handler = async (context, { id = "" }) => {
  const { query } = context;
  const page = { after: numericCursor(query) ?? 0, limit: pageLimit(query), name: query.get("event") };
  const { data, next } = await sessionOf(context, id).ask("list_events", page);
  const events = data.map(({ seq, event, data: value }) => ({ id: `${id}:${seq}`, event, data: value }));
  return shownNow(context, numberedPage({ data: events, next }));
};

/** `GET /sessions/:id/runs`: the newest first, without their results. */
export const listRuns = shows("runs", pageBefore, numberedPage);

export const getRun = shows("run", (_, { run = "" }) => ({ run_id: run }));

/** `GET /sessions/:id/runs/:run/trace`: the run's steps so far, a page at a time. */
export const traceRun = shows(
  "trace",
  (context, { run = "" }) => ({ run_id: run, ...tracePage(context) }),
  traceJson,
);

/** `GET /sessions/:id/runs/:run/events`: the run's stored events, then future ones, up to its end. */
export const followRun: Handler = async (context, { id = "", run = "" }) =>
  eventStream(await sessionOf(context, id).events(run, lastSeen(context.request, id)));

/** `POST /sessions/:id/runs/:run/cancel`: ends the run; has no effect on one that has ended. */
export const cancelRun: Handler = async (context, { id = "", run = "" }) => {
  await noBody(context.request);
  return shownNow(context, await sessionOf(context, id).ask("cancel", { run_id: run }));
};
