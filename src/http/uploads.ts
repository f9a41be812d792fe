/**
 * `/_hull/skills` (serving.md §1, §5.1): skills that a tenant uploads, served to that tenant without a publish. The
 * archive is checked as the build checks a folder, and stored under the keys of published skills.
 */
import {
  BundleInvalid,
  SkillNotFound,
  SlugTaken,
  UnsupportedMediaType,
  UploadLimit,
} from "../errors/request.ts";
import { knownProviders } from "../model/catalogue/known.ts";
import { catalogueOf, loadCatalogue } from "../model/catalogue/load.ts";
import { currentCatalog, type LoadedCatalog } from "../registry/published.ts";
import { storeSkill } from "../registry/store.ts";
import { publishedHolder, readUploads } from "../registry/tenant-catalog.ts";
import {
  listUploads,
  MAX_UPLOADS,
  removeUpload,
  saveUpload,
  type Upload,
  uploadsNear,
} from "../registry/uploads.ts";
import { grantedTo } from "../run/variables.ts";
import type { Assembly } from "../skill/assemble.ts";
import { type SourceFile, utf8 } from "../skill/bundle.ts";
import { type HookReader, loadFault, uploadFault } from "../skill/hooks.ts";
import type { Card, Diagnostic } from "../skill/manifest.ts";
import { RouteTable } from "../skill/route.ts";
import { stopsSkill } from "../skill/stops.ts";
import { readTar, TarError } from "../skill/tar.ts";
import { FolderError, skillFiles, warnNotGranted } from "../skill/uploaded.ts";
import { readZip, ZipError } from "../skill/zip.ts";
import { exportsOf } from "../tool/isolate/hook.ts";
import { readBody } from "./body.ts";
import type { RequestContext } from "./context.ts";
import { reconcileDaemons } from "./daemons/declared.ts";
import { pageLimit } from "./page.ts";
import { mediaType } from "./skills/media-type.ts";

/** Largest archive, and most bytes in it unpacked: with its copies it has to fit into an isolate. */
const MAX_BYTES = 30 * 1024 * 1024;
const MAX_FILES = 10_000;
/** An isolate holds the cards of many tenants. */
const MAX_CARD_BYTES = 8192;
/** For what a hook module does when it is loaded. */
const MAX_LOAD_MS = 1000;
const ZIP_TYPES = ["application/zip", "application/x-zip-compressed"];
const TAR_TYPES = ["application/x-tar"];
/** What says nothing of the content; `curl -T` sends none. */
const UNTYPED = ["", "application/octet-stream"];

/** `PUT /_hull/skills/:slug`: 201 for a new skill, 200 for one of the tenant's that is replaced. */
export async function putSkill(context: RequestContext, params: Record<string, string>): Promise<Response> {
  const { env, caller, settings } = context;
  const { slug = "" } = params;
  const type = mediaType(context.request.headers.get("content-type"));
  const accepted = [...ZIP_TYPES, ...TAR_TYPES];
  if (![...accepted, ...UNTYPED].includes(type)) throw new UnsupportedMediaType({ type, accepted });
  const assembly = await assemble(context, await readArchive(context, type), slug);
  const { skill, positions, diagnostics } = assembly;
  if (skill === null) throw refused(diagnostics);
  const { card, record } = skill;
  if (card.slug !== slug) {
    throw new BundleInvalid({
      reason: `its name "${card.name}" makes the slug "${card.slug}", not "${slug}"`,
    });
  }
  const cardBytes = utf8(JSON.stringify(card)).length;
  if (cardBytes > MAX_CARD_BYTES) {
    const what = "name, description, media types and names of tools";
    throw new BundleInvalid({
      reason: `its card (${what}) has ${cardBytes} bytes; at most ${MAX_CARD_BYTES}`,
    });
  }
  const catalog = await currentCatalog(env, context.background);
  const before = await checkAddress(context, catalog, card);
  if (before?.digest !== skill.digest) await storeSkill(env, skill);
  const saved = await saveUpload(env, caller.tenant, card, new Date());
  if (saved === "full") throw new UploadLimit({ limit: MAX_UPLOADS });
  if (saved === "taken") throw new SlugTaken({ slug, route: card.route, by: "upload", skill: null });
  await readUploads(env, caller.tenant);
  if (card.daemon === true || before?.card.daemon === true) redeclare(context, caller.tenant);
  context.log.upload = `${slug}@${skill.digest.slice(0, 12)}`;
  const granted = grantedTo(settings, caller.tenant, slug);
  const place = { folder: slug, file: "SKILL.md", positions };
  const warnings = [...diagnostics, ...warnNotGranted(record, granted, place)];
  return Response.json(
    { ...shown(saved, catalog), warnings },
    { status: before === null ? 201 : 200, headers: { location: `/skills/${slug}` } },
  );
}

/** `DELETE /_hull/skills/:slug`: by its owner, or by the operator. Runs under way finish. */
export async function deleteSkill(
  context: RequestContext,
  params: Record<string, string>,
): Promise<Response> {
  const { slug = "" } = params;
  const { tenant, operator } = context.caller;
  const owner = await removeUpload(context.env, slug, operator ? null : tenant);
  if (owner === null) throw new SkillNotFound({ slug, near: [] });
  await readUploads(context.env, owner);
  redeclare(context, owner);
  return new Response(null, { status: 204 });
}

