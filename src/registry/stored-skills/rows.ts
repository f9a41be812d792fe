/** Stored skills and their versions in D1. Every query contains the tenant, so another tenant's id is unknown. */
import * as z from "zod/mini";
import { fromHex } from "../../bytes.ts";
import { matching, type OwnStatement } from "../../database.ts";
import type { Owner } from "../../env.ts";
import type { Page, PageWanted } from "../../list-page.ts";
import type { StoredSkillUpload } from "../../skill/stored-skill.ts";
import { ownSkills, storeBundle } from "./bundles.ts";

/** The most findings that are stored. */
const MAX_FINDINGS = 20;

export type StoredSkill = z.output<typeof skillShape>;
const skillShape = z.lazy(() =>
  z.object({
    /** `skill_01…`. */
    id: z.string(),
    /** The name in every version's SKILL.md. */
    name: z.string(),
    /** The client's name for it; `null`: none. */
    label: z.nullable(z.string()),
    /** Number of the version that OpenAI's clients get; `null` if there is no version. */
    default_number: z.nullable(z.int()),
    /** Description of that version. */
    description: z.nullable(z.string()),
    /** The newest version; `null` if there is none. */
    latest_id: z.nullable(z.string()),
    latest_number: z.nullable(z.int()),
    latest_epoch: z.nullable(z.int()),
    /** Unix µs, unique per tenant. */
    created_us: z.int(),
    updated_us: z.int(),
  }),
);

const idShape = z.lazy(() => z.object({ id: z.string() }));

export type StoredVersion = z.output<typeof versionShape>;
const versionShape = z.lazy(() =>
  z.object({
    skill: z.string(),
    /** From 1, never reused. */
    number: z.int(),
    /** Unix µs, unique and increasing per skill. */
    epoch: z.int(),
    /** The part of the id after `skver_` and `skillver_`. */
    id: z.string(),
    name: z.string(),
    description: z.string(),
    /** The top folder of the upload. */
    directory: z.string(),
    /** SHA-256 of the canonical zip. */
    digest: z.string(),
    /** JSON list of the findings that did not stop the upload. */
    diagnostics: z.string(),
  }),
);

/** The parts of a new version. */
export type NewVersion = Pick<StoredVersion, "name" | "description" | "directory" | "digest" | "diagnostics">;

/** Stores the bundle of a checked upload; returns what the version of it is made from. */
export async function bundledVersion(
  owner: Owner,
  { name, description, directory, zip, diagnostics }: StoredSkillUpload,
): Promise<NewVersion> {
  const digest = await storeBundle(owner, zip);
  const findings = JSON.stringify(diagnostics.slice(0, MAX_FINDINGS));
  return { name, description, directory, digest, diagnostics: findings };
}

const VERSION = "skill, number, epoch, id, name, description, directory, digest, diagnostics";
const SKILLS = `SELECT s.id, s.name, s.label, s.default_number, d.description, l.id AS latest_id,
    l.number AS latest_number, l.epoch AS latest_epoch, s.created_us, s.updated_us
  FROM stored_skills AS s
  LEFT JOIN stored_skill_versions AS d ON d.tenant = s.tenant AND d.skill = s.id AND d.number = s.default_number
  LEFT JOIN stored_skill_versions AS l ON l.tenant = s.tenant AND l.skill = s.id AND l.number =
    (SELECT max(number) FROM stored_skill_versions WHERE tenant = s.tenant AND skill = s.id)`;

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** `01` and 22 characters, with more than 128 bits of a SHA-256 (hex). */
function idOf(hash: string): string {
  const bytes = fromHex(hash).subarray(0, 22);
  return `01${Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length]).join("")}`;
}

const nowUs = (): number => Date.now() * 1000;

/**
 * Adds the version with the number in the skill's counters; does nothing if the skill does not exist, or has a version
 * with this number or id.
 */
