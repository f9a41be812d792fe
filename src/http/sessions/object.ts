/** Access of requests to a session. */
import { nothing } from "../../api/bodies/sessions.ts";
import { sha256 } from "../../bytes.ts";
import { type SessionClient, type SessionKind, sessionClient } from "../../run/session-client.ts";
import type { NamedRequest } from "../../session/named-request.ts";
import { readJsonIfAny } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { callName, idempotencyKey } from "../skills/idempotency.ts";

/** Removes secrets from an answer. */
export function shown({ settings }: RequestContext, value: unknown): unknown {
  return settings.redactor.json(value);
}

/** A session of the caller's tenant. @throws CallNotFound if the id is malformed */
export function sessionOf(context: RequestContext, id: string, what: SessionKind = "session"): SessionClient {
  context.log.session_id = id;
  return sessionClient(context, id, what);
}

/** A name for a request with effects: its `Idempotency-Key`, or a new name. */
export async function requestName(context: RequestContext, body: unknown): Promise<NamedRequest> {
  const key = idempotencyKey(context.request);
  if (key === null) return { name: crypto.randomUUID(), hash: "" };
  const { pathname } = new URL(context.request.url);
  const hash = await sha256(JSON.stringify([context.request.method, pathname, body]));
  return { name: await callName(context, key, pathname), hash };
}

/** The same for a request whose body has no members. @throws InputInvalid if it has any */
export async function plainRequestName(context: RequestContext): Promise<NamedRequest> {
  return requestName(context, await readJsonIfAny(context.request, nothing));
}

/** The reason that a person gave; `null` for a blank one, which says nothing. */
export const reasonIn = (given: string | null | undefined): string | null =>
  given == null || given.trim() === "" ? null : given;
