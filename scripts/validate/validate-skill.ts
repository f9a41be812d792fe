/** Checks one skill folder by the rules of the Agent Skills format, and for what is probably wrong with it. */
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import {
  lintDescription,
  MAX_SCANNED_BYTES,
  missingFiles,
  missingReferences,
  relativeLinks,
  secretIn,
} from "../../src/skill/lint.ts";
import type { Diagnostic, JsonObject } from "../../src/skill/manifest.ts";
import { parseManifest } from "../../src/skill/parse.ts";
import { type ParsedAgentSkill, parseSkill } from "../../src/skill/parse-skill.ts";
import { NO_SIGNATURES, type SignaturePolicy } from "../../src/skill/trust.ts";
import { expandFolder } from "../build/expand.ts";
import { readRegular } from "../build/file-system.ts";
import { fileUnreadable, listFiles, ownFiles, withinRoot } from "../build/list-files.ts";
import { leadsToSkill, linksToPlugin, type PluginFolders } from "../build/shared-folder.ts";
import { folderOf, placeOf, type RootContext, type SkillFolder } from "../build/skill-folder.ts";
import { readSources } from "../build/sources.ts";
import type { TypedLocations } from "../build/typed-locations.ts";
import { isSystemError } from "../system-error.ts";

export interface ParsedFolder {
  folder: SkillFolder;
  /** Bytes of its SKILL.md; none if a file that it needs is unreadable. */
  text: Uint8Array;
  /** The finding about that file; `null`: there is none. */
  unreadable: Diagnostic | null;
  /** Maps findings about `text`, if it was made from a skill.ts. */
  locations: TypedLocations | null;
  parsed: ParsedAgentSkill;
  /** The fields of the format in its own order; absent and empty ones are left out. */
  properties: JsonObject;
}

/** @param signatures the accepted signers; checked before any code of the folder runs */
export async function parseFolder(
  folder: SkillFolder,
  rootContext: RootContext,
  signatures: SignaturePolicy = NO_SIGNATURES,
): Promise<ParsedFolder> {
  const directory = folder.name;
  const read = await readableText(folder, rootContext, signatures);
  const parsed = parseSkill(read.text, { directory, fileName: basename(placeOf(folder).file) });
  return { folder, ...read, parsed, properties: propertiesOf(parsed) };
}

type Text = Pick<ParsedFolder, "text" | "locations" | "unreadable">;

async function readableText(
  folder: SkillFolder,
  rootContext: RootContext,
  signatures: SignaturePolicy,
): Promise<Text> {
  try {
    return { ...(await textFile(folder, rootContext, signatures)), unreadable: null };
  } catch (error) {
    if (!isSystemError(error) || error.path === undefined) throw error;
    const unreadable = fileUnreadable(folder, relative(folderOf(folder).path, error.path), error);
    return { text: new Uint8Array(), locations: null, unreadable };
  }
}

/** The folder's SKILL.md, or the one that the build makes; empty if that fails. */
async function textFile(
  folder: SkillFolder,
  rootContext: RootContext,
  signatures: SignaturePolicy,
): Promise<Omit<Text, "unreadable">> {
  const name = basename(placeOf(folder).file);
  const path = `${folder.path}/${name}`;
  const text = existsSync(path) ? readRegular(path) : null;
  if (text !== null) return { text, locations: null };
  const sources = await readSources(listFiles(folder, rootContext).files);
  const { files, locations } = await expandFolder(folder, sources, signatures);
  return { text: files.find((file) => file.path === name)?.bytes ?? new Uint8Array(), locations };
}

/** Turns findings of the format into findings about the folder. */
export function locateFindings(
  { folder, locations }: ParsedFolder,
  found: readonly Diagnostic[],
): Diagnostic[] {
  const { folder: name, file } = placeOf(folder);
  const base = file.slice(0, -"SKILL.md".length);
  return found.map((diagnostic) => {
    const own = { ...diagnostic, skill: name, file };
    return locations?.pointed(own, base) ?? own;
  });
}

