/** The operations of a session, by name (`rpc.ts`). */

import { CallNotFound } from "../../errors/llm.ts";
import { IdempotencyKeyReused } from "../../errors/request.ts";
import { Internal, toHullError } from "../../errors.ts";
import type { PreparedRun } from "../../run/agent/runtime.ts";
import { detachedContext } from "../../run/context.ts";
import { readText, sendText } from "../../run/long-text.ts";
import type { Daemon } from "../daemon/daemon.ts";
import { daemonHandlers } from "../daemon/handlers.ts";
import type { DaemonOperations } from "../daemon/rpc.ts";
import { type NamedRequest, nameAndContent } from "../named-request.ts";
import type { Delegates } from "../task/delegates.ts";
import { taskHandlers } from "../task/handlers.ts";
import type { TaskOperations } from "../task/rpc.ts";
import type { Task } from "../task/task.ts";
import { workflowHandlers } from "../workflow/handlers.ts";
import type { WorkflowOperations } from "../workflow/rpc.ts";
import type { Workflow } from "../workflow/workflow.ts";
import type { RunView, SessionView } from "./answers.ts";
import { answerCall, decide, listApprovals } from "./approvals.ts";
import type { Conversation } from "./conversation.ts";
import { eventPage } from "./event-page.ts";
import { type Fork, forkInto } from "./fork.ts";
import { fitting } from "./injected.ts";
import { compaction } from "./manual-compaction.ts";
import { recordedCalls } from "./recorded-calls.ts";
import type {
  Handlers,
  LongText,
  RunRequest,
  SessionAnswer,
  SessionCaller,
  SessionOperation,
  SessionOperations,
  SessionQuestion,
  Wait,
} from "./rpc.ts";
import { MESSAGE_WAKE } from "./runs.ts";
import type { SessionRow } from "./store.ts";
import { tracePage } from "./trace.ts";
import { runAnswer, runEntry, runView, usualWait } from "./views.ts";
import { listPage, tailOf } from "./visible.ts";

type All = Handlers<SessionOperations>;
type Own = Omit<All, keyof DaemonOperations | keyof TaskOperations | keyof WorkflowOperations>;

/** Executes operations on one session. Errors are returned as answers, too. */
export class SessionDispatcher {
  readonly #handlers: All;
  readonly #conversation: Conversation;

