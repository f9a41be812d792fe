/**
 * `/_hull/skills`: skills that a tenant uploads, served to that tenant without a publish. The archive is checked as the
 * build checks a folder, and its parts are stored under keys of their own.
 */

import type { ShownUpload } from "../api/answers/skills.ts";
import { namedSkillBody } from "../api/bodies/publishing.ts";
import { BundleInvalid, SkillNotFound, UnsupportedMediaType } from "../errors/request.ts";
import type { LoadedCatalog } from "../registry/published.ts";
import { findBundle } from "../registry/stored-skills/bundles.ts";
import { findSkill, findVersion } from "../registry/stored-skills/rows.ts";
import { publishedHolder } from "../registry/tenant-catalog.ts";
import { type Upload, uploadedVersions, listUploads as uploadsAfter } from "../registry/uploads.ts";
import { readWhole } from "../run/large-body.ts";
import { dropSkill, uploadSkill } from "../run/upload.ts";
import { grantedTo } from "../run/variables.ts";
import { ArchiveRefused } from "../skill/archive-paths.ts";
import type { SourceFile } from "../skill/bundle.ts";
import { Findings } from "../skill/findings.ts";
import { readTar, TarError } from "../skill/tar.ts";
import { skillFiles, warnNotGranted } from "../skill/uploaded.ts";
import { readZip } from "../skill/zip.ts";
import { readBody, readJson } from "./body.ts";
import type { RequestContext } from "./context.ts";
import { reconcileDaemons } from "./daemons/declared.ts";
import { jsonAnswer } from "./json.ts";
import { typeOf } from "./media-type.ts";
import { jsonNow, pageLimit } from "./page.ts";
import type { Params } from "./routes.ts";

/** The largest archive, and the most unpacked bytes: with its copies it must fit into an isolate. */
const MAX_BYTES = 30 * 1024 * 1024;
const MAX_FILES = 10_000;
const ZIP_TYPES = ["application/zip", "application/x-zip-compressed"];
const TAR_TYPES = ["application/x-tar"];
/** Types that do not describe the content: `curl -T` sends none, `curl --data-binary` that of a form. */
const UNTYPED = ["", "application/octet-stream", "application/x-www-form-urlencoded"];

/** `PUT /_hull/skills/:slug`: 201 for a new skill, 200 for a replaced one of the tenant. */
export async function putSkill(context: RequestContext, params: Params): Promise<Response> {
  const { caller, settings } = context;
  const { slug = "" } = params;
  const type = typeOf(context.request);
  const accepted = [...ZIP_TYPES, ...TAR_TYPES, "application/json"];
  if (![...accepted, ...UNTYPED].includes(type)) throw new UnsupportedMediaType({ type, accepted });
  const files =
    type === "application/json" ? await readNamed(context, slug) : await readArchive(context, type);
  const { saved, record, existed, catalog, diagnostics, positions } = await uploadSkill(context, files, slug);
  if (existed || record.manifest.daemon !== undefined) redeclare(context, caller.tenant);
  const granted = grantedTo(settings, caller.tenant, slug);
  const findings = new Findings(slug, "SKILL.md", positions);
  findings.list.push(...diagnostics);
  warnNotGranted(findings, slug, record, granted);
  return jsonAnswer(
    { ...shown(saved, catalog), warnings: findings.list },
    { status: existed ? 200 : 201, headers: { location: `/skills/${slug}` } },
  );
}

/** `DELETE /_hull/skills/:slug`: by its owner or the operator. Runs that are under way finish. */
export async function deleteSkill(context: RequestContext, params: Params): Promise<Response> {
  const { slug = "" } = params;
  const { tenant, operator } = context.caller;
  const owner = await dropSkill(context.deployment, slug, operator ? null : tenant);
  if (owner === null) throw new SkillNotFound({ upload: slug });
  redeclare(context, owner);
  return new Response(null, { status: 204 });
}

/** Starts and stops the daemons that a tenant's skills declare. */
function redeclare({ deployment, background }: RequestContext, tenant: string): void {
  background(reconcileDaemons(deployment, tenant, background));
}

