/** `/v1/responses/{id}`: shows, streams, cancels and removes a stored response. */
import * as z from "zod/mini";
import { CallNotFound } from "../../../errors/llm.ts";
import { BadRequest, ExecutionNotFound } from "../../../errors/request.ts";
import { type HullError, Internal } from "../../../errors.ts";
import { readFrames } from "../../../model/frames.ts";
import { eventOf, type RunEvent } from "../../../run/events.ts";
import { failure, ResponseEvents } from "../../../run/responses/events.ts";
import { placeOf, type ResponsesOperation } from "../../../run/responses/perform.ts";
import type { Json, JsonObject } from "../../../skill/manifest.ts";
import type { RequestContext } from "../../context.ts";
import { type ExecutionClient, storedError } from "../../execution-client.ts";
import { jsonNow } from "../../page.ts";
import { flagIn, WORDS } from "../../parameters.ts";
import type { Params } from "../../routes.ts";
import { formatted } from "../../sse.ts";
import { ascendingOf, pageWithin } from "../lists.ts";
import { streamedAnswer } from "../model-call.ts";
import { responseExecution } from "./ids.ts";
import { reasoningShown, renderEvent, renderItem, renderResponse } from "./render.ts";

const MAX_INCLUDED = 100;

/** Calls `ask`. @throws CallNotFound if the tenant has no such response */
async function found<T>(id: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw ExecutionNotFound.matches(error) ? new CallNotFound({ what: "response", id }) : error;
  }
}

export interface StoredResponse {
  execution: ExecutionClient;
  request: ResponsesOperation;
}

/** @throws CallNotFound */
export async function storedResponse(context: RequestContext, id: string): Promise<StoredResponse> {
  const execution = responseExecution(context, id);
  const text = await found(id, () => execution.input());
  // `operationInput` wrote it.
  const request: ResponsesOperation = JSON.parse(await new Response(text).text());
  return { execution, request };
}

/** A response, and the headers with which it ended, `x-hull-warnings` among them. */
interface Shown {
  document: JsonObject;
  endHeaders: Record<string, string>;
}

/** The response in its present state. */
export async function present({ execution, request }: StoredResponse): Promise<Shown> {
  const { status, error } = await execution.status();
  if (status === "running") return { document: { ...request.head, status: "in_progress" }, endHeaders: {} };
  if (error !== null) return { document: { ...request.head, ...failure({ ...error }) }, endHeaders: {} };
  return ended(execution);
}

/** The response, once it has ended. @throws the error that ended it */
export async function ended(execution: ExecutionClient): Promise<Shown> {
  const answer = await execution.answer();
  if (!answer.ok) throw storedError(answer);
  const document: JsonObject = JSON.parse(await new Response(answer.body).text());
  return { document, endHeaders: answer.headers };
}

/**
 * The items of the whole conversation up to a finished response, which another response continues.
 * @throws InvalidRequest CallNotFound
 */
export async function itemsUpTo(context: RequestContext, id: string): Promise<JsonObject[]> {
  const stored = await storedResponse(context, id);
  const { status, output } = (await present(stored)).document;
  if (status !== "completed" && status !== "incomplete") {
    const detail = `previous_response_id: the response ${id} is ${String(status)}; only a completed or incomplete one can be continued.`;
    throw new BadRequest({ detail, param: "previous_response_id" });
  }
  const { history, input } = stored.request;
  return [...history, ...input, ...itemsIn(output)];
}

/** The items that a stored response made; none if it is running, has failed or does not exist. */
export async function outputOf(context: RequestContext, id: string): Promise<JsonObject[]> {
  const execution = responseExecution(context, id);
  try {
    const { status } = await execution.status();
    return status === "done" ? itemsIn((await ended(execution)).document.output) : [];
  } catch (error) {
    if (ExecutionNotFound.matches(error)) return [];
    throw error;
  }
}

const objectsShape = z.array(z.record(z.string(), z.json()));
const itemsIn = (output: Json | undefined): JsonObject[] =>
  objectsShape.parse(Array.isArray(output) ? output : []);

