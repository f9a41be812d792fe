/** Receives a build: objects first, each verified against its digest, the catalog pointer last. */

import { catalogBody } from "../api/bodies/publishing.ts";
import { DEFAULT_TENANT } from "../auth/api-key.ts";
import { toHex } from "../bytes.ts";
import { BundleInvalid, CatalogUnreadable, Forbidden, InputInvalid } from "../errors/request.ts";
import { readPointer, servedId } from "../registry/published.ts";
import { movePointer, objectKeys, storeObject } from "../registry/store.ts";
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

/**
 * `POST /_hull/catalog`: `{id}` serves the stored catalog with this id; `{rollback: true}` the one that was served
 * before. Running calls finish with the version with which they began.
 */
export async function publishCatalog(context: RequestContext): Promise<Response> {
  checkPublisher(context);
  const { id: wanted, rollback } = await readJson(context.request, catalogBody);
  if ((wanted === undefined) === (rollback === undefined)) {
    throw new InputInvalid({ reason: 'The body is either {"id": "<sha256>"} or {"rollback": true}.' });
  }
  const { env, settings } = context;
  const pinned = settings.pinnedCatalog;
  const stored = await readPointer(env).catch((error: unknown) => {
    // A publish replaces the pointer of a later version of Hull.
    if (wanted !== undefined && CatalogUnreadable.matches(error)) return null;
    throw error;
  });
  const previous = servedId(stored, pinned);
  // The pointer belongs to another deployment, so it does not say what this one served before.
  const before = stored !== null && stored.id === previous ? stored : null;
  const id = wanted ?? before?.previous;
  if (id === undefined || id === null)
    throw new BundleInvalid({ reason: "there is no earlier catalog to go back to" });
  const moved = before?.id !== id;
  const pointer = moved ? await movePointer(env, id, { stored, previous, pinned, now: new Date() }) : before;
  context.deployment.registry.pointerMoved(id);
  // Also if nothing moved: the process that moved the pointer may have died before it came to the daemons.
  const { deployment, background } = context;
  background(reconcileDaemons(deployment, DEFAULT_TENANT, background, { published: true }));
  return jsonAnswer(shown(pointer), { status: moved ? 201 : 200 });
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

function shown({ earlier: _, ...pointer }: CatalogPointer): Omit<CatalogPointer, "earlier"> {
  return pointer;
}