function insertVersion(skill: string, id: string, version: NewVersion): OwnStatement {
  const { name, description, directory, digest, diagnostics } = version;
  return [
    `INSERT OR IGNORE INTO stored_skill_versions (tenant, ${VERSION})
     SELECT s.tenant, s.id, s.last_number, s.last_epoch, ?3, ?4, ?5, ?6, ?7, ?8 FROM stored_skills AS s
     WHERE s.tenant = ?1 AND s.id = ?2`,
    [skill, id, name, description, directory, digest, diagnostics],
  ];
}

/**
 * Stores a new skill with its first version, whose bundle is already stored.
 * @param made SHA-256 (hex), from which the ids derive; the same one finds the skill that it made before
 * @param unique whether the label must be unique in the tenant; if so, the result may be `"label_taken"`
 */
export async function createSkill(
  owner: Owner,
  {
    label,
    unique,
    by,
    version,
    made,
  }: { label: string | null; unique: boolean; by: string | null; version: NewVersion; made: string },
): Promise<StoredSkill | "label_taken"> {
  const id = `skill_${idOf(made)}`;
  const insert = `INSERT INTO stored_skills (tenant, id, name, label, default_number, last_number, last_epoch, created_us,
      updated_us, created_by, updated_by)
    SELECT ?1, ?2, ?3, ?4, 1, 1, now, now, now, ?5, ?5
    FROM (SELECT max(?6, 1 + coalesce((SELECT max(created_us) FROM stored_skills WHERE tenant = ?1), 0)) AS now)
    WHERE NOT EXISTS (SELECT 1 FROM stored_skills WHERE tenant = ?1 AND (id = ?2 OR (?7 AND label = ?4)))`;
  const [, , found] = await ownSkills(owner).batch([
    [insert, [id, version.name, label, by, nowUs(), unique ? 1 : 0]],
    insertVersion(id, idOf(made), version),
    [ONE_SKILL, [id]],
  ]);
  return z.array(skillShape).parse(found)[0] ?? "label_taken";
}

/** Adds a version, whose bundle is already stored. `null`: there is no such skill. @param made as in `createSkill` */
export async function addVersion(
  owner: Owner,
  id: string,
  {
    by,
    version,
    makeDefault,
    made,
  }: { by: string | null; version: NewVersion; makeDefault: boolean; made: string },
): Promise<StoredVersion | null> {
  const own = idOf(made);
  const earlier = "FROM stored_skill_versions WHERE tenant = ?1 AND skill = ?2 AND id =";
  const count = `UPDATE stored_skills SET last_number = last_number + 1, last_epoch = max(last_epoch + 1, ?3), updated_us = ?3,
      updated_by = ?4, default_number = iif(?5 OR default_number IS NULL, last_number + 1, default_number)
    WHERE tenant = ?1 AND id = ?2 AND NOT EXISTS (SELECT 1 ${earlier} ?6)`;
  const [, , found] = await ownSkills(owner).batch([
    [count, [id, nowUs(), by, makeDefault ? 1 : 0, own]],
    insertVersion(id, own, version),
    [`SELECT ${VERSION} ${earlier} ?3`, [id, own]],
  ]);
  return z.array(versionShape).parse(found)[0] ?? null;
}

const ONE_SKILL = `${SKILLS} WHERE s.tenant = ?1 AND s.id = ?2` as const;

/** `null` for an unknown or foreign id. */
export async function findSkill(owner: Owner, id: string): Promise<StoredSkill | null> {
  return ownSkills(owner).first(skillShape, ONE_SKILL, [id]);
}

/** The id of the skill that has this id or name and a version; the newest of several with one name. */
export async function findSkillNamed(owner: Owner, name: string): Promise<string | null> {
  const found = await ownSkills(owner).first(
    z.object({ id: z.string() }),
    `SELECT id, created_us FROM stored_skills WHERE tenant = ?1 AND id = ?2 AND default_number IS NOT NULL UNION ALL
     SELECT id, created_us FROM stored_skills WHERE tenant = ?1 AND name = ?2 AND default_number IS NOT NULL
     ORDER BY created_us DESC LIMIT 1`,
    [name],
  );
  return found?.id ?? null;
}

