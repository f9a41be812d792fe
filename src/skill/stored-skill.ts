/**
 * A skill that a client stores through `/v1/skills`: which files it may have, and the bundle made from them. Pure.
 * Import it lazily in the Worker, since it evaluates the `yaml` module.
 */
import { sha256 } from "../bytes.ts";
import { BundleInvalid } from "../errors/request.ts";
import { ArchivePaths, ArchiveRefused } from "./archive-paths.ts";
import type { SourceFile } from "./bundle.ts";
import { brokenUploadRules } from "./field-rules.ts";
import { skillFileName } from "./file-text.ts";
import { Findings } from "./findings.ts";
import { SHIPPED } from "./known-providers.ts";
import type { Diagnostic } from "./manifest.ts";
import { parseSkill } from "./parse-skill.ts";
import { alikePaths } from "./path.ts";
import { makeTools } from "./tools-json/handlers.ts";
import { unbundled } from "./tools-json/unbundled.ts";
import { placeText } from "./tree.ts";
import { isJunk, skillFiles } from "./uploaded.ts";
import { packZip } from "./zip-write.ts";

export interface UploadRules {
  /** Whether all files must be in one top folder. */
  wants_directory: boolean;
  /** Whether that folder must have the skill's name. */
  checks_directory: boolean;
  /** The most files; bytes of the largest one; `null` means any. */
  max_files: number;
  max_file_bytes: number | null;
  /** Whether only one SKILL.md may exist, in any folder and any letter case. */
  one_skill_file: boolean;
  /** The required name; `null` means any. */
  name: string | null;
}

export interface StoredSkillUpload {
  name: string;
  description: string;
  /** The folder of the upload; the skill's name if it had none. */
  directory: string;
  /**
   * Every file in a folder with the skill's name, in a fixed order and with fixed times: equal files give equal bytes.
   */
  zip: Uint8Array<ArrayBuffer>;
  /** Findings that do not stop it. */
  diagnostics: Diagnostic[];
}

const refused = (reason: string): Error => new BundleInvalid({ reason });

/** Checks the files of an upload and makes their bundle. @throws BundleInvalid that names file, field and limit */
export async function readStoredSkill(
  sent: readonly SourceFile[],
  rules: UploadRules,
): Promise<StoredSkillUpload> {
  const files = checkedPaths(sent.filter(({ path }) => !isJunk(path)));
  checkLimits(files, rules);
  const directory = topFolder(files);
  if (directory === null && rules.wants_directory) {
    throw refused("SKILL.md must be in a folder with the skill's name, such as my-skill/SKILL.md");
  }
  const own = insideFolder(files);
  const fileName = skillFileName(own.map(({ path }) => path)) ?? "SKILL.md";
  const content = own.find(({ path }) => path === fileName)?.bytes ?? new Uint8Array();
  const source = directory === null ? { fileName } : { fileName, directory };
  const { record, verdicts, diagnostics } = parseSkill(content, source);
  if (record === undefined) {
    const fault = verdicts.lenient.diagnostics.find(({ level }) => level === "error");
    throw refused(`${placeText(fileName, fault)}: ${clause(fault?.message ?? "it cannot be read")}`);
  }
  const { name, description } = record;
  const [broken] = brokenUploadRules(name, description);
  if (broken !== undefined) throw refused(`${fileName}, field ${broken.field}: ${clause(broken.message)}`);
  if (rules.name !== null && name !== rules.name) {
    throw refused(`${fileName}, field name: "${name}" is not the skill's name, which stays "${rules.name}"`);
  }
  if (rules.checks_directory && directory !== null && folded(directory) !== folded(name)) {
    throw refused(`the folder is called "${directory}", but the field name of ${fileName} says "${name}"`);
  }
  const tools = new Findings(name, "SKILL.md");
  const makers = { make: unbundled(own), hash: sha256 };
  await makeTools(tools, own, { keyVariables: SHIPPED.key_variables }, makers);
  const placed = own.map((file) => ({ ...file, path: `${name}/${file.path}` }));
  return {
    name,
    description,
    directory: directory ?? name,
    zip: packZip(placed),
    diagnostics: [...diagnostics, ...tools.list],
  };
}

/** Turns a sentence into a clause that ends another sentence. */
const clause = (sentence: string): string => sentence.replace(/\.$/, "");

const folded = (name: string): string => name.toLowerCase().replaceAll("_", "-");

/** Checks paths in NFC; two must not differ only in letter case. */
function checkedPaths(files: readonly SourceFile[]): SourceFile[] {
  const paths = new ArchivePaths();
  const checked = files.map((file) => {
    const path = file.path.normalize("NFC");
    const fault = paths.enter(path);
    if (fault !== null) throw refused(fault);
    return { ...file, path };
  });
  const alike = alikePaths(checked.map(({ path }) => path));
  if (alike !== null) throw refused(`${alike.join(" and ")} differ in letter case only`);
  return checked;
}

function checkLimits(files: readonly SourceFile[], rules: UploadRules): void {
  const { max_files, max_file_bytes, one_skill_file } = rules;
  const skills = files.filter(({ path }) => /(?:^|\/)skill\.md$/i.test(path));
  if (skills.length === 0) throw refused("it has no SKILL.md");
  if (files.length > max_files) throw refused(`it has ${files.length} files; at most ${max_files}`);
  const large = files.find(({ bytes }) => max_file_bytes !== null && bytes.length > max_file_bytes);
  if (large !== undefined) {
    throw refused(`the file ${large.path} has ${large.bytes.length} bytes; at most ${max_file_bytes}`);
  }
  if (one_skill_file && skills.length > 1) {
    throw refused(
      `it has several SKILL.md: ${skills.map(({ path }) => path).join(", ")}; exactly one is accepted`,
    );
  }
}

/** The one folder that contains everything; `null`: SKILL.md is at the top. */
function topFolder(files: readonly SourceFile[]): string | null {
  if (skillFileName(files.map(({ path }) => path)) !== null) return null;
  const [first] = files;
  return first?.path.includes("/") === true ? first.path.slice(0, first.path.indexOf("/")) : null;
}

function insideFolder(files: readonly SourceFile[]): SourceFile[] {
  try {
    return skillFiles(files);
  } catch (error) {
    if (error instanceof ArchiveRefused) throw refused(error.reason);
    throw error;
  }
}
