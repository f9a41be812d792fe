/** Skills as `/v1` names them: those that the tenant stored, by id and version, and served ones, by slug. */
import { BundleInvalid, SkillNotFound } from "../errors/request.ts";
import { Internal } from "../errors.ts";
import type { SkillReference } from "../llm/container-params.ts";
import { storeUpload } from "../registry/store.ts";
import { findBundle } from "../registry/stored-skills/bundles.ts";
import { findSkill, findVersion, type StoredVersion } from "../registry/stored-skills/rows.ts";
import { ArchiveRefused } from "../skill/archive-paths.ts";
import type { SourceFile } from "../skill/bundle.ts";
import type { SkillRecord } from "../skill/manifest.ts";
import { readZip } from "../skill/zip.ts";
import type { RunContext } from "./context.ts";
import { readWhole } from "./large-body.ts";
import { checkTrust } from "./trust.ts";
import { assembled } from "./upload.ts";

/** A skill of a request, as a run takes it. */
export interface NamedSkill {
  /** As the request named it. */
  id: string;
  /** The version found: `skver_…` for a stored skill, otherwise the beginning of the digest. */
  version: string;
  /** The same version as Anthropic's skills beta writes it: Unix µs; `null` for a served skill. */
  epoch: string | null;
  /** The client's name for it, else its own name. */
  label: string;
  record: SkillRecord;
  /** The digest of the record. */
  digest: string;
}

/** A skill that Hull has. */
export interface LocalSkill extends NamedSkill {
  /** The request's own settings for it. */
  reference: Pick<SkillReference, "path" | "full">;
}

export interface ReferencedSkills {
  /** Skills in the order of the request; `native` likewise. */
  local: LocalSkill[];
  /** Anthropic's own skills. */
  native: SkillReference[];
}

const UNPACKED = { max_bytes: 128 * 1024 * 1024, max_entries: 20_000 };

/**
 * Finds a skill; `null` if the tenant has none with this id.
 * @param version any version that `/v1/skills` accepts; `null`: `otherwise`
 * @param otherwise the client's default; for OpenAI's clients, the skill's default version
 * @throws SkillNotFound for an unknown version
 */
export async function namedSkill(
  context: RunContext,
  id: string,
  version: string | null,
  otherwise: "newest" | "default" = "newest",
): Promise<NamedSkill | null> {
  const { deployment, tenant, background } = context;
  const stored = await findSkill(context, id);
  if (stored !== null) {
    const own = otherwise === "default" ? stored.default_number : null;
    const name = version ?? own?.toString() ?? "latest";
    const found = await findVersion(context, id, name);
    if (found === null) throw new SkillNotFound({ id, version: name });
    const named = { id, version: `skver_${found.id}`, epoch: String(found.epoch) };
    return { ...named, label: stored.label ?? stored.name, ...(await assembledVersion(context, found)) };
  }
  const { card } = await deployment.catalogs.find(tenant, ({ bySlug }) => bySlug.get(id), background);
  if (card === undefined) return null;
  const record = await deployment.registry.skill(card.version);
  checkTrust(context.settings, record);
  const named = { id, version: card.version.slice(0, 12), epoch: null, label: record.manifest.name };
  return { ...named, record, digest: card.version };
}

/** The record of a stored version, made from its bundle by the code that accepts uploads. */
async function assembledVersion(
  context: RunContext,
  version: StoredVersion,
): Promise<{ record: SkillRecord; digest: string }> {
  const { deployment, env, tenant } = context;
  const key = `${tenant} ${version.id}`;
  const digest = deployment.assembled.get(key);
  const known = digest === undefined ? null : await deployment.registry.keptSkill(tenant, digest);
  if (digest !== undefined && known !== null) return { record: known, digest };
  const bundle = await findBundle(context, version.digest);
  const bytes = bundle === null ? null : await readWhole(env.FILES, bundle.key);
  if (bytes === null) throw new Internal({ cause: `the bundle of ${version.id} is not there` });
  const skill = await assembled(context, await unpacked(bytes), version.name);
  await storeUpload(context, skill);
  deployment.assembled.set(key, skill.digest);
  return { record: skill.record, digest: skill.digest };
}

/** The files of a skill's zip, with their paths in the one folder that it holds. */
async function unpacked(zip: Uint8Array<ArrayBuffer>): Promise<SourceFile[]> {
  const files = await readZip(zip, UNPACKED);
  return files.map((file) => ({ ...file, path: file.path.slice(file.path.indexOf("/") + 1) }));
}

/** What `/v1/skills` refuses in a skill that does not come as an upload. */
export const UPLOAD_RULES = {
  wants_directory: false,
  checks_directory: false,
  max_files: 500,
  max_file_bytes: 25 * 1024 * 1024,
  one_skill_file: true,
};

/**
 * The skill of a zip inside the request, checked like an upload.
 * @throws BundleInvalid
 */
export async function inlineSkill(
  context: RunContext,
  name: string,
  zip: Uint8Array<ArrayBuffer>,
): Promise<NamedSkill> {
  const { settings } = context;
  const limits = { max_bytes: settings.limits.max_upload_bytes, max_entries: UNPACKED.max_entries };
  // Imported on first use, because it imports the YAML parser.
  const { readStoredSkill } = await import("../skill/stored-skill.ts");
  try {
    const sent = await readZip(zip, limits);
    const checked = await readStoredSkill(sent, { ...UPLOAD_RULES, name });
    const skill = await assembled(context, await unpacked(checked.zip), checked.name);
    await storeUpload(context, skill);
    const { record, digest } = skill;
    const named = { id: name, version: digest.slice(0, 12), epoch: null, label: record.manifest.name };
    return { ...named, record, digest };
  } catch (error) {
    if (error instanceof ArchiveRefused) throw new BundleInvalid({ reason: error.reason });
    throw error;
  }
}
