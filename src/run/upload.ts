/**
 * Skills that a tenant stores. Hull checks them as the build checks a folder, stores them under keys of their own, and
 * then serves them to that tenant.
 */

import { utf8 } from "../bytes.ts";
import type { Deployment } from "../deployment.ts";
import { readSkillGraph } from "../engine/workflow/skill-file.ts";
import { BundleInvalid, SlugTaken, UploadLimit } from "../errors/request.ts";
import { knownProviders } from "../model/registry/known.ts";
import type { LoadedCatalog } from "../registry/published.ts";
import { storeUpload } from "../registry/store.ts";
import { publishedHolder } from "../registry/tenant-catalog.ts";
import { removeUpload, saveUpload, uploadsNear } from "../registry/upload-changes.ts";
import { MAX_UPLOADS, type Upload } from "../registry/uploads.ts";
import type { AssembledSkill, Assembly } from "../skill/assemble.ts";
import { blocksServing } from "../skill/blocking-findings.ts";
import type { SourceFile } from "../skill/bundle.ts";
import { type HookReader, loadFault, uploadFault } from "../skill/hooks.ts";
import type { Card, Diagnostic, SkillRecord } from "../skill/manifest.ts";
import { RouteTable } from "../skill/route.ts";
import { placeText } from "../skill/tree.ts";
import { WORKSPACE_GRANT } from "../skill/workspace-settings.ts";
import { exportsOf } from "../tool/isolate/hook.ts";
import type { RunContext } from "./context.ts";
import { grantedTo } from "./variables.ts";

/** The most bytes of a card, since an isolate holds the cards of many tenants. */
const MAX_CARD_BYTES = 8192;
/** Time limit in ms for loading a hook module. */
const MAX_LOAD_MS = 1000;

interface UploadedSkill extends Pick<Assembly, "diagnostics" | "positions"> {
  saved: Upload;
  record: SkillRecord;
  /** It replaced an earlier version. */
  existed: boolean;
  /** The other skills served to the tenant. */
  catalog: LoadedCatalog;
}

/**
 * Stores a skill of the tenant, and replaces the tenant's skill of this slug, if any.
 * @param options `fresh`: the tenant must not have another one yet
 * @throws BundleInvalid SlugTaken UploadLimit
 */
export async function uploadSkill(
  context: RunContext,
  files: SourceFile[],
  slug: string,
  { fresh = false }: { fresh?: boolean } = {},
): Promise<UploadedSkill> {
  const { deployment, tenant } = context;
  const { skill, positions, diagnostics } = await assemble(context, files, slug);
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
  const catalog = await deployment.registry.catalog(context.background);
  const before = await checkAddress(context, catalog, card);
  const same = before?.digest === skill.digest;
  if (before !== null && fresh && !same)
    throw new SlugTaken({ slug, route: card.route, by: "upload", skill: slug });
  if (!same) await storeUpload(context, skill);
  const outcome = await saveUpload(context, card, { now: new Date(), fresh });
  if (outcome === "full") throw new UploadLimit({ limit: MAX_UPLOADS });
  if (outcome === "taken") throw new SlugTaken({ slug, route: card.route, by: "upload", skill: null });
  await deployment.catalogs.read(tenant);
  context.log.upload = `${slug}@${skill.digest.slice(0, 12)}`;
  return { ...outcome, record, catalog, diagnostics, positions };
}

/** Assembles a skill from the files that the tenant stored. @throws BundleInvalid */
export async function assembled(
  context: RunContext,
  files: SourceFile[],
  slug: string,
): Promise<AssembledSkill> {
  const { skill, diagnostics } = await assemble(context, files, slug, true);
  if (skill === null) throw refused(diagnostics);
  return skill;
}

/**
 * Removes a stored skill and its configuration; returns its owner, or `null` if there is no such skill.
 * @param owner `null` means any tenant
 */
export async function dropSkill(
  { env, catalogs }: Deployment,
  slug: string,
  owner: string | null,
): Promise<string | null> {
  const tenant = await removeUpload(env, slug, owner);
  if (tenant !== null) await catalogs.read(tenant);
  return tenant;
}

/** Uploads are not bundled: a module is stored as given, after a trial load. */
async function readHooks({ deployment, settings }: RunContext, source: SourceFile): ReturnType<HookReader> {
  const fault = uploadFault(source);
  if (fault !== null) return { faults: [fault] };
  const text = new TextDecoder().decode(source.bytes);
  const found = await exportsOf(deployment.isolates, text, {
    guarded: settings.local,
    timeoutMs: MAX_LOAD_MS,
  });
  return "names" in found
    ? { bytes: source.bytes, exports: found.names }
    : { faults: [loadFault(settings.redactor.text(found.fault))] };
}

/** @param stored true: the skill gets no address */
async function assemble(
  context: RunContext,
  files: SourceFile[],
  slug: string,
  stored = false,
): Promise<Assembly> {
  const { settings, deployment, tenant } = context;
  const granted = grantedTo(settings, tenant, slug);
  const modelRegistry = await deployment.models.registry();
  const providers = knownProviders(modelRegistry, settings.providerKeys);
  // Imported on first use, because it imports the YAML parser.
  const { assembleSkill } = await import("../skill/assemble.ts");
  return assembleSkill(files, {
    folder: slug,
    file: "SKILL.md",
    providers,
    hooks: (source) => readHooks(context, source),
    workflows: readSkillGraph,
    uploadedBy: tenant,
    ...(stored ? { stored } : {}),
    signatures: settings.signatures,
    provided: {
      mcp_servers: Object.keys(settings.mcp.servers),
      workspace_tools: granted.has(WORKSPACE_GRANT) && settings.workspace_tools.enabled !== "never",
      sub_agents: false,
    },
  });
}

function refused(diagnostics: readonly Diagnostic[]): Error {
  const errors = diagnostics.filter(blocksServing);
  const [first] = errors;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  const place = first === undefined ? "" : placeText(first.file, first);
  const reason = `${place}: ${first?.message.replace(/\.$/, "")}${more}`;
  return new BundleInvalid({ reason, diagnostics });
}

/** The tenant's own existing version, or `null`. @throws SlugTaken */
async function checkAddress(
  { env, tenant }: RunContext,
  catalog: LoadedCatalog,
  card: Card,
): Promise<Upload | null> {
  const { slug, route } = card;
  const folder = publishedHolder(catalog, card);
  if (folder !== null) throw new SlugTaken({ slug, route, by: "folder", skill: folder.slug });
  const near = await uploadsNear(env, card);
  const own = near.find((upload) => upload.slug === slug && upload.owner === tenant) ?? null;
  const table = new RouteTable();
  for (const upload of near) {
    if (upload !== own) table.claim({ folder: upload.slug, slug: upload.slug, route: upload.route });
  }
  const conflict = table.conflict({ folder: slug, slug, route });
  if (conflict === null) return own;
  const holder = near.find((upload) => upload.slug === conflict.holder.slug);
  const skill = holder?.owner === tenant ? holder.slug : null;
  throw new SlugTaken({ slug, route, by: "upload", skill });
}
