/**
 * `/admin/keys`: a tenant's administrator manages the tenant's own keys, the operator those of all tenants. Another
 * tenant's key gets the same answer as a missing one.
 */

import * as z from "zod/mini";
import { keyBody } from "../api/bodies/publishing.ts";
import { type ApiKey, makeKey, prefixOf } from "../auth/api-key.ts";
import * as keyStore from "../auth/key-store.ts";
import { Forbidden, KeyNotFound, SecretKeyMissing } from "../errors/request.ts";
import { AnswerLost } from "../errors/run.ts";
import { readJson } from "./body.ts";
import type { RequestContext } from "./context.ts";
import { idempotencyKey, madeDigits } from "./idempotency.ts";
import { jsonAnswer } from "./json.ts";
import { keyed } from "./keyed.ts";
import { jsonNow, pageLimit } from "./page.ts";
import type { Handler, Params } from "./routes.ts";

/**
 * `POST /admin/keys {tenant, scopes, name?}`: 201 with the key, which is stored nowhere. Only a repetition with the same
 * `Idempotency-Key` shows it again: it derives the key once more.
 */
export const addKey: Handler = async (context, params) => {
  if (idempotencyKey(context.request) === null) return added(await stored(context, makeKey));
  const response = await addedOnce(context, params);
  const made = z.looseObject({ id: z.string(), prefix: z.string() }).parse(await response.json());
  const key = await keyStore.derivedKey(secretOf(context), made.id);
  // The deployment's secret has changed since the first request.
  if (prefixOf(key) !== made.prefix) throw new AnswerLost({});
  return jsonAnswer({ ...made, key }, response);
};

/** Keeps its answers, without keys. */
const addedOnce = keyed(async (context) => {
  const { key: _, ...made } = await stored(context, (id) => keyStore.derivedKey(secretOf(context), id));
  return added(made);
});

async function stored(
  context: RequestContext,
  keyFor: (id: string) => Promise<string> | string,
): Promise<ApiKey & { key: string }> {
  const { tenant, scopes, name } = await readJson(context.request, keyBody);
  const { caller } = context;
  if (!caller.operator && tenant !== caller.tenant) throw new Forbidden({ scope: "admin", tenant });
  const id = `key_${await madeDigits(context, "key")}`;
  return keyStore.addKey(context.env, { id, tenant, scopes, name: name ?? null }, keyFor, new Date());
}

const added = (made: ApiKey): Response => jsonNow(made, 201, { location: `/admin/keys/${made.id}` });

/** @throws SecretKeyMissing */
function secretOf({ deployment }: RequestContext): string {
  if (deployment.secret !== null) return deployment.secret;
  throw new SecretKeyMissing({ reason: "neither HULL_SECRET_KEY nor HULL_ADMIN_KEY is set" });
}

/** `GET /admin/keys`: a page of keys without the keys themselves; the operator may choose a `?tenant=`. */
export async function listKeys(context: RequestContext): Promise<Response> {
  const { query } = context;
  const limit = pageLimit(query);
  const { tenant, operator } = context.caller;
  const page = await keyStore.listKeys(context.env, {
    tenant: operator ? query.get("tenant") : tenant,
    limit,
    cursor: query.get("cursor"),
  });
  return jsonNow(page);
}

/** `DELETE /admin/keys/:id`: revokes a key: immediately in this isolate, and in others when the cached entry expires. */
export async function revokeKey(context: RequestContext, params: Params): Promise<Response> {
  const { id = "" } = params;
  const { tenant, operator } = context.caller;
  const hash = await keyStore.revokeKey(context.env, id, operator ? null : tenant);
  if (hash === null) throw new KeyNotFound({ id });
  context.deployment.keys.forget(hash);
  return new Response(null, { status: 204 });
}