/** `GET /v1/responses/:id`; with `?stream=true` its events, with `?starting_after=` only those after it. */
export async function getResponse(context: RequestContext, { id = "" }: Params): Promise<Response> {
  const { query } = context;
  const streaming = flagIn(query, "stream", WORDS);
  const stored = await storedResponse(context, id);
  const reasoning = reasoningShown(context);
  if (!streaming) {
    const { document, endHeaders } = await present(stored);
    return jsonNow(context.redacted(renderResponse(document, reasoning)), 200, endHeaders);
  }
  const text = query.get("starting_after") ?? "-1";
  const after = Number(text);
  if (!/^(?:-1|\d{1,15})$/.test(text)) {
    const detail = "starting_after must be the sequence_number of an event.";
    throw new BadRequest({ detail, param: "starting_after" });
  }
  return streamStored(context, stored, { after, reasoning, early: false, headers: {} });
}

/** The stream of a stored response. @param early gives a failure before the first event its own status */
export function streamStored(
  context: RequestContext,
  { execution, request }: StoredResponse,
  {
    after,
    reasoning,
    early,
    headers,
  }: { after: number; reasoning: boolean; early: boolean; headers: Record<string, string> },
): Promise<Response> {
  return streamedAnswer(context, {
    headers,
    async run(write, signal) {
      const events = new ResponseEvents(request.head, placeOf(request));
      const send = (made: readonly JsonObject[]): void => {
        for (const event of made) {
          const { sequence_number: n } = event;
          if (typeof n === "number" && n > after)
            write(formatted(context.redacted(renderEvent(event, reasoning))));
        }
      };
      let begun = false;
      await followed(execution, { early, signal }, (event) => {
        if (!begun) send(events.begin());
        begun = true;
        send(events.push(event));
      });
    },
    failed: (error) => formatted(errorEvent(error, context)),
  });
}

/** The event that ends a stream that cannot continue. */
function errorEvent(error: HullError, context: RequestContext): object {
  const { detail, code } = error.data;
  return { type: "error", code, message: String(context.redacted(detail)), param: null, sequence_number: 0 };
}

const BREAKS = 4;
const MAX_EVENT = 256 * 1024 * 1024;

/** Reports all events of an execution up to its end, even if its process dies and restarts. */
async function followed(
  execution: ExecutionClient,
  { early, signal }: { early: boolean; signal: AbortSignal },
  report: (event: RunEvent) => void,
): Promise<void> {
  let seen = 0;
  let ended = false;
  const broken = (reason: string): HullError => new Internal({ cause: reason });
  for (let breaks = 0; !ended; breaks += 1) {
    const events = await execution.follow(seen, early);
    if (!events.ok) throw storedError(events);
    const options = {
      framing: "sse" as const,
      max_event: MAX_EVENT,
      max_bytes: Number.MAX_SAFE_INTEGER,
      signal,
      unusable: broken,
      cutOff: broken,
    };
    try {
      await readFrames(events.body, options, ({ event = "", data, unfinished = false }) => {
        if (unfinished) return true;
        seen += 1;
        report(eventOf(event, data));
        ended = event === "done";
        return ended;
      });
    } catch (error) {
      if (signal.aborted || breaks >= BREAKS) throw error;
    }
    if (!ended && breaks >= BREAKS) throw broken("the events of a response broke off");
  }
}

/** `DELETE /v1/responses/:id`: stops the response if it is running, and removes all its data. */
export async function deleteResponse(context: RequestContext, { id = "" }: Params): Promise<Response> {
  const execution = responseExecution(context, id);
  const done = await found(id, () => execution.cancel());
  if (done === "cancelled") await execution.cancel();
  return jsonNow({ id, object: "response", deleted: true });
}

/**
 * `POST /v1/responses/:id/cancel`. A response that has ended stays unchanged.
 * @throws BadRequest for one that is not in the background
 */
export async function cancelResponse(context: RequestContext, { id = "" }: Params): Promise<Response> {
  const stored = await storedResponse(context, id);
  if (stored.request.head.background !== true) {
    throw new BadRequest({ detail: `The response ${id} does not run in the background.` });
  }
  await stored.execution.cancel(true);
  const { document, endHeaders } = await present(stored);
  return jsonNow(context.redacted(renderResponse(document, reasoningShown(context))), 200, endHeaders);
}

/** `GET /v1/responses/:id/input_items`. @throws BadRequest */
export async function listResponseInput(context: RequestContext, { id = "" }: Params): Promise<Response> {
  const { request } = await storedResponse(context, id);
  const { query } = context;
  const items = request.input.map((item) => renderItem(item, reasoningShown(context)));
  const all = ascendingOf(query) ? items : items.reverse();
  return jsonNow(context.redacted(await pageWithin(all, query, { max: MAX_INCLUDED, what: "item" })));
}
