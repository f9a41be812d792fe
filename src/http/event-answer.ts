/**
 * Answers a request with events while its work is running. A failure before the first event has its own status, unless it
 * takes too long.
 */
import { ClientClosedRequest } from "../errors/run.ts";
import { HullError, toHullError } from "../errors.ts";
import { formatEvent, HEARTBEAT, type RunEvent } from "../run/events.ts";
import type { OperationHandle, RunOutput } from "../run/handle.ts";
import { logError, problemOf } from "../run/problem.ts";
import type { RequestContext } from "./context.ts";
import { EventBody, eventStream } from "./sse.ts";

/** Work that writes events. */
interface Work {
  run(): Promise<void>;
  /** Writes the last events of an answer that has already begun. */
  failed(error: HullError): Promise<void>;
}

/** What the work uses to write its events. */
interface Writing {
  body: EventBody;
  /** Begins the answer; otherwise the answer begins when the work ends, or after 30 s. */
  begin: () => void;
  /** Aborted when the client no longer reads. */
  signal: AbortSignal;
}

/**
 * After so many heartbeats an answer begins without an event: 30 s. Proxies wait a minute or so for its beginning, and most
 * calls that fail, repetitions included, have failed before.
 */
const HELD_HEARTBEATS = 2;

/** @throws the work's failure, if it fails before the answer begins */
export async function eventAnswer(
  context: RequestContext,
  headers: Record<string, string>,
  workOf: (writing: Writing) => Work,
): Promise<Response> {
  const left = new AbortController();
  const signal = AbortSignal.any([context.request.signal, left.signal]);
  const begun = Promise.withResolvers<void>();
  let open = false;
  const begin = (): void => {
    open = true;
    begun.resolve();
  };
  let silences = 0;
  const onSilence = (): void => {
    silences += 1;
    if (silences === HELD_HEARTBEATS) begin();
    void body.write(HEARTBEAT);
  };
  const body = new EventBody(() => left.abort(), onSilence);
  const work = workOf({ body, begin, signal });
  const finished = work.run().then(
    () => {
      begin();
      return body.close();
    },
    async (thrown: unknown) => {
      const hasLeft = signal.aborted && !(thrown instanceof HullError);
      const error = hasLeft ? new ClientClosedRequest({}) : toHullError(thrown);
      if (!open) {
        body.abandon();
        begun.reject(error);
        return;
      }
      logError(error, context);
      context.streamFault = error;
      await work.failed(error);
      await body.close();
    },
  );
  context.finished = finished;
  context.background(finished);
  await begun.promise;
  return eventStream(body.stream, headers);
}

/** The input of a handle whose work has its input already. */
const NO_INPUT = { text: null, files: [] };

interface StreamedRun {
  headers: Record<string, string>;
  /** Members of the event `start` in addition to the ids. */
  about: Record<string, unknown>;
  run: (handle: OperationHandle) => Promise<RunOutput>;
  /** Members of the event `done` in addition to `ok`; `null`: the run failed. */
  done: (output: RunOutput | null) => Record<string, unknown>;
}

/**
 * The events of a run, numbered `<run>:<seq>` and redacted: `start`, its own, `error` if it failed, and `done`.
 * @param id of the run, `ex_…`
 */
export function runEvents(
  context: RequestContext,
  id: string,
  { headers, about, run, done }: StreamedRun,
): Promise<Response> {
  return eventAnswer(context, headers, ({ body, begin, signal }) => {
    let seq = 0;
    const send = async ({ event, data }: RunEvent): Promise<void> => {
      if (body.closed) return;
      seq += 1;
      await body.write(formatEvent(context.redacted(data), event, `${id}:${seq}`));
    };
    const handle: OperationHandle = {
      id,
      context,
      input: NO_INPUT,
      signal,
      durable: null,
      streaming: true,
      keep: false,
      started(more = {}) {
        const data = { execution_id: id, request_id: context.requestId, ...about, ...more };
        void send({ event: "start", data });
        begin();
      },
      emit: send,
      room: () => body.room(),
    };
    return {
      async run() {
        const output = await run(handle);
        await send({ event: "done", data: { ok: true, ...done(output) } });
      },
      async failed(error) {
        await send({ event: "error", data: problemOf(error, context) });
        await send({ event: "done", data: { ok: false, ...done(null) } });
      },
    };
  });
}

/** The handle of a run that nobody watches, and that ends with its process. */
export const silentHandle = (context: RequestContext, id: string, signal: AbortSignal): OperationHandle => ({
  id,
  context,
  input: NO_INPUT,
  signal,
  durable: null,
  streaming: false,
  keep: true,
  started: () => {},
  emit: async () => {},
});
