/** Asks a session's object, also while the object's process dies and comes back. */
import { SESSION_ID, SESSION_IDS } from "../engine/session-id.ts";
import type { Owner } from "../env.ts";
import { CallNotFound } from "../errors/llm.ts";
import { HullError } from "../errors.ts";
import type { RunView } from "../session/conversation/answers.ts";
import type {
  SessionAnswer,
  SessionCaller,
  SessionDocument,
  SessionOperation,
  SessionOperations,
  Streamed,
  StreamUntil,
} from "../session/conversation/rpc.ts";
import type { RunContext } from "./context.ts";
import { readText, sendText } from "./long-text.ts";
import { withRetries } from "./with-retries.ts";
import type { WorkspaceAccess } from "./workspace/access.ts";

/** What a request calls the session: a daemon, a task and a workflow run each have a session of their own. */
export type SessionKind = "session" | "daemon" | "task" | "workflow run";

/** The object of a session. The same session id of another tenant names another object. */
export function sessionObject({ env: { SESSIONS }, tenant }: Owner, id: string) {
  return SESSIONS.get(SESSIONS.idFromName(`${tenant}/${id}`));
}

export interface SessionClient {
  readonly id: string;
  /** @throws the HullError that the object answers, `not_found` if the tenant has no such session */
  ask<K extends SessionOperation>(
    type: K,
    input: SessionOperations[K]["in"],
  ): Promise<SessionOperations[K]["out"]>;
  /** Begins a run, and answers its server-sent events after a number too. */
  start(
    input: SessionOperations["start"]["in"],
    after: number | null,
  ): Promise<{ run: RunView; events: ReadableStream<Uint8Array> }>;
  /**
   * Server-sent events after a number; `null`: only future ones.
   * @param run the only run whose events to send
   * @param until where the stream of a run ends; absent: with the run
   */
  events(run: string | null, after: number | null, until?: StreamUntil): Promise<ReadableStream<Uint8Array>>;
  /**
   * A document, streamed while it is made. The stream breaks off if the session's process dies or the session is
   * removed.
   */
  document(what: SessionDocument): Promise<ReadableStream<Uint8Array>>;
}

/**
 * A session of the context's tenant. The client repeats a question that fails on the way: reading is harmless, and a
 * change carries a name by which the session recognises it.
 * @throws CallNotFound if the id has no valid form
 */
export function sessionClient(context: RunContext, id: string, what: SessionKind = "session"): SessionClient {
  if (!SESSION_ID.test(id)) throw new CallNotFound({ what, id, ids: SESSION_IDS });
  const { tenant, requestId, mockScope } = context;
  const caller: SessionCaller = { tenant, id, request_id: requestId, mock_scope: mockScope };
  // A stub is useless after it has failed.
  const object = () => sessionObject(context, id);
  return {
    id,
    async ask(type, input) {
      const question = JSON.stringify({ caller, type, input });
      const text = await withRetries(async () => readText(await object().ask(sendText(question))));
      return answered<SessionOperations[typeof type]["out"]>(text);
    },
    async start(input, after) {
      const question = JSON.stringify({ caller, type: "start", input });
      const { text, body } = await withRetries(async () => {
        const { answer, body } = await object().start(sendText(question), after);
        return { text: await readText(answer), body };
      });
      const run = answered<RunView>(text);
      return { run, events: body ?? (await this.events(run.run_id, after, input.followed)) };
    },
    events: (run_id, after, until = "end") =>
      streamed(() => object().events({ caller, run_id, after, until })),
    document: (what) => streamed(() => object().document(caller, what)),
  };
}

function answered<T>(text: string): T {
  const answer: SessionAnswer<T> = JSON.parse(text);
  if (!answer.ok) throw new HullError(answer.error, answer.operator);
  return answer.value;
}

/** The files of a session, for callers outside its object. */
export function clientWorkspace({ ask }: Pick<SessionClient, "ask">): WorkspaceAccess {
  return {
    listFiles: (...asked) => ask("listFiles", asked),
    findFile: (...asked) => ask("findFile", asked),
    beginFile: (...asked) => ask("beginFile", asked),
    noteUpload: (...asked) => ask("noteUpload", asked),
    storeSmall: (...asked) => ask("storeSmall", asked),
    changeFiles: (...asked) => ask("changeFiles", asked),
    workspaceVersion: (...asked) => ask("workspaceVersion", asked),
    workspaceManifest: (...asked) => ask("workspaceManifest", asked),
    contents: (...asked) => ask("contents", asked),
  };
}

function streamed(ask: () => Promise<Streamed>): Promise<ReadableStream<Uint8Array>> {
  return withRetries(async () => {
    const answer = await ask();
    if (answer.ok) return answer.body;
    throw new HullError(answer.error);
  });
}

/** For a question to a session that need no longer exist: nobody is left to ask or to inform. */
export function ignoreMissing(error: unknown): void {
  if (!CallNotFound.matches(error)) throw error;
}