/** A page of skills, in the order of their `created_us`. @param page `withEmpty`: includes skills without a version */
export async function listSkills(
  owner: Owner,
  { withEmpty, ...page }: PageWanted & { withEmpty: boolean },
): Promise<Page<StoredSkill>> {
  const query = `${SKILLS} WHERE s.tenant = ?1 AND (?2 OR s.default_number IS NOT NULL)` as const;
  return ownSkills(owner).page(skillShape, [query, [withEmpty ? 1 : 0]], ["s.created_us"], page);
}

/** The most spellings that a search compares in the database, whose limits are 100 parameters and 100 levels of terms. */
const MOST_SPELLINGS = 48;
/** The most skills that it compares, the newest first. */
const MOST_COMPARED = 2000;

/**
 * Skills whose name, label or description contains any of these lower-cased words, without skills that have no version.
 * If there are many words, also others.
 */
export async function skillsWithWords(owner: Owner, words: readonly string[]): Promise<StoredSkill[]> {
  if (words.length === 0) return [];
  const all = new Set(words.flatMap(spellings));
  // More do not fit: then the caller compares all skills.
  const wanted = all.size > MOST_SPELLINGS ? [""] : [...all];
  const text = "lower(s.name || ' ' || coalesce(s.label, '') || ' ' || coalesce(d.description, ''))";
  const holds = wanted.map((_, n) => `instr(${text}, ?${n + 3}) > 0`).join(" OR ");
  return ownSkills(owner).rows(
    skillShape,
    `${SKILLS} WHERE s.tenant = ?1 AND s.default_number IS NOT NULL AND (${holds}) ORDER BY s.created_us DESC LIMIT ?2`,
    [MOST_COMPARED, ...wanted],
  );
}

/**
 * SQLite lowers only the letters A to Z, and knows no forms of Unicode: how a lower-cased word in NFC may appear in its
 * lower-cased text.
 */
function spellings(word: string): string[] {
  const [first = "", ...rest] = word;
  const written = [word, first.toUpperCase() + rest.join(""), word.toUpperCase()];
  return written
    .flatMap((text) => [text, text.normalize("NFD")])
    .map((text) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()));
}

/** Digits of a version's epoch in µs; a number has fewer. */
const EPOCH_DIGITS = 16;

/**
 * Finds a version by any of its names: `skver_…`, `skill_version_…`, `skillver_…`, its epoch, its number, `latest`.
 * `null` if the skill or the version does not exist.
 */
export async function findVersion(owner: Owner, skill: string, name: string): Promise<StoredVersion | null> {
  const wanted = versionNamed(name);
  if (wanted === null) return null;
  const [conditions, values] = matching({ skill, ...wanted });
  const query = `SELECT ${VERSION} FROM stored_skill_versions WHERE tenant = ?1 ${conditions}
    ORDER BY number DESC LIMIT 1` as const;
  return ownSkills(owner).first(versionShape, query, values);
}

function versionNamed(name: string): { readonly [column: string]: string | number } | null {
  if (name === "latest") return {};
  const id = /^(?:skver|skillver|skill_version)_(01\w+)$/.exec(name)?.[1];
  if (id !== undefined) return { id };
  if (!/^[1-9]\d{0,15}$/.test(name)) return null;
  return { [name.length === EPOCH_DIGITS ? "epoch" : "number"]: Number(name) };
}

/** A page of versions, in the order of their numbers. */
export async function listVersions(
  owner: Owner,
  skill: string,
  page: PageWanted,
): Promise<Page<StoredVersion>> {
  const query = `SELECT ${VERSION} FROM stored_skill_versions WHERE tenant = ?1 AND skill = ?2` as const;
  return ownSkills(owner).page(versionShape, [query, [skill]], ["number"], page);
}