/** Starts and stops the daemons that a tenant's skills declare. */
function redeclare({ env, background }: RequestContext, tenant: string): void {
  background(reconcileDaemons(env, tenant, background));
}

/** `GET /_hull/skills`: the tenant's uploads, also those that are not served now; the operator may choose a `?tenant=`. */
export async function getUploads(context: RequestContext): Promise<Response> {
  const query = new URL(context.request.url).searchParams;
  const limit = pageLimit(query);
  const { tenant, operator } = context.caller;
  const owner = (operator ? query.get("tenant") : null) ?? tenant;
  const uploads = await listUploads(context.env, {
    owner,
    after: query.get("cursor") ?? "",
    limit: limit + 1,
  });
  const catalog = await currentCatalog(context.env, context.background);
  const page = uploads.slice(0, limit);
  const next = uploads.length > limit ? (page.at(-1)?.slug ?? null) : null;
  const data = page.map((upload) => shown(upload, catalog));
  return Response.json({ data, next_cursor: next }, { headers: { "cache-control": "no-store" } });
}

function shown(
  { slug, owner, digest, card, created_at, updated_at }: Upload,
  catalog: LoadedCatalog,
): object {
  const holder = publishedHolder(catalog, card);
  const shadow = holder === null ? null : { slug: holder.slug, route: holder.route };
  return { slug, tenant: owner, digest, created_at, updated_at, shadowed_by: shadow, card };
}

/** The files of the skill. @throws BundleInvalid */
async function readArchive({ request, settings }: RequestContext, type: string): Promise<SourceFile[]> {
  const body = await readBody(request, Math.min(MAX_BYTES, settings.max_body_bytes));
  const isZip = ZIP_TYPES.includes(type) || (UNTYPED.includes(type) && body[0] === 0x50 && body[1] === 0x4b);
  try {
    const files = isZip
      ? await readZip(body, { max_bytes: MAX_BYTES, max_entries: MAX_FILES })
      : readTar(body, { max_bytes: MAX_BYTES, max_files: MAX_FILES });
    return skillFiles(files);
  } catch (error) {
    if (error instanceof TarError) {
      throw new BundleInvalid({ reason: `as a tar: ${error.reason}; send a zip, or use hull upload` });
    }
    if (error instanceof ZipError || error instanceof FolderError)
      throw new BundleInvalid({ reason: error.reason });
    throw error;
  }
}

/** Uploads are not bundled: a module is taken as it is, once it was loaded. */
async function readHooks({ env, settings }: RequestContext, source: SourceFile): ReturnType<HookReader> {
  const fault = uploadFault(source);
  if (fault !== null) return { faults: [fault] };
  const text = new TextDecoder().decode(source.bytes);
  const found = await exportsOf(env.LOADER, text, { guarded: settings.local, timeoutMs: MAX_LOAD_MS });
  return "names" in found
    ? { bytes: source.bytes, exports: found.names }
    : { faults: [loadFault(settings.redactor.text(found.fault))] };
}

async function assemble(context: RequestContext, files: SourceFile[], slug: string): Promise<Assembly> {
  const { settings, env, caller } = context;
  const catalogue = catalogueOf(settings) ?? (await loadCatalogue(settings, env));
  const providers = knownProviders(catalogue, settings.providerKeys);
  // Evaluated when first needed: it brings the YAML parser along.
  const { assembleSkill } = await import("../skill/assemble.ts");
  return assembleSkill(files, {
    folder: slug,
    file: "SKILL.md",
    providers,
    hooks: (source) => readHooks(context, source),
    uploadedBy: caller.tenant,
  });
}

function refused(diagnostics: readonly Diagnostic[]): Error {
  const errors = diagnostics.filter(stopsSkill);
  const [first] = errors;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  const reason = `${first?.file}:${first?.line ?? 1}: ${first?.message.replace(/\.$/, "")}${more}`;
  return new BundleInvalid({ reason, diagnostics });
}

/** The tenant's own version that is there already, or `null`. @throws SlugTaken */
async function checkAddress(
  { env, caller }: RequestContext,
  catalog: LoadedCatalog,
  card: Card,
): Promise<Upload | null> {
  const { slug, route } = card;
  const folder = publishedHolder(catalog, card);
  if (folder !== null) throw new SlugTaken({ slug, route, by: "folder", skill: folder.slug });
  const near = await uploadsNear(env, card);
  const own = near.find((upload) => upload.slug === slug && upload.owner === caller.tenant) ?? null;
  const table = new RouteTable();
  for (const upload of near) {
    if (upload !== own) table.claim({ folder: upload.slug, slug: upload.slug, route: upload.card.route });
  }
  const conflict = table.conflict({ folder: slug, slug, route });
  if (conflict === null) return own;
  const holder = near.find((upload) => upload.slug === conflict.holder.slug);
  const skill = holder?.owner === caller.tenant ? holder.slug : null;
  throw new SlugTaken({ slug, route, by: "upload", skill });
}
