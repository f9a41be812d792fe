/** Soft ledgers: that of a session, or that of the caller's calls without a session. */
import { CallNotFound } from "../../errors/llm.ts";
import { BadRequest } from "../../errors/request.ts";
import type { RequestContext } from "../context.ts";
import { sessionOf } from "../sessions/object.ts";

/** Name of the soft ledger for a session's calls; `null`: for the caller's own calls. */
export function accountOf({ caller }: Pick<RequestContext, "caller">, session: string | null): string {
  return session === null ? `caller:${caller.key_id ?? "-"}` : `session:${session}`;
}

/** The session that a request names: `?session_id=`. @throws BadRequest */
function sessionIn({ query }: RequestContext): string | null {
  const id = query.get("session_id");
  if (id === null || /^[A-Za-z0-9._:-]{1,128}$/.test(id)) return id;
  throw new BadRequest({ detail: "The parameter session_id must be the id of a session." });
}

/**
 * Name of the soft ledger that a request names.
 * @throws CallNotFound if the tenant has no such session: a budget of it would limit nothing
 */
export async function ledgerIn(context: RequestContext): Promise<string> {
  const session = sessionIn(context);
  if (session !== null && !(await sessionOf(context, session).ask("exists", null))) {
    throw new CallNotFound({ what: "session", id: session });
  }
  return accountOf(context, session);
}
