/**
 * `/admin/keys`: a tenant's administrator manages the tenant's own keys, the operator those of all tenants. Another
 * tenant's key gets the same answer as a missing one.
 */
import { keyBody } from "../api/bodies/publishing.ts";
import * as keyStore from "../auth/key-store.ts";
import { Forbidden, KeyNotFound } from "../errors/request.ts";
import { readJson } from "./body.ts";
import type { RequestContext } from "./context.ts";
import { jsonNow, pageLimit } from "./page.ts";
import type { Params } from "./routes.ts";

/** `POST /admin/keys {tenant, scopes, name?}`: 201 with the key, which is never shown again. */
export async function addKey(context: RequestContext): Promise<Response> {
  const { tenant, scopes, name } = await readJson(context.request, keyBody);
  const { caller } = context;
  if (!caller.operator && tenant !== caller.tenant) throw new Forbidden({ scope: "admin", tenant });
  const made = await keyStore.addKey(context.env, { tenant, scopes, name: name ?? null }, new Date());
  return jsonNow(made, 201, { location: `/admin/keys/${made.id}` });
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
