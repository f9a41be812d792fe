/** Skills as `/v1` names them: those that the tenant stored, by id and version, and those that are served, by slug. */
import { SkillNotFound } from "../errors/request.ts";
import { Internal } from "../errors.ts";
import { storeSkill } from "../registry/store.ts";
import { findBundle } from "../registry/stored-skills/bundles.ts";
import { findSkill, findVersion, type StoredVersion } from "../registry/stored-skills/rows.ts";
import type { SkillRecord } from "../skill/manifest.ts";
import { readZip } from "../skill/zip.ts";
import type { RunContext } from "./context.ts";
import { checkTrust } from "./trust.ts";
import { assembled } from "./upload.ts";

/** A skill of a request, as a run takes it. */
export interface NamedSkill {
  /** As the request named it. */
  id: string;
  /** The version that was found: `skver_…` of a stored skill, else the digest's beginning. */
  version: string;
  /** The same as Anthropic's beta of skills names it: Unix µs; `null` for a served skill. */
  epoch: string | null;
  /** What the client called it, else its name. */
  label: string;
  record: SkillRecord;
  /** Of the record. */
  digest: string;
}

const UNPACKED = { max_bytes: 128 * 1024 * 1024, max_entries: 20_000 };

/**
 * Finds a skill; `null` where the tenant has none of this id.
 * @param version any name that `/v1/skills` takes, `null`: the newest
 * @throws SkillNotFound for an unknown version
 */
export async function namedSkill(
  context: RunContext,
  id: string,
  version: string | null,
): Promise<NamedSkill | null> {
  const { deployment, env, tenant, background } = context;
  const stored = await findSkill(env, tenant, id);
  if (stored !== null) {
    const name = version ?? "latest";
    const found = await findVersion(env, tenant, id, name);
    if (found === null) throw new SkillNotFound({ id, version: name });
    const named = { id, version: `skver_${found.id}`, epoch: String(found.epoch) };
    return { ...named, label: stored.label ?? stored.name, ...(await assembledVersion(context, found)) };
  }
  const card = (await deployment.catalogs.of(tenant, background)).bySlug.get(id);
  if (card === undefined) return null;
  const record = await deployment.registry.skill(card.version);
  checkTrust(context.settings, record);
  const named = { id, version: card.version.slice(0, 12), epoch: null, label: record.manifest.name };
  return { ...named, record, digest: card.version };
}

/** The record of a stored version, made of its bundle by the code that takes uploads in. */
async function assembledVersion(
  context: RunContext,
  version: StoredVersion,
): Promise<{ record: SkillRecord; digest: string }> {
  const { deployment, env, tenant } = context;
  const key = `${tenant} ${version.id}`;
  const digest = deployment.assembled.get(key);
  if (digest !== undefined) return { record: await deployment.registry.skill(digest), digest };
  const bundle = await findBundle(env, tenant, version.digest);
  const object = bundle === null ? null : await env.FILES.get(bundle.key);
  if (object === null) throw new Internal({ cause: `the bundle of ${version.id} is not there` });
  const files = await readZip(new Uint8Array(await object.arrayBuffer()), UNPACKED);
  const own = files.map((file) => ({ ...file, path: file.path.slice(file.path.indexOf("/") + 1) }));
  const skill = await assembled(context, own, version.name);
  await storeSkill(env, skill);
  deployment.assembled.set(key, skill.digest);
  return { record: skill.record, digest: skill.digest };
}