  constructor(
    conversation: Conversation,
    {
      daemon,
      task,
      delegates,
      workflow,
    }: { daemon: Daemon; task: Task; delegates: Delegates; workflow: Workflow },
  ) {
    this.#conversation = conversation;
    this.#handlers = {
      ...handlersOf(conversation, task),
      ...daemonHandlers(conversation, daemon),
      ...taskHandlers(conversation, task, delegates),
      ...workflowHandlers(conversation, workflow),
    };
  }

  async ask(text: LongText): Promise<LongText> {
    const question: SessionQuestion = JSON.parse(await readText(text));
    return sendText(JSON.stringify(await this.#outcome(question)));
  }

  /** Begins a run and streams its events to the caller. */
  async start(
    text: LongText,
    after: number | null,
  ): Promise<{ answer: LongText; body: ReadableStream<Uint8Array> | null }> {
    const question: SessionQuestion<"start"> = JSON.parse(await readText(text));
    const { caller, input } = question;
    const answer = await this.#outcome(question);
    const { run_id, followed: until = "end" } = input;
    const body = answer.ok ? await this.#conversation.events({ caller, run_id, after, until }) : null;
    return { answer: sendText(JSON.stringify(answer)), body };
  }

  async #outcome(question: SessionQuestion): Promise<SessionAnswer> {
    try {
      return { ok: true, value: (await this.#answer(question)) ?? null };
    } catch (thrown) {
      const { data: error, operator } = toHullError(thrown);
      return { ok: false, error, operator };
    }
  }

  async #answer<K extends SessionOperation>({ type, input, caller }: SessionQuestion<K>): Promise<unknown> {
    return this.#handlers[type](input, caller);
  }
}

function handlersOf(conversation: Conversation, task: Task): Own {
  const { log, runs, files, env, deployment, background, runtime } = conversation;
  const { store } = log;
  /** Forks under way, by request: a repeated request joins the fork that it began. */
  const forks = new Map<string, { hash: string; made: Promise<void> }>();
  const forked = async (row: SessionRow, asked: NamedRequest, fork: Omit<Fork, "request">): Promise<void> => {
    const { name, hash } = asked;
    const under = forks.get(name);
    if (under !== undefined && under.hash !== hash) throw new IdempotencyKeyReused({ key: name });
    const request = nameAndContent(asked);
    const made = under?.made ?? forkInto({ env, log, files }, row, { ...fork, request });
    forks.set(name, { hash, made });
    await made.finally(() => forks.delete(name));
  };
  /** Wraps an operation on a session that must exist. */
  const within =
    <I, O>(work: (input: I, row: SessionRow, caller: SessionCaller) => O | Promise<O>) =>
    async (input: I, caller: SessionCaller): Promise<O> =>
      work(input, await conversation.ready(caller), caller);
  /** Makes a change of the conversation while no run occupies it. */
  const changed = (row: SessionRow, request: NamedRequest, change: () => void): SessionView =>
    conversation.once(request, () => {
      conversation.active(row);
      conversation.quiet(row);
      change();
      return conversation.view();
    });
  const answer = async (run_id: string, wait: Wait | null, { id }: SessionRow): Promise<RunView> => {
    await runs.wait(run_id, wait ?? usualWait(log.state()));
    return runAnswer(log, runtime, id, runs.row(run_id));
  };
  /** Checks the request and prepares its run here, so that the first attempt need not do it again. */
  const prepare = (
    asked: RunRequest,
    run: string,
    { session, caller }: { session: SessionRow; caller: SessionCaller },
  ): Promise<PreparedRun> => {
    const { request_id: requestId, mock_scope: mockScope, tenant } = caller;
    const context = detachedContext(
      deployment,
      { requestId, mockScope, tenant, startedAt: log.now() },
      background,
    );
    return runtime.prepare(asked, { run, session: session.id }, context);
  };
  return {
    async open({ request, ...wanted }, caller) {
      const first =
        request !== undefined && conversation.exists(caller)
          ? conversation.answerTo<SessionOperations["open"]["out"]>(request)
          : null;
      if (first !== null) return first.answer;
      const created = await conversation.open(caller, wanted);
      const opened = { created, session: conversation.view() };
      if (request !== undefined) conversation.once(request, () => opened);
      if (created) await conversation.listing.noted();
      return opened;
    },
    exists: (_, caller) => conversation.exists(caller),
    view: within(() => conversation.view()),
    messages: within((page) => listPage(log.state().visible, page)),
    history: within((_, row) => {
      conversation.active(row);
      conversation.quiet(row);
      const { visible: messages, summary, refusedSearches: refused_searches = [] } = log.state();
      return { messages, summary, created_at: row.created_at, refused_searches };
    }),
    set_state: within(({ state, request }, row) =>
      conversation.once(request, () => {
        conversation.setState(row, state);
        return conversation.view();
      }),
    ),
    resume: within(({ request }, row) =>
      conversation.once(request, () => {
        conversation.setState(row, "active");
        const wake = {
          reason: "resume" as const,
          feedback: null,
          messages: [],
          watch_paths: [],
          resumed: true,
        };
        const woken = runs.wake(wake);
        return { ...conversation.view(), woken };
      }),
    ),
    reset: within(({ request }, row) =>
      changed(row, request, () =>
        log.add([{ type: "session_reset" }], { write: () => store.touch(log.now()) }),
      ),
    ),
    trim: within(({ keep_last, request }, row) =>
      changed(row, request, () => {
        const kept = tailOf(log.state().visible, keep_last);
        log.add([{ type: "session_trimmed", keep_last: kept }], { write: () => store.touch(log.now()) });
      }),
    ),
    add: within(({ messages, source, created_at, refused_searches: models = [], request }, row) =>
      changed(row, request, () => {
        if (created_at !== undefined && created_at !== row.created_at)
          throw new CallNotFound({ what: "session", id: row.id });
        const { visible } = log.state();
        const said = source === "inject" ? messages.map((message) => fitting(visible, message)) : messages;
        const records = said.map((message) => ({ type: "message_added" as const, message, source }));
        const refused = models.length === 0 ? [] : [{ type: "searches_refused" as const, models }];
        log.add([...refused, ...records], { write: () => store.touch(log.now()) });
      }),
    ),
    compact: within(async ({ request, ...call }, row, caller) => {
      const before = conversation.answerTo<SessionOperations["compact"]["out"]>(request);
      if (before !== null) return before.answer;
      const run_id = `compact-${store.lastRecord()}`;
      const { options } = call;
      const asked = { prompt: null, system: null, publishes: false };
      const prepared =
        options === null ? null : await prepare({ ...asked, options }, run_id, { session: row, caller });
      // The session may have changed meanwhile.
      const session = await conversation.ready(caller);
      conversation.active(session);
      conversation.quiet(session);
      return conversation.changing(async (removed) => {
        const by = { session, caller, run_id, prepared };
        const compact = await compaction(conversation, call, { ...by, removed });
        return conversation.once(request, () => {
          const compacted = compact();
          return {
            ...conversation.view(),
            compacted: compacted === null ? null : log.answered({ ...compacted }),
          };
        });
      });
    }),
    fork: within(async ({ dst, keep_first, request }, row, caller) => {
      if (conversation.answerTo(request) === null) {
        conversation.quiet(row);
        const { request_id } = caller;
        await forked(row, request, { dst, keep_first, request_id });
      }
      // The parent may have been removed by now.
      if (!conversation.exists(caller)) return dst;
      return conversation.once(request, () => {
        store.addChild(dst);
        return dst;
      });
    }),
    copyFiles: within(async ({ dst, request }, row, { request_id }) => {
      if (files.count(row) > 0) await forked(row, request, { dst, keep_first: "files", request_id });
      return null;
    }),
    remove: within(async (_, row) => {
      await conversation.remove(row);
      return null;
    }),
    listFiles: within((asked) => files.listFiles(...asked)),
    findFile: within((asked) => files.findFile(...asked)),
    beginFile: within((asked) => files.beginFile(...asked)),
    noteUpload: within((asked) => files.noteUpload(...asked)),
    // Not `within`: if the session was removed, the contents stored for these changes must be removed too.
    changeFiles: (asked) => files.changeFiles(...asked),
    workspaceVersion: within((asked) => files.workspaceVersion(...asked)),
    workspaceManifest: within((asked) => files.workspaceManifest(...asked)),
    contentKeys: within((asked) => files.contentKeys(...asked)),
    message: within(({ message, delivery, request }, row) =>
      conversation.once(request, () => {
        conversation.active(row);
        const run_id = store.liveRun()?.id ?? null;
        const body = { type: "message_received" as const, run: run_id, message, delivery };
        const woken = delivery !== "wait_for_completion" && runs.wake(MESSAGE_WAKE, [body]);
        if (!woken) runs.receive([body], false);
        return { session_id: row.id, run_id, delivery };
      }),
    ),
    feedback: within(({ feedback, request }, row) =>
      conversation.once(request, () => {
        conversation.active(row);
        runs.receive([{ type: "feedback_received", feedback }], false);
        return { session_id: row.id, run_id: store.liveRun()?.id ?? null };
      }),
    ),
    known: ({ request }, caller) => conversation.exists(caller) && conversation.answerTo(request) !== null,
    async start({ run_id, work, request, wait, opens, followed }, caller) {
      const made = { request_hash: null, imported: null };
      if (opens !== undefined) await conversation.open(caller, { metadata: opens, ...made }, false);
      const before = await conversation.ready(caller);
      // A request without a key may arrive twice; the id of its run identifies it.
      const known = (): boolean =>
        request === null ? store.run(run_id) !== null : conversation.knows(request);
      const prepared =
        "spec" in work || known() ? null : await prepare(work.asked, run_id, { session: before, caller });
      // The session may have changed meanwhile.
      const row = prepared === null ? before : await conversation.ready(caller);
      const spec = "spec" in work ? work.spec : prepared?.spec;
      const begin = () => {
        if (spec === undefined) throw new Internal({ cause: `the request of ${run_id} is no longer known` });
        conversation.active(row);
        conversation.quiet(row);
        const { request_id, mock_scope } = caller;
        runs.start(spec, { request_id, mock_scope }, { prepared });
        return { run_id };
      };
      const named = request !== null ? conversation.once(request, begin) : null;
      if (named === null && !known()) begin();
      if (wait === "none" && followed === undefined) await conversation.listing.noteBegun();
      const view = await answer(named?.run_id ?? run_id, wait, row);
      if (wait === "terminal") await task.reported();
      return view;
    },
    runs: within(({ limit, before }, { id }) => {
      const rows = store.runs(limit + 1, before);
      const page = rows.slice(0, limit);
      const next = rows.length > limit ? (page.at(-1)?.first_record ?? null) : null;
      return { data: page.map((run) => runEntry(id, run)), next };
    }),
    run: within(({ run_id }, { id }) => runView(log, id, runs.row(run_id))),
    trace: within(({ run_id, ...page }) => {
      const row = runs.row(run_id);
      return { ...tracePage(store.runRecords(row), page), recovered: row.recoveries > 0 };
    }),
    recorded: within(({ run_id }) => {
      const row = runs.row(run_id);
      return log.answered(recordedCalls(() => store.runRecords(row)));
    }),
    list_events: within((page) => eventPage(store, page)),
    answer: within(({ run_id, wait }, row) => answer(run_id, wait, row)),
    cancel: within(({ run_id }, { id }) => {
      runs.cancel(run_id);
      return runView(log, id, runs.row(run_id));
    }),
    artifacts: within((page) => store.artifacts.list(page)),
    artifact: within(({ id, version }) => store.artifacts.view(id, version)),
    approvals: within(() => listApprovals(log)),
    decide: within(async ({ request, ...decision }) => {
      const decided = conversation.once(request, () => decide(log, runs, decision));
      await conversation.listing.written();
      return decided;
    }),
    tool_result: within(({ request, ...answer }) =>
      conversation.once(request, () => answerCall(log, runs, answer)),
    ),
  };
}