/** Makes a version the default; `false` if it is gone. */
export async function setDefault(
  owner: Owner,
  { skill, number }: StoredVersion,
  by: string | null,
): Promise<boolean> {
  const changed = await ownSkills(owner).run(
    `UPDATE stored_skills SET default_number = ?3, updated_us = ?4, updated_by = ?5 WHERE tenant = ?1 AND id = ?2
     AND EXISTS (SELECT 1 FROM stored_skill_versions WHERE tenant = ?1 AND skill = ?2 AND number = ?3)`,
    [skill, number, nowUs(), by],
  );
  return changed > 0;
}

// Versions of earlier releases hold the zip that was uploaded too, as `original`; it goes with them.
const LOOSEN = `UPDATE stored_bundles SET loose_ms = ?3 WHERE tenant = ?1 AND digest IN (
  SELECT digest FROM stored_skill_versions WHERE tenant = ?1 AND skill = ?2 UNION
  SELECT original FROM stored_skill_versions WHERE tenant = ?1 AND skill = ?2)`;
const EMPTY = "NOT EXISTS (SELECT 1 FROM stored_skill_versions WHERE tenant = ?1 AND skill = ?2)";

/**
 * Removes a skill; returns whether it did.
 * @param cascade including its versions; otherwise only a skill without versions
 */
export async function removeSkill(owner: Owner, id: string, cascade: boolean): Promise<boolean> {
  const cleared: OwnStatement[] = [
    [LOOSEN, [id, Date.now()]],
    ["DELETE FROM stored_skill_versions WHERE tenant = ?1 AND skill = ?2", [id]],
  ];
  const remove = `DELETE FROM stored_skills WHERE tenant = ?1 AND id = ?2 AND ${EMPTY} RETURNING id`;
  const rows = await ownSkills(owner).batch([...(cascade ? cleared : []), [remove, [id]]]);
  return (rows.at(-1)?.length ?? 0) > 0;
}

/** Removes the skills of this name that `by` created, with their versions. */
export async function removeSkillsBy(owner: Owner, name: string, by: string): Promise<void> {
  const query = "SELECT id FROM stored_skills WHERE tenant = ?1 AND name = ?2 AND created_by = ?3";
  for (const { id } of await ownSkills(owner).rows(idShape, query, [name, by]))
    await removeSkill(owner, id, true);
}

/**
 * When a version may be removed. `keep_one`: if it is not the only one. `keep_default`: if it is not the default, or is
 * the last one, whose removal also removes the skill. `any`: always.
 */
export type RemovalRule = "keep_one" | "keep_default" | "any";

const COUNT = "(SELECT count(*) FROM stored_skill_versions WHERE tenant = ?1 AND skill = ?2)";
const RULES: { [rule in RemovalRule]: string } = {
  any: "1",
  keep_one: `${COUNT} > 1`,
  keep_default: `(${COUNT} = 1 OR number <> (SELECT default_number FROM stored_skills WHERE tenant = ?1 AND id = ?2))`,
};

/** Removes a version; `false` if the rule forbids it. The newest remaining version replaces a removed default. */
export async function removeVersion(
  owner: Owner,
  { skill, number }: StoredVersion,
  rule: RemovalRule,
): Promise<boolean> {
  const of = "tenant = ?1 AND skill = ?2";
  const removeEmpty: OwnStatement = [
    `DELETE FROM stored_skills WHERE tenant = ?1 AND id = ?2 AND ${EMPTY}`,
    [skill],
  ];
  const [, removed] = await ownSkills(owner).batch([
    [LOOSEN, [skill, Date.now()]],
    [
      `DELETE FROM stored_skill_versions WHERE ${of} AND number = ?3 AND ${RULES[rule]} RETURNING number`,
      [skill, number],
    ],
    [
      `UPDATE stored_skills SET updated_us = ?3, default_number =
         (SELECT max(number) FROM stored_skill_versions WHERE ${of})
       WHERE tenant = ?1 AND id = ?2 AND NOT EXISTS
         (SELECT 1 FROM stored_skill_versions WHERE ${of} AND number = stored_skills.default_number)`,
      [skill, nowUs()],
    ],
    ...(rule === "keep_default" ? [removeEmpty] : []),
  ]);
  return removed?.length === 1;
}
