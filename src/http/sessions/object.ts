/** How the Worker asks a session's object, also while its process dies and comes back. */
import { CallNotFound } from "../../errors/llm.ts";
import { type ErrorData, HullError } from "../../errors.ts";
import { sha256 } from "../../run/digest.ts";
import { SESSION_ID, sessionObject } from "../../session/conversation/address.ts";
import { readText, sendText } from "../../session/conversation/long-text.ts";
import type {
  NamedRequest,
  SessionAnswer,
  SessionCaller,
  SessionOperation,
  SessionOperations,
} from "../../session/conversation/rpc.ts";
import type { RequestContext } from "../context.ts";
import { callName, idempotencyKey } from "../skills/idempotency.ts";

/** Attempts after the first, and the wait before the first of them in ms, doubled each time. */
const RETRIES = 4;
const WAIT_MS = 100;

export interface SessionClient {
  readonly id: string;
  /** @throws HullError what the object answers, `not_found` for a session that is none of the caller's */
  ask<K extends SessionOperation>(
    type: K,
    input: SessionOperations[K]["in"],
  ): Promise<SessionOperations[K]["out"]>;
  /** Server-sent events after a number, `null`: those to come. @param run whose events alone, up to its end */
  events(run: string | null, after: number | null): Promise<ReadableStream<Uint8Array>>;
}

/**
 * A session of the caller's tenant. A question that fails on the way is asked again: reading harms nothing, and what changes
 * something carries a name by which it is known.
 * @throws CallNotFound for what is no session's id
 */
export function sessionOf(context: RequestContext, id: string): SessionClient {
  if (!SESSION_ID.test(id)) throw new CallNotFound({ what: "session", id });
  const { env, tenant, requestId: request_id } = context;
  context.log.session_id = id;
  const caller: SessionCaller = { tenant, id, request_id };
  const again = async <T>(question: () => Promise<T>): Promise<T> => {
    for (let wait = WAIT_MS, retries = 0; ; wait *= 2, retries += 1) {
      try {
        return await question();
      } catch (error) {
        if (error instanceof HullError || retries >= RETRIES) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  };
  return {
    id,
    async ask(type, input) {
      const question = JSON.stringify({ caller, type, input });
      const text = await again(async () => {
        // A stub is of no use after it failed.
        const object = sessionObject(env, tenant, id);
        return readText(await object.ask(sendText(question)));
      });
      const answer: SessionAnswer = JSON.parse(text);
      if (!answer.ok) throw new HullError(answer.error, answer.operator);
      return JSON.parse(JSON.stringify(answer.value));
    },
    events: (run_id, after) =>
      again(async () => {
        const events = await sessionObject(env, tenant, id).events({ caller, run_id, after });
        if (events.ok) return events.body;
        const error: ErrorData = JSON.parse(events.error);
        throw new HullError(error);
      }),
  };
}

/** What a request that changes something is known by: its `Idempotency-Key`, or a name of its own. */
export async function requestName(context: RequestContext, body: unknown): Promise<NamedRequest> {
  const key = idempotencyKey(context.request);
  if (key === null) return { name: crypto.randomUUID(), hash: "" };
  const { pathname } = new URL(context.request.url);
  const hash = await sha256(JSON.stringify([context.request.method, pathname, body]));
  return { name: await callName(context, key, pathname), hash };
}
