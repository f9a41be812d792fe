/** Executes one attempt of a call, with the same code as any such run, and with a log that outlives the process. */
import { fromBase64 } from "../../bytes.ts";
import type { Deployment } from "../../deployment.ts";
import { eventsOf } from "../../run/agent/events.ts";
import type { RunContext } from "../../run/context.ts";
import { pieceOf } from "../../run/delta.ts";
import type { RunEvent } from "../../run/events.ts";
import type { Durable, OperationHandle, RunOutput } from "../../run/handle.ts";
import { runMode } from "../../run/mode.ts";
import { anonymousRunId, type OperationRequest, operationOf, runOperation } from "../../run/operation.ts";
import type { WorkspaceAccess } from "../../run/workspace/access.ts";
import type { Mode } from "../../skill/manifest.ts";
import type { RunRow } from "../conversation/run-rows.ts";
import type { SessionLog } from "../conversation/session-log.ts";
import type { ConversationStore } from "../conversation/store.ts";
import { type RunAttempt, RunSettled } from "../run-attempts.ts";
import type { CallRow } from "./call-store.ts";
import { inputOf } from "./contents.ts";

export interface CallAttempt extends RunAttempt {
  /** Resolves with the first event, or when the call has ended. */
  opened: PromiseWithResolvers<void>;
}

/** A stored call and its run. */
export interface KnownRun {
  /** Id of the execution. */
  id: string;
  call: CallRow;
  run: RunRow;
}

interface CallEnvironment {
  deployment: Deployment;
  log: SessionLog;
  context: RunContext;
  /** Opens the files of the run. */
  files: () => WorkspaceAccess;
}

/** @throws the HullError that ends the run; RunOver if the run was settled meanwhile */
export async function executeCall(
  known: KnownRun,
  attempt: CallAttempt,
  environment: CallEnvironment,
): Promise<RunOutput> {
  const operation = operationOf(known.call);
  if (operation !== null) {
    const run = operation === "runs" ? { run_id: anonymousRunId(known.run.id), session_id: null } : {};
    return runOperation(await handleOf(known, attempt, environment, { operation, ...run }));
  }
  const { registry } = environment.deployment;
  const { digest } = known.call;
  const record = await registry.skill(digest);
  const { slug, mode } = record.manifest;
  return runMode({ ...(await handleOf(known, attempt, environment, { skill: slug, mode })), record, digest });
}

/** @param what members of the event `start` */
async function handleOf(
  { call, run, id }: KnownRun,
  attempt: CallAttempt,
  environment: CallEnvironment,
  what: { operation: OperationRequest["operation"] } | { skill: string; mode: Mode },
): Promise<OperationHandle> {
  const { deployment, log, context } = environment;
  const { store } = log;
  const names = { execution_id: id, request_id: run.request_id, ...what };
  let open = hasStarted(store);
  const started = (about: Record<string, unknown> = {}): void => {
    if (!open && !attempt.settled) {
      const start = log.redacted({ event: "start", data: { ...names, ...about } });
      store.transaction(() => store.appendEvents([start]));
      log.events.announce();
    }
    open = true;
    attempt.opened.resolve();
  };
  const script = "mode" in what && what.mode === "script";
  // A script's output is sent once and whole, and a response's output is made from its events.
  const complete = script || ("operation" in what && what.operation === "responses");
  const replayed = new ReplayedOutput(call.begun && script ? outputSent(store) : []);
  if (open && !script) log.sendRestart();
  return {
    id: run.id,
    context,
    input: await inputOf(deployment.env, store.long, call.input),
    signal: attempt.abort.signal,
    streaming: true,
    keep: true,
    durable: durableOf(attempt, run, environment, started),
    started,
    emit: async (event) => {
      const rest = replayed.rest(event);
      if (rest === null || attempt.settled) return;
      if (complete) log.send(rest);
      else log.emit(rest, run.id);
    },
  };
}

/** Whether the run has sent its first event. A failure before that sends events of its own. */
export const hasStarted = (store: ConversationStore): boolean => store.events(0)[0]?.event === "start";

/** @param started called before the first event of the log */
function durableOf(
  attempt: CallAttempt,
  run: RunRow,
  { log, files }: CallEnvironment,
  started: () => void,
): Durable {
  const { store, events } = log;
  const write = <T>(work: () => T): T => {
    if (attempt.settled) throw new RunSettled();
    return work();
  };
  return {
    log: {
      state: () => log.state(),
      records: (after) => store.records(after),
      lastRecord: () => store.lastRecord(),
      begin: (batch) => write(() => log.append(batch, { silent: true })),
      append: (batch, memo) =>
        write(() => {
          const kept = memo === null ? {} : { memo: JSON.stringify(memo) };
          if (batch.some((applied) => eventsOf(applied).length > 0)) started();
          log.append(batch, { write: () => store.runs.update(run.id, kept) });
        }),
    },
    sentEvents: () =>
      write(() => {
        events.flush();
        return sentEvents(store);
      }),
    workspace: files,
    artifact: (id) => store.artifacts.latest(id),
    memo: run.memo === null ? null : JSON.parse(run.memo),
    remember: (value) =>
      write(() => store.transaction(() => store.runs.update(run.id, { memo: JSON.stringify(value) }))),
    known: (execution) => store.submitted.known(execution),
    note: (...noted) => write(() => store.submitted.note(...noted)),
  };
}

function sentEvents(store: ConversationStore): RunEvent[] {
  const all: RunEvent[] = [];
  for (let seen = 0; ; ) {
    const more = store.events(seen);
    seen = more.at(-1)?.seq ?? seen;
    if (more.length === 0) return all;
    all.push(...more);
  }
}

/** The part of the script's output that was already sent. */
const outputSent = (store: ConversationStore): RunEvent[] =>
  sentEvents(store).filter(({ event }) => event === "delta" || event === "stderr");

/** Filters a script's output that the runner sends again, so that no part reaches the client twice. */
class ReplayedOutput {
  /** Bytes of each stream that were already sent. */
  readonly #sent = { delta: 0, stderr: 0 };

  constructor(events: readonly RunEvent[]) {
    for (const event of events) {
      if (event.event === "delta" || event.event === "stderr") {
        this.#sent[event.event] += bytesOf(event).length;
      }
    }
  }

  /** The part of an event that is new; `null`: nothing of it is. */
  rest(event: RunEvent): RunEvent | null {
    if (event.event !== "delta" && event.event !== "stderr") return event;
    const sent = this.#sent[event.event];
    if (sent === 0) return event;
    const bytes = bytesOf(event);
    this.#sent[event.event] = Math.max(0, sent - bytes.length);
    return bytes.length <= sent ? null : { event: event.event, data: pieceOf(bytes.subarray(sent)) };
  }
}

function bytesOf({ data: { text, b64 } }: Extract<RunEvent, { event: "delta" | "stderr" }>): Uint8Array {
  if (text !== undefined) return new TextEncoder().encode(text);
  return b64 === undefined ? new Uint8Array(0) : fromBase64(b64);
}