/**
 * `GET /_hull/skills`: the tenant's uploads, including those that are not served now; the operator may choose a
 * `?tenant=`.
 */
export async function listUploads(context: RequestContext): Promise<Response> {
  const { env, query } = context;
  const limit = pageLimit(query);
  const { tenant, operator } = context.caller;
  const owner = { env, tenant: (operator ? query.get("tenant") : null) ?? tenant };
  const cursor = query.get("cursor");
  const uploads = await uploadsAfter(owner, { after: cursor === null ? null : [cursor], limit });
  const catalog = await context.deployment.registry.catalog(context.background);
  const data = uploads.data.map((upload) => shown(upload, catalog));
  return jsonNow({ data, next_cursor: uploads.has_more ? (data.at(-1)?.slug ?? null) : null });
}

function shown(upload: Upload, catalog: LoadedCatalog): ShownUpload {
  const { slug, owner, digest, card, created_at, updated_at } = upload;
  const holder = publishedHolder(catalog, upload);
  const shadow = holder === null ? null : { slug: holder.slug, route: holder.route };
  return { slug, tenant: owner, digest, created_at, updated_at, shadowed_by: shadow, card };
}

async function readNamed(context: RequestContext, slug: string): Promise<SourceFile[]> {
  const named = await readJson(context.request, namedSkillBody);
  return "digest" in named
    ? readEarlier(context, slug, named.digest)
    : readStored(context, named.skill_id, String(named.version ?? "latest"));
}

/** The files of a version that the tenant uploaded under this slug. @throws SkillNotFound */
async function readEarlier(
  { env, tenant, deployment: { registry } }: RequestContext,
  slug: string,
  digest: string,
): Promise<SourceFile[]> {
  const gone = (): Error => new SkillNotFound({ id: slug, version: digest });
  const versions = await uploadedVersions(env, slug);
  if (!versions.some((version) => version.digest === digest)) throw gone();
  const record = await registry.skill(digest);
  if (record.uploaded_by !== tenant) throw gone();
  return Promise.all(
    record.files.map(async (file) => {
      const bytes = await registry.file(record, file);
      if (bytes === null) throw gone();
      return { path: file.path, mode: file.mode, bytes: new Uint8Array(bytes) };
    }),
  );
}

/** The files of a version that the tenant stored through `/v1/skills`. @throws SkillNotFound */
async function readStored(context: RequestContext, id: string, named: string): Promise<SourceFile[]> {
  const gone = (): Error => new SkillNotFound({ id, version: named });
  if ((await findSkill(context, id)) === null) throw new SkillNotFound({ id });
  const version = await findVersion(context, id, named);
  if (version === null) throw gone();
  const bundle = await findBundle(context, version.digest);
  const bytes = bundle === null ? null : await readWhole(context.env.FILES, bundle.key);
  if (bundle === null || bytes === null) throw gone();
  return skillFiles(await readZip(bytes, { max_bytes: bundle.size, max_entries: MAX_FILES }));
}

/** The files of the skill. @throws BundleInvalid */
async function readArchive({ request, settings }: RequestContext, type: string): Promise<SourceFile[]> {
  const body = await readBody(request, Math.min(MAX_BYTES, settings.max_body_bytes));
  if (body[0] === 0x1f && body[1] === 0x8b)
    throw new BundleInvalid({
      reason: "gzip compressed it; send the tar as it is, a zip, or use hull upload",
    });
  const isZip = ZIP_TYPES.includes(type) || (UNTYPED.includes(type) && body[0] === 0x50 && body[1] === 0x4b);
  try {
    const files = isZip
      ? await readZip(body, { max_bytes: MAX_BYTES, max_entries: MAX_FILES })
      : readTar(body, { max_bytes: MAX_BYTES, max_files: MAX_FILES, of_programs: true });
    return skillFiles(files);
  } catch (error) {
    if (error instanceof TarError) {
      throw new BundleInvalid({ reason: `as a tar: ${error.reason}; send a zip, or use hull upload` });
    }
    if (error instanceof ArchiveRefused) throw new BundleInvalid({ reason: error.reason });
    throw error;
  }
}
