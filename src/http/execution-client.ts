/**
 * The Worker's access to the session of a call that outlives its connection, even if the session's process dies and
 * restarts.
 */
import { ExecutionNotFound } from "../errors/request.ts";
import { HullError } from "../errors.ts";
import { digested } from "../run/digest.ts";
import { keepTemporary } from "../run/files.ts";
import type { RunInput } from "../run/handle.ts";
import { type BodyStorage, type Content, HeldBodies } from "../run/large-body.ts";
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

/** The error that ended a run. */
export function storedError({ error, operator }: Extract<ExecutionAnswer, { ok: false }>): HullError {
  return new HullError(error, operator);
}

interface TakenInput {
  text: Content | null;
  files: { filename: string | null; mime: string; content: Content }[];
  /** SHA-256 (hex) of each content, beginning with the text. */
  hashes: string[];
}

/**
 * Reads an input to its end. The run that the caller begins with it takes over what is stored in R2. If none begins, the
 * tenant's file index removes it a day later.
 * @param folder in R2, for large parts
 */
export async function takeInput(
  context: RequestContext,
  id: string,
  input: RunInput,
  folder: "executions" | "responses" = "executions",
): Promise<TakenInput> {
  const storage: BodyStorage = {
    bucket: context.env.FILES,
    key: () => `${folder}/${id}/input-${crypto.randomUUID()}`,
    note: (key, uploadId) => keepTemporary(context, key, uploadId),
  };
  const bodies = new HeldBodies(storage);
  const hashes: string[] = [];
  for (const body of [
    ...(input.text === null ? [] : [input.text]),
    ...input.files.map((file) => file.body),
  ]) {
    const { body: passed, sha256 } = digested(body instanceof Uint8Array ? [body] : body);
    await bodies.add(passed);
    hashes.push(await sha256);
  }
  const contents = [...bodies.contents];
  const text = input.text === null ? null : (contents.shift() ?? null);
  const files = input.files.map(({ filename, mime }, index) => {
    return { filename, mime, content: contents[index] ?? new Uint8Array(0) };
  });
  return { text, files, hashes };
}
