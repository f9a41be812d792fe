/** Access of requests to a session. */
import { nothing } from "../../api/bodies/sessions.ts";
import { sha256 } from "../../bytes.ts";
import { type SessionClient, type SessionKind, sessionClient } from "../../run/session-client.ts";
import type { SessionOperation, SessionOperations } from "../../session/conversation/rpc.ts";
import type { NamedRequest } from "../../session/named-request.ts";
import { readJsonIfAny } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { callName, idempotencyKey } from "../idempotency.ts";
import { jsonNow } from "../page.ts";
import type { Handler, Params } from "../routes.ts";
import { noteReplay } from "../run-headers.ts";

/** Characters of a session's metadata as JSON: lists hold it. */
export const MAX_METADATA = 16 * 1024;

/** An answer of a session, without secrets. */
export const shownNow = (
  { settings }: RequestContext,
  value: unknown,
  status = 200,
  headers: Record<string, string> = {},
): Response => jsonNow(settings.redactor.json(value), status, headers);

/** What the routes below a path call a session. */
const KINDS = new Map<string | undefined, SessionKind>([
  ["daemons", "daemon"],
  ["tasks", "task"],
  ["workflows", "workflow run"],
]);

/** A session of the caller's tenant. @throws CallNotFound if the id is malformed */
export function sessionOf(context: RequestContext, id: string): SessionClient {
  context.log.session_id = id;
  return sessionClient(context, id, KINDS.get(context.route.split("/")[1]));
}

/** A name for a request with effects: its `Idempotency-Key`, or a new name. */
export async function requestName(context: RequestContext, body: unknown): Promise<NamedRequest> {
  const key = idempotencyKey(context.request);
  if (key === null) return { name: crypto.randomUUID(), hash: "" };
  const { pathname } = new URL(context.request.url);
  const hash = await sha256(JSON.stringify([context.request.method, pathname, body]));
  return { name: await callName(context, key, pathname), hash };
}

/** A name for a request with an `Idempotency-Key`; `null` if it has none. */
export const keyedName = async (context: RequestContext, body: unknown): Promise<NamedRequest | null> =>
  idempotencyKey(context.request) === null ? null : requestName(context, body);

/**
 * Whether an earlier request with the same `Idempotency-Key` has changed the session; the answer's headers then say so.
 * @throws IdempotencyKeyReused
 */
export async function isRepeated(
  context: RequestContext,
  session: SessionClient,
  body: unknown,
): Promise<boolean> {
  const request = await keyedName(context, body);
  const repeated = request !== null && Boolean(await session.ask("known", { request }));
  if (repeated) noteReplay(context);
  return repeated;
}

/** The body of an operation without members. @throws InputInvalid if it has any */
export const noBody = (request: Request) => readJsonIfAny(request, nothing);

type Input<K extends SessionOperation> = SessionOperations[K]["in"];
type Output<K extends SessionOperation> = SessionOperations[K]["out"];

/** A handler that shows what the session of the path answers to an operation. @param as the form of its answer */
export const shows =
  <K extends SessionOperation>(
    operation: K,
    inputOf: (context: RequestContext, params: Params) => Input<K>,
    as: (answer: Output<K>) => unknown = (answer) => answer,
  ): Handler =>
  async (context, params) =>
    shownNow(context, as(await sessionOf(context, params.id ?? "").ask(operation, inputOf(context, params))));

/** A handler that changes the session of the path by an operation, once for all requests with the same key. */
export const changes =
  <K extends SessionOperation, Body>(
    operation: K,
    read: (request: Request) => Promise<Body>,
    inputOf: (body: Body, request: NamedRequest, context: RequestContext, params: Params) => Input<K>,
    status = 200,
  ): Handler =>
  async (context, params) => {
    const body = await read(context.request);
    const input = inputOf(body, await requestName(context, body), context, params);
    return shownNow(context, await sessionOf(context, params.id ?? "").ask(operation, input), status);
  };

/** The reason that a person gave; `null` for a blank one, which says nothing. */
export const reasonIn = (given: string | null | undefined): string | null =>
  given == null || given.trim() === "" ? null : given;
