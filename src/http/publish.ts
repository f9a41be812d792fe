/** Receives a build: objects first, each verified against its digest, the catalog pointer last. */

import type * as z from "zod/mini";
import { catalogBody } from "../api/bodies/publishing.ts";
import { DEFAULT_TENANT } from "../auth/api-key.ts";
import { toHex } from "../bytes.ts";
import { BundleInvalid, CatalogMoved, Forbidden, InputInvalid } from "../errors/request.ts";
import type { ServedCatalog } from "../registry/answers.ts";
import { copyPointer, movePointer, storedPointer } from "../registry/pointer.ts";
import { pointerOf, servedId } from "../registry/published.ts";
import { checkStored, objectKeys, storeObject } from "../registry/store.ts";
import { unknownSkill } from "../registry/tenant-catalog.ts";
import type { CatalogPointer } from "../skill/manifest.ts";
import { TarError, TarReader } from "../skill/tar.ts";
import { bodyChunks, readJson } from "./body.ts";
import type { RequestContext } from "./context.ts";
import { reconcileDaemons } from "./daemons/declared.ts";
import { jsonAnswer } from "./json.ts";
import type { Handler, Params } from "./routes.ts";

/** Largest upload: a tar of objects. The platform's own limit for a request body is 100 MB. */
const MAX_UPLOAD_BYTES = 96 * 1024 * 1024;

/**
 * Refuses other tenants. Published skills are trusted and served to all tenants, so only the operator's tenant may
 * publish; a skill of any other tenant is an upload, with the rules of uploads.
 * @throws Forbidden
 */
function checkPublisher({ caller }: RequestContext): void {
  if (caller.tenant !== DEFAULT_TENANT) throw new Forbidden({ scope: "publish", tenant: DEFAULT_TENANT });
}

/** `GET /_hull/bundles`: the keys of the stored objects, so that a publisher sends only the missing ones. */
export async function listObjects(context: RequestContext): Promise<Response> {
  checkPublisher(context);
  const cursor = context.query.get("cursor");
  return jsonAnswer(await objectKeys(context.env, cursor));
}

/**
 * `PUT /_hull/bundles/:digest`: a tar whose entries are named `<kind>/<sha256>`. Its own SHA-256 is in the path, each
 * entry's in its name; both are verified.
 */
export async function putObjects(context: RequestContext, params: Params): Promise<Response> {
  checkPublisher(context);
  const { env, request } = context;
  const whole = new crypto.DigestStream("SHA-256");
  const digester = whole.getWriter();
  const reader = new TarReader({ max_bytes: MAX_UPLOAD_BYTES, max_files: 20_000 });
  const stored: string[] = [];
  try {
    for await (const chunk of bodyChunks(request, MAX_UPLOAD_BYTES)) {
      await digester.write(chunk);
      const files = reader.push(chunk);
      stored.push(...(await Promise.all(files.map((file) => storeObject(env, file.path, file.bytes)))));
    }
    reader.end();
  } catch (error) {
    await digester.abort();
    whole.digest.catch(() => {});
    if (error instanceof TarError) throw new BundleInvalid({ reason: error.reason });
    throw error;
  }
  await digester.close();
  const digest = toHex(new Uint8Array(await whole.digest));
  if (digest !== params.digest) throw new BundleInvalid({ reason: `its SHA-256 is ${digest}` });
  return jsonAnswer({ digest, stored }, { status: 201 });
}

/** `GET /_hull/catalog`: the catalog that this deployment serves. */
export async function getServedCatalog(context: RequestContext): Promise<Response> {
  checkPublisher(context);
  const { served, before } = servedBy(context, (await storedPointer(context.env, false)).pointer);
  const answer: ServedCatalog = {
    id: served,
    previous: before?.previous ?? null,
    published_at: before?.published_at ?? null,
    published_by: before?.published_by ?? null,
  };
  return jsonAnswer(answer);
}

/**
 * `POST /_hull/catalog`: `{id}` serves the stored catalog with this id; `{rollback: true}` the one that was served
 * before. With `base`, only if that one is still served. Running calls finish with the version with which they began.
 */
export async function publishCatalog(context: RequestContext): Promise<Response> {
  checkPublisher(context);
  const body = await readJson(context.request, catalogBody);
  if ((body.id === undefined) === (body.rollback === undefined)) {
    throw new InputInvalid({
      reason: 'The body has either "id", the SHA-256 of a catalog, or "rollback": true.',
    });
  }
  const served = serve(context, body);
  // A client that leaves must not stop this between the row and its copy.
  context.background(served.catch(() => {}));
  return served;
}

async function serve(context: RequestContext, asked: z.infer<typeof catalogBody>): Promise<Response> {
  const { env, settings, deployment, background } = context;
  const { pointer, moved } = await move(context, asked);
  // Also if nothing moved: the process that moved the pointer may have died before it copied it or came to the daemons.
  const last = servedId(pointerOf(JSON.parse(await copyPointer(env))), settings.pinnedCatalog);
  if (last !== null) deployment.registry.pointerMoved(last);
  background(reconcileDaemons(deployment, DEFAULT_TENANT, background, { published: true }));
  const { earlier: _, ...shown } = pointer;
  return jsonAnswer(shown, { status: moved ? 201 : 200 });
}

/** Moves the pointer, unless it is there already. @throws BundleInvalid CatalogMoved */
async function move(
  context: RequestContext,
  { id: wanted, base: given }: z.infer<typeof catalogBody>,
): Promise<{ pointer: CatalogPointer; moved: boolean }> {
  const { env, caller } = context;
  const pinned = context.settings.pinnedCatalog;
  let base = given;
  for (;;) {
    const stored = await storedPointer(env, wanted !== undefined);
    const { served, before } = servedBy(context, stored.pointer);
    const id = wanted ?? before?.previous ?? null;
    if (before !== null && before.id === id) return { pointer: before, moved: false };
    // A rollback means the catalog that is served when it begins.
    if (base === undefined && wanted === undefined) base = served;
    if (base !== undefined && base !== served) throw new CatalogMoved({ ...before, catalog: served });
    if (id === null) throw new BundleInvalid({ reason: "there is no earlier catalog to go back to" });
    await checkStored(env, id);
    const change = { id, previous: served, pinned, by: caller.key_id, now: new Date() };
    const pointer = await movePointer(env, stored, change);
    if (pointer !== null) return { pointer, moved: true };
  }
}

/**
 * The catalog that this deployment serves. `before`: the pointer, if it says what was served earlier; it does not if it
 * belongs to another deployment.
 */
function servedBy(
  { settings }: RequestContext,
  pointer: CatalogPointer | null,
): { served: string | null; before: CatalogPointer | null } {
  const served = servedId(pointer, settings.pinnedCatalog);
  return { served, before: pointer !== null && pointer.id === served ? pointer : null };
}

/** `GET /_hull/catalog/:slug`: the served version of a published skill, for a publisher whose folder of it is broken. */
export const getPublishedSkill: Handler = async (context, { slug = "" }) => {
  checkPublisher(context);
  const { registry } = context.deployment;
  const catalog = await registry.catalog(context.background);
  const digest = catalog.bySlug.get(slug)?.version;
  if (digest === undefined) throw unknownSkill(catalog, slug);
  return jsonAnswer({ digest, record: await registry.skill(digest) });
};
