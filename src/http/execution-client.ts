/**
 * The Worker's access to the session of a call that outlives its connection, even if the session's process dies and
 * restarts.
 */
import { ExecutionNotFound } from "../errors/request.ts";
import { withRetries } from "../run/with-retries.ts";
import type { SessionRpc } from "../session/conversation/rpc.ts";
import type { RunTrace } from "../session/conversation/trace.ts";
import type {
  Begun,
  BegunSkill,
  ExecutionAnswer,
  ExecutionCall,
  ExecutionEvents,
  ExecutionStatus,
} from "../session/unlisted/rpc.ts";
import type { RequestContext } from "./context.ts";

/** Identifies whose executions a request may see: those begun with the same key. */
export function callerOf({ caller }: RequestContext): string {
  return `${caller.tenant}/${caller.key_id ?? "-"}`;
}

/** An execution of the caller. */
export type ExecutionClient = ReturnType<typeof executionOf>;

/**
 * The execution of an id. The client repeats a question that fails on the way: an object that died resumes its run. Every
 * method after `begun` throws ExecutionNotFound if there is no such execution.
 * @param caller the owner, if not the request's caller alone
 * @throws ExecutionNotFound if the id is malformed
 */
export function executionOf(context: RequestContext, id: string, caller = callerOf(context)) {
  if (!/^ex_[0-9a-f]{32}$/.test(id)) throw new ExecutionNotFound({ id });
  const { SESSIONS } = context.env;
  type Question<T> = (object: DurableObjectStub<SessionRpc>) => Promise<T>;
  const once = <T>(question: Question<T>): Promise<T> => question(SESSIONS.get(SESSIONS.idFromName(id)));
  // A stub is useless after it has failed.
  const ask = <T>(question: Question<T>): Promise<T> => withRetries(() => once(question));
  const found = <T>(value: T | null): T => {
    if (value === null) throw new ExecutionNotFound({ id });
    return value;
  };
  return {
    begin(call: Omit<ExecutionCall, "id" | "caller" | "request_id" | "mock_scope">): Promise<Begun> {
      const { requestId: request_id, mockScope: mock_scope, bot } = context;
      const scope = mock_scope === "" ? {} : { mock_scope };
      const whole = { ...call, id, caller, request_id, ...scope, ...(bot === null ? {} : { bot }) };
      return ask(async (object) => await object.begin(whole));
    },
    /** Returns to the execution; `null` if there is none. */
    attach: (request_hash: string): Promise<Begun | null> =>
      ask(async (object) => await object.attach({ caller, request_hash })),
    /** The skill of the run that a repeated call returns to; `null` if there is no such run. */
    begun: (): Promise<BegunSkill | null> => ask(async (object) => await object.begun(caller)),
    answer: async () => found<ExecutionAnswer>(await ask(async (object) => await object.answer(caller))),
    follow: async (after: number, early: boolean) =>
      found<ExecutionEvents>(await ask(async (object) => await object.follow(caller, after, early))),
    async trace(page: { after: number; limit: number }): Promise<RunTrace> {
      return JSON.parse(found(await ask(async (object) => await object.steps(caller, page))));
    },
    status: async () => found<ExecutionStatus>(await ask(async (object) => await object.status(caller))),
    /** The text of the call that began the execution. */
    input: async (): Promise<Uint8Array | ReadableStream<Uint8Array>> =>
      found(await ask(async (object) => await object.input(caller))),
    /**
     * Repeating this request would remove the execution that it should stop.
     * @param keeps do not remove an execution that has ended
     */
    cancel: async (keeps = false): Promise<"cancelled" | "removed" | "ended"> =>
      found(await (keeps ? ask : once)(async (object) => await object.cancel(caller, keeps))),
  };
}