function propertiesOf({ record }: ParsedAgentSkill): JsonObject {
  if (record === undefined) return {};
  const { name, description, license, compatibility, allowed_tools, metadata } = record;
  const all: [string, JsonObject[string] | undefined][] = [
    ["name", name],
    ["description", description],
    ["license", license],
    ["compatibility", compatibility],
    ["allowed-tools", allowed_tools?.join(" ")],
    ["metadata", metadata],
  ];
  return Object.fromEntries(
    all.flatMap(([key, value]) =>
      value === undefined || value === "" || JSON.stringify(value) === "{}" ? [] : [[key, value]],
    ),
  );
}

/** Warnings of `hull validate` beyond the rules. @param project absolute: its folder */
export function lint(
  { folder, text, parsed, locations }: ParsedFolder,
  rootContext: RootContext,
  project: string,
  plugins: PluginFolders,
): Diagnostic[] {
  const { record, placeInBody } = parsed;
  const { files } = listFiles(folder, rootContext);
  const own = ownFiles(folder, files);
  const at = (path: string) => withinRoot(folder, path);
  const { file } = placeOf(folder);
  const warning = { level: "warning" as const, skill: folder.name };
  const found: Diagnostic[] = [];
  if (record !== undefined) {
    const { serving, positions, manifest } = parseManifest(text, placeOf(folder));
    // The rules are for Agent Skills: a skill with fields of Hull is none, and people know when to call a command.
    const isAgent = manifest?.activation?.context === "agent";
    for (const rule of serving || isAgent || folder.single ? [] : lintDescription(record.description))
      found.push({ ...warning, file, ...positions.get(rule.field), ...rule });
    const paths = files.map(({ path }) => path);
    for (const { what, offset } of lackingReferences(folder, record.body, paths, project, plugins)) {
      const message = `The text ${what}, which is not in the folder.`;
      const hint = "Add the file, or fix the text; paths begin at the skill's folder.";
      const place = { file, ...placeInBody(offset) };
      found.push({ ...warning, code: "reference_missing", ...place, message, hint });
    }
  }
  for (const { path } of folder.within === "" ? [] : own.filter(({ path }) => path.endsWith("/SKILL.md"))) {
    const message = `${dirname(path)} has its own SKILL.md, but is a part of this skill: no plugin declares it.`;
    found.push({ ...warning, level: "info", code: "nested_skill", file: at(path), message });
  }
  for (const file of own) {
    if (file.stats.size > MAX_SCANNED_BYTES) continue;
    const bytes = readable(file.absolute);
    const secret = bytes === null ? null : secretIn(file.path, bytes);
    if (secret !== null) found.push({ ...warning, file: at(file.path), ...secret });
  }
  return locations === null ? found : found.map((finding) => locations.pointed(finding, at("")));
}

/** What a text links to or names although neither the folder nor its plugin has it, as "links to x" or "names x". */
function lackingReferences(
  folder: SkillFolder,
  body: string,
  paths: readonly string[],
  project: string,
  plugins: PluginFolders,
): { what: string; offset: number }[] {
  const { plugin } = folder;
  const missing = missingReferences(body, paths);
  const { targets } = linksToPlugin(folder, relativeLinks(body), project, plugins);
  const links = missing.filter(
    ({ target }) => !targets.includes(target) && !leadsToSkill(folderOf(folder).path, target),
  );
  const names = missingFiles(body, paths).filter(({ target: path }) => {
    const linked = missing.some(({ target }) => target.includes(path));
    return !linked && (plugin === undefined || !existsSync(join(plugin.path, path)));
  });
  return [
    ...links.map(({ target, offset }) => ({ what: `links to ${target}`, offset })),
    ...names.map(({ target, offset }) => ({ what: `names ${target}`, offset })),
  ];
}

/** The bytes of a file; `null` if it cannot be read, which the build reports. */
function readable(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if (isSystemError(error)) return null;
    throw error;
  }
}
