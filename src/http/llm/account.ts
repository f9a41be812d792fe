/** Soft ledgers: a session's, or that of the caller's calls without one. */
import { BadRequest } from "../../errors/request.ts";
import type { RequestContext } from "../context.ts";

/** Name of the soft ledger for a session's calls; `null`: the caller's own. */
export function accountOf({ caller }: Pick<RequestContext, "caller">, session: string | null): string {
  return session === null ? `caller:${caller.key_id ?? "-"}` : `session:${session}`;
}

/** The session that a request names: `?session_id=`. @throws BadRequest */
export function sessionIn({ request }: RequestContext): string | null {
  const id = new URL(request.url).searchParams.get("session_id");
  if (id === null || /^[A-Za-z0-9._:-]{1,128}$/.test(id)) return id;
  throw new BadRequest({ detail: "The parameter session_id must be the id of a session." });
}
