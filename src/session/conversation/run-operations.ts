/** The operations of a session that concern its runs, by name (`rpc.ts`). */

import { wakeOf } from "../../engine/agent/wake.ts";
import { Internal } from "../../errors.ts";
import { pageOfRows } from "../../list-page.ts";
import type { PreparedRun } from "../../run/agent/runtime.ts";
import { nameAndContent } from "../named-request.ts";
import type { Task } from "../task/task.ts";
import type { RunView } from "./answers.ts";
import { answerCall, decide, listApprovals } from "./approvals.ts";
import { type Conversation, onceOnSession, onSession } from "./conversation.ts";
import { eventPage } from "./event-page.ts";
import { recordedCalls } from "./recorded-calls.ts";
import type { Handlers, RunOperations, RunRequest, SessionCaller, Wait } from "./rpc.ts";
import type { SessionRow } from "./store.ts";
import { tracePage } from "./trace.ts";
import { runAnswer, runEntry, runView, usualWait } from "./views.ts";

/** Checks the request and prepares its run in the session's object, so that the first attempt need not do it again. */
export function prepareRun(
  conversation: Conversation,
  asked: RunRequest,
  run: string,
  { session, caller }: { session: SessionRow; caller: SessionCaller },
): Promise<PreparedRun> {
  const context = conversation.context(caller);
  return conversation.runtime.prepare(asked, { run, session: session.id }, context);
}

/** What a session keeps of the request that began a run. */
type Begun = Pick<RunOperations["start"]["in"], "files_before"> & { run_id: string };

export function runHandlers(conversation: Conversation, task: Task): Handlers<RunOperations> {
  const { log, runs } = conversation;
  const { store } = log;
  const within = onSession(conversation);
  const once = onceOnSession(conversation);
  const answer = async (run_id: string, wait: Wait | null): Promise<RunView> => {
    await runs.wait(run_id, wait ?? usualWait(log.state()));
    return runAnswer(log, runs.row(run_id));
  };
  return {
    message: once(({ message, delivery }, row) => {
      conversation.checkActive();
      const run_id = store.runs.live()?.id ?? null;
      const body = { type: "message_received" as const, run: run_id, message, delivery };
      const woken = delivery !== "wait_for_completion" && runs.wake(wakeOf("message"), [body]);
      if (!woken) runs.receive([body], false);
      return { session_id: row.id, run_id, delivery };
    }),
    feedback: once(({ feedback }, row) => {
      conversation.checkActive();
      runs.receive([{ type: "feedback_received", feedback }], false);
      return { session_id: row.id, run_id: store.runs.live()?.id ?? null };
    }),
    known({ request }, caller) {
      conversation.checkRemoved(nameAndContent(request));
      const known = conversation.exists(caller) ? conversation.answerTo<Begun | null>(request) : null;
      if (known === null) return null;
      const { files_before } = known.answer ?? {};
      return files_before === undefined ? {} : { files_before };
    },
    async start({ run_id, work, request, wait, opens, files_before, followed }, caller) {
      const made = { request_hash: null, imported: null };
      if (opens !== undefined) await conversation.open(caller, { metadata: opens, ...made }, false);
      const session = await conversation.ready(caller);
      // A request without a key may arrive twice; the id of its run identifies it.
      const known = (): boolean =>
        request === null ? store.runs.find(run_id) !== null : conversation.knows(request);
      const checkFree = (): void => {
        conversation.checkActive();
        conversation.checkIdle();
        runs.checkNone();
      };
      const prepare = (asked: RunRequest): Promise<PreparedRun> => {
        checkFree();
        return prepareRun(conversation, asked, run_id, { session, caller });
      };
      const prepared = "spec" in work || known() ? null : await prepare(work.asked);
      const spec = "spec" in work ? work.spec : prepared?.spec;
      const begin = (): Begun => {
        if (spec === undefined) throw new Internal({ cause: `the request of ${run_id} is no longer known` });
        checkFree();
        runs.start(spec, caller, { prepared });
        return { run_id, ...(files_before === undefined ? {} : { files_before }) };
      };
      const named = request !== null ? conversation.once(request, begin) : null;
      if (named === null && !known()) begin();
      if (wait === "none" && followed === undefined) await conversation.listing.noteBegun();
      const view = await answer(named?.run_id ?? run_id, wait);
      if (wait === "terminal") await task.reported();
      return view;
    },
    runs: within(({ limit, before }) => {
      const found = store.runs.list(limit + 1, before);
      const { data, next_cursor: next } = pageOfRows(found, limit, (run) => run.first_record);
      return { data: data.map((run) => runEntry(log, run)), next };
    }),
    run: within(({ run_id }) => runView(log, runs.row(run_id))),
    trace: within(({ run_id, ...page }) => {
      const row = runs.row(run_id);
      // A secret that is cut off could no longer be found, so the records are redacted first.
      const records = store.runRecords(row).map((record) => log.answered(record));
      return { ...tracePage(records, page), recovered: row.recoveries > 0 };
    }),
    mocks_left: within(({ run_id }) => {
      const { memo } = runs.row(run_id);
      return memo === null ? null : JSON.parse(memo);
    }),
    recorded: within(({ run_id }) => {
      const row = runs.row(run_id);
      return recordedCalls(store.runRecords(row), (value) => log.answered(value));
    }),
    list_events: within((page) => eventPage(store, page)),
    answer: within(({ run_id, wait }) => answer(run_id, wait)),
    cancel: within(({ run_id }) => {
      runs.cancel(run_id);
      return runView(log, runs.row(run_id));
    }),
    artifacts: within((page) => store.artifacts.list(page)),
    artifact: within(({ id, version }) => store.artifacts.view(id, version)),
    approvals: within(() => listApprovals(log)),
    decide: within(async ({ request, ...decision }) => {
      const decided = conversation.once(request, () => decide(log, runs, decision));
      await conversation.listing.written();
      return decided;
    }),
    tool_result: once((answer) => answerCall(log, runs, answer)),
  };
}
