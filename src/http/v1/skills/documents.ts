/** Skills and their versions in the shape of each dialect. */
import type { StoredSkill, StoredVersion } from "../../../registry/stored-skills/rows.ts";
import type { Card } from "../../../skill/manifest.ts";
import type { Dialect } from "../dialect.ts";

/** RFC 3339. */
const timeOf = (us: number): string => new Date(us / 1000).toISOString();
/** Unix seconds. */
const secondsOf = (us: number): number => Math.floor(us / 1_000_000);

export function skillDocument(skill: StoredSkill, dialect: Dialect): object {
  const { id, name, label, created_us, updated_us } = skill;
  if (dialect === "openai") {
    return {
      id,
      object: "skill",
      created_at: secondsOf(created_us),
      name,
      description: skill.description ?? "",
      default_version: String(skill.default_number ?? ""),
      latest_version: String(skill.latest_number ?? ""),
    };
  }
  const times = { created_at: timeOf(created_us), updated_at: timeOf(updated_us) };
  if (dialect === "anthropic") {
    const latest = `skver_${skill.latest_id ?? ""}`;
    const shown = { display_name: label ?? name, latest_version_id: latest, source: { type: "custom" } };
    return { id, type: "skill", ...times, ...shown };
  }
  const latest = skill.latest_epoch === null ? null : String(skill.latest_epoch);
  return { id, type: "skill", ...times, display_title: label, latest_version: latest, source: "custom" };
}

/**
 * A skill that is part of the deployment: its slug is its id, and it has one version.
 * @param publishedAt Unix ms
 */
export function publishedDocument(card: Card, publishedAt: number, dialect: Dialect): object {
  const { slug: id, name, description, version } = card;
  const us = publishedAt * 1000;
  if (dialect === "openai") {
    const own = { id, object: "skill", created_at: secondsOf(us), name, description };
    return { ...own, default_version: "1", latest_version: "1" };
  }
  const times = { created_at: timeOf(us), updated_at: timeOf(us) };
  if (dialect === "anthropic_legacy") {
    return { id, type: "skill", ...times, display_title: name, latest_version: null, source: "custom" };
  }
  const latest_version_id = `skver_${version.slice(0, 24)}`;
  return { id, type: "skill", ...times, display_name: name, latest_version_id, source: { type: "plugin" } };
}

export function versionDocument(version: StoredVersion, dialect: Dialect): object {
  const { skill: skill_id, id, name, description, epoch } = version;
  if (dialect === "openai") {
    const number = String(version.number);
    const own = { id: `skillver_${id}`, object: "skill.version", skill_id, version: number };
    return { ...own, name, description, created_at: secondsOf(epoch) };
  }
  const created_at = timeOf(epoch);
  if (dialect === "anthropic") {
    return { id: `skver_${id}`, type: "skill_version", skill_id, name, description, created_at };
  }
  const own = { id: `skillver_${id}`, type: "skill_version", skill_id, version: String(epoch) };
  return { ...own, name, description, directory: version.directory, created_at };
}

export function deletedSkill(id: string, dialect: Dialect): object {
  return dialect === "openai"
    ? { id, object: "skill.deleted", deleted: true }
    : { id, type: "skill_deleted" };
}

export function deletedVersion({ id, number, epoch }: StoredVersion, dialect: Dialect): object {
  if (dialect === "openai") {
    return { id: `skillver_${id}`, object: "skill.version.deleted", deleted: true, version: String(number) };
  }
  return { id: dialect === "anthropic" ? `skver_${id}` : String(epoch), type: "skill_version_deleted" };
}
