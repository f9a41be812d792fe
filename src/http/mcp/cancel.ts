/**
 * `notifications/cancelled` of clients up to 2025-11-25, which do not leave the answer of a call that they cancel. The
 * notification is a request of its own, so it finds the call only in the isolate that carries it out, by the session that
 * Hull named in its answer to `initialize`.
 */

import type { Json } from "../../skill/manifest.ts";
import type { RequestContext } from "../context.ts";
import { callerOf } from "../execution-client.ts";
import { isId, type RequestId, type RpcRequest } from "./message.ts";

const SESSION = "mcp-session-id";

/** A header that names a new session. It tells the client's requests from all others; Hull keeps no state for it. */
export const newSession = (): Record<string, string> => ({ [SESSION]: crypto.randomUUID() });

/** The name of a client's request; `null`: the client names no session of Hull's. */
function nameOf(context: RequestContext, id: RequestId): string | null {
  const session = context.request.headers.get(SESSION);
  if (session === null || !/^[0-9a-f-]{36}$/.test(session)) return null;
  return JSON.stringify([callerOf(context), session, id]);
}

/** A call that its client may cancel. */
export interface Cancellable {
  cancelled: boolean;
  /** The call has ended. */
  over: () => void;
}

/** Lets the client cancel a call while it runs. @param end ends its work */
export function cancellable(
  context: RequestContext,
  { id, method }: RpcRequest,
  end: () => void,
): Cancellable {
  const name = method === "tools/call" ? nameOf(context, id) : null;
  if (name === null) return { cancelled: false, over: () => {} };
  const { mcpCalls } = context.deployment;
  const { promise, resolve } = Promise.withResolvers<void>();
  const call = {
    cancelled: false,
    over: () => {
      if (mcpCalls.get(name) === resolve) mcpCalls.delete(name);
    },
  };
  // The continuation runs in this request, not in the notification, which may not end what this request has begun.
  void promise.then(() => {
    call.cancelled = true;
    end();
  });
  mcpCalls.set(name, resolve);
  return call;
}

/** Ends the call that a notification names, if this isolate carries it out. */
export function cancelCall(context: RequestContext, id: Json | undefined): void {
  const name = isId(id) ? nameOf(context, id) : null;
  if (name !== null) context.deployment.mcpCalls.get(name)?.();
}
