/** The operations of a session, by name (`rpc.ts`). */

import type { AgentRecordBody } from "../../engine/agent/records.ts";
import { wakeOf } from "../../engine/agent/wake.ts";
import { IdempotencyKeyReused } from "../../errors/request.ts";
import { RolloutUnderWay, toHullError } from "../../errors.ts";
import { readText, sendText } from "../../run/long-text.ts";
import type { Daemon } from "../daemon/daemon.ts";
import { daemonHandlers } from "../daemon/handlers.ts";
import { type NamedRequest, nameAndContent } from "../named-request.ts";
import type { Delegates } from "../task/delegates.ts";
import { taskHandlers } from "../task/handlers.ts";
import type { Task } from "../task/task.ts";
import { workflowHandlers } from "../workflow/handlers.ts";
import type { Workflow } from "../workflow/workflow.ts";
import type { SessionView } from "./answers.ts";
import { fitting, keepCall } from "./brought-messages.ts";
import { type Conversation, onceOnSession, onSession } from "./conversation.ts";
import { type Fork, forkInto } from "./fork.ts";
import { compaction } from "./manual-compaction.ts";
import type {
  ConversationOperations,
  Handlers,
  LongText,
  SessionAnswer,
  SessionOperation,
  SessionOperations,
  SessionQuestion,
} from "./rpc.ts";
import { prepareRun, runHandlers } from "./run-operations.ts";
import type { SessionRow } from "./store.ts";
import { listPage, tailOf } from "./visible.ts";

/** Executes operations on one session. Errors are returned as answers, too. */
export class SessionDispatcher {
  readonly #handlers: Handlers<SessionOperations>;
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
      ...conversationHandlers(conversation),
      ...runHandlers(conversation, task),
      ...daemonHandlers(conversation, daemon),
      ...taskHandlers(conversation, task, delegates),
      ...workflowHandlers(conversation, workflow),
    };
  }

  async ask(text: LongText): Promise<LongText> {
    const question: SessionQuestion = JSON.parse(await readText(text));
    return sendText(JSON.stringify(await this.outcome(question)));
  }

  /** Begins a run and streams its events to the caller. */
  async start(
    text: LongText,
    after: number | null,
  ): Promise<{ answer: LongText; body: ReadableStream<Uint8Array> | null }> {
    const question: SessionQuestion<"start"> = JSON.parse(await readText(text));
    const { caller, input } = question;
    const answer = await this.outcome(question);
    const { run_id, followed: until = "end" } = input;
    const body = answer.ok ? await this.#conversation.events({ caller, run_id, after, until }) : null;
    return { answer: sendText(JSON.stringify(answer)), body };
  }

  async outcome<K extends SessionOperation>(question: SessionQuestion<K>): Promise<SessionAnswer> {
    const { type, input, caller } = question;
    try {
      // The Worker that asks may be of a later version.
      if (!Object.hasOwn(this.#handlers, type)) throw new RolloutUnderWay({ asked: type });
      return { ok: true, value: (await this.#handlers[type](input, caller)) ?? null };
    } catch (thrown) {
      const { data: error, operator } = toHullError(thrown);
      return { ok: false, error, operator };
    }
  }
}

function conversationHandlers(conversation: Conversation): Handlers<ConversationOperations> {
  const { log, runs, files, env } = conversation;
  const { store } = log;
  const within = onSession(conversation);
  const once = onceOnSession(conversation);
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
  /** Stores records that change the conversation. They are made once it is clear that it may change. */
  const change = (records: () => readonly AgentRecordBody[]): SessionView => {
    conversation.checkActive();
    conversation.checkIdle();
    log.add(records(), { write: () => store.touch(log.now()) });
    return conversation.view();
  };
  return {
    async open(wanted, caller) {
      const created = await conversation.open(caller, wanted);
      const session = conversation.view();
      if (created) await conversation.listing.noted();
      return { created, session };
    },
    exists: (_, caller) => conversation.exists(caller),
    view: within(() => conversation.view()),
    messages: within((page) => listPage(log.state().visible, page)),
    history: within((_, row) => {
      conversation.checkActive();
      conversation.checkIdle();
      const { visible: messages, summary, refusedSearches: refused_searches = [] } = log.state();
      return { messages, summary, created_at: row.created_at, refused_searches };
    }),
    set_state: once(({ state }) => {
      conversation.setState(state);
      return conversation.view();
    }),
    resume: once(() => {
      conversation.setState("active");
      const woken = runs.wake(wakeOf("resume"));
      return { ...conversation.view(), woken };
    }),
    reset: once(() => change(() => [{ type: "session_reset" }])),
    trim: once(({ keep_last }) =>
      change(() => [{ type: "session_trimmed", keep_last: tailOf(log.state().visible, keep_last) }]),
    ),
    add: once(({ messages }) =>
      change(() => {
        const { visible } = log.state();
        return messages.map((message) => ({
          type: "message_added",
          message: fitting(visible, message),
          source: "inject",
        }));
      }),
    ),
    keep: within(async ({ request, ...call }, _, caller) => {
      await conversation.unchanging();
      const row = await conversation.ready(caller);
      return conversation.once(request, () => keepCall(conversation, row, call));
    }),
    compact: within(async ({ request, ...call }, row, caller) => {
      const before = conversation.answerTo<SessionOperations["compact"]["out"]>(request);
      if (before !== null) return before.answer;
      const run_id = `compact-${store.lastRecord()}`;
      const { options } = call;
      const asked = { prompt: null, system: null, publishes: false };
      const prepared =
        options === null
          ? null
          : await prepareRun(conversation, { ...asked, options }, run_id, { session: row, caller });
      // The session may have changed meanwhile.
      conversation.checkActive();
      return conversation.changing(request, async (removed) => {
        const compact = await compaction(log, call, { prepared, removed });
        return () => {
          const { compacted, ...warned } = compact();
          return {
            ...conversation.view(),
            compacted: compacted === null ? null : log.answered({ ...compacted }),
            ...log.answered(warned),
          };
        };
      });
    }),
    fork: within(async ({ dst, keep_first, request }, row, caller) => {
      if (conversation.answerTo(request) === null) {
        conversation.checkIdle();
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
      if ((await files.listFiles(null, 1)).length > 0)
        await forked(row, request, { dst, keep_first: "files", request_id });
      return null;
    }),
    remove: within(async (_, row) => {
      await conversation.remove(row);
      return null;
    }),
    expire: within(async ({ since }, row) => {
      if (row.updated_at < since && log.store.runs.live() === null) await conversation.remove(row);
      return null;
    }),
    listFiles: within((asked) => files.listFiles(...asked)),
    findFile: within((asked) => files.findFile(...asked)),
    beginFile: within((asked) => files.beginFile(...asked)),
    noteUpload: within((asked) => files.noteUpload(...asked)),
    storeSmall: within((asked) => files.storeSmall(...asked)),
    // Not `within`: if the session was removed, the contents stored for these changes must be removed too.
    changeFiles: (asked) => files.changeFiles(...asked),
    workspaceVersion: within((asked) => files.workspaceVersion(...asked)),
    workspaceManifest: within((asked) => files.workspaceManifest(...asked)),
    contents: within((asked) => files.contents(...asked)),
  };
}
