/** One skill folder as the Agent Skills format sees it, and what is likely wrong with it (skill-formats.md §1.5, §1.8). */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { lintDescription, missingReferences, obviousSecret } from "../../src/skill/lint.ts";
import type { Diagnostic, JsonObject } from "../../src/skill/manifest.ts";
import { parseManifest } from "../../src/skill/parse.ts";
import { type ParsedAgentSkill, parseSkill } from "../../src/skill/parse-skill.ts";
import { type FoundFile, type Grounds, listFiles, type SkillFolder } from "../build/scan.ts";

/** Larger files are data. */
const MAX_SCANNED_BYTES = 1024 * 1024;

export interface Examined {
  folder: SkillFolder;
  parsed: ParsedAgentSkill;
  /** The fields of the format in its own order; absent and empty ones are left out. */
  properties: JsonObject;
}

export function examine(folder: SkillFolder): Examined {
  const directory = folder.name;
  const parsed = parseSkill(textFile(folder), { directory, fileName: basename(folder.file) });
  return { folder, parsed, properties: propertiesOf(parsed) };
}

const textFile = ({ path, file }: SkillFolder): Uint8Array => readFileSync(`${path}/${basename(file)}`);

/** Findings of the format as findings about the folder. */
export function located({ name, file }: SkillFolder, found: readonly Diagnostic[]): Diagnostic[] {
  return found.map((diagnostic) => ({ ...diagnostic, skill: name, file }));
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

/** What `hull validate` warns of beyond the rules. */
export function lint({ folder, parsed: { record } }: Examined, grounds: Grounds): Diagnostic[] {
  const { files } = listFiles(folder, grounds);
  const at = (path: string) => (folder.within === "" ? path : `${folder.within}/${path}`);
  const warning = { level: "warning" as const, skill: folder.name };
  const found: Diagnostic[] = [];
  if (record !== undefined) {
    const { serving } = parseManifest(textFile(folder), { folder: folder.name, file: folder.file });
    const rules = serving ? [] : lintDescription(record.description);
    found.push(...rules.map((rule) => ({ ...warning, file: folder.file, ...rule })));
    const paths = files.map(({ path }) => path);
    for (const target of missingReferences(record.body, paths)) {
      const message = `The text links to ${target}, which is not in the folder.`;
      const hint = "Add the file, or mend the link; paths begin at the skill's folder.";
      found.push({ ...warning, code: "reference_missing", file: folder.file, message, hint });
    }
  }
  for (const file of files) {
    const secret = secretIn(file);
    if (secret === null) continue;
    const message = `${file.path} holds what looks like a key: ${secret.shown}`;
    const hint = "Keep keys out of skills; read them from variables that tool_env names.";
    const line = { line: secret.line };
    found.push({ ...warning, code: "secret_in_file", file: at(file.path), ...line, message, hint });
  }
  return found;
}

function secretIn({ absolute, stats }: FoundFile): ReturnType<typeof obviousSecret> {
  if (stats.size > MAX_SCANNED_BYTES) return null;
  const text = readFileSync(absolute, "latin1");
  return text.includes("\0") ? null : obviousSecret(text);
}
