/** Uploaded skills: their folder in an archive, and what is forbidden to them. */
import { firstOf } from "../cut.ts";
import type { SourceFile } from "./bundle.ts";
import { commandsOf } from "./command.ts";
import { skillFileName } from "./file-text.ts";
import { type IgnoreLevel, type IgnoreRule, isIgnored, parseIgnore } from "./ignore.ts";
import { secretIn } from "./lint.ts";
import type { Diagnostic, Manifest, SkillRecord } from "./manifest.ts";
import type { SkillLocation } from "./tree.ts";
import { sentVariables, variablesOf } from "./variables.ts";
import { WORKSPACE_GRANT } from "./workspace-settings.ts";
import { givesWorkspaceTools } from "./workspace-tools.ts";

/** An archive without a skill folder. `reason` is safe to show. */
export class FolderError extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(`folder refused: ${reason}`);
    this.name = "FolderError";
    this.reason = reason;
  }
}

/** Files that desktop archivers add next to the folder; tar of macOS writes attributes of `fox` as a file `._fox`. */
const JUNK = /^__MACOSX\/|(?:^|\/)(?:\.DS_Store|Thumbs\.db|\._[^/]*)$/;

export const isJunk = (path: string): boolean => JUNK.test(path);

/**
 * The files of the skill in an archive, as the build would bundle them: the archive is the skill's folder, or holds
 * nothing else.
 * @throws FolderError
 */
export function skillFiles(archive: readonly SourceFile[]): SourceFile[] {
  const entries = archive.filter(({ path }) => !isJunk(path));
  for (const { path } of entries) {
    if (/[\u0000-\u001f\u007f]|^[A-Za-z]:/.test(path)) {
      throw new FolderError(`the path ${JSON.stringify(path)} has control characters or a drive letter`);
    }
    const fault = tooLong(path);
    if (fault !== null)
      throw new FolderError(`the path ${JSON.stringify(`${firstOf(path, 100)}…`)} ${fault}`);
  }
  const files = hasSkillFile(entries) ? entries : insideTopFolder(entries);
  const ignore = files.find(({ path }) => path === ".hullignore");
  const rules = ignore === undefined ? [] : parseIgnore(new TextDecoder().decode(ignore.bytes));
  const levels = [{ base: "", rules }];
  if (ignoreCost(rules, files) > MAX_IGNORE_STEPS) {
    throw new FolderError("its .hullignore has too many or too long lines for that many files");
  }
  return files.filter(({ path }) => !isLeftOut(path, levels));
}

/** The longest name that file systems accept, in bytes. */
const MAX_NAME_BYTES = 255;
/** File systems take four times that for the whole path, and a runner unpacks the folder below one of its own. */
const MAX_PATH_BYTES = 1024;

/** Why no runner could unpack a file of this path; `null`: it can. */
function tooLong(path: string): string | null {
  const bytesOf = (text: string): number => new TextEncoder().encode(text).length;
  if (bytesOf(path) > MAX_PATH_BYTES) return `is longer than ${MAX_PATH_BYTES} bytes`;
  return path.split("/").some((name) => bytesOf(name) > MAX_NAME_BYTES)
    ? `has a name longer than ${MAX_NAME_BYTES} bytes`
    : null;
}

/** Steps of matching that an upload may cost. */
const MAX_IGNORE_STEPS = 100_000_000;

/** An upper bound: each path and each folder above it is matched with each line. */
function ignoreCost(rules: readonly IgnoreRule[], files: readonly SourceFile[]): number {
  const tokens = rules.reduce((sum, { pattern }) => sum + pattern.tokens.length + 1, 0);
  const characters = files.reduce((sum, { path }) => sum + path.length * path.split("/").length, 0);
  return tokens * characters;
}

const hasSkillFile = (files: readonly SourceFile[]): boolean =>
  skillFileName(files.map(({ path }) => path)) !== null;

function insideTopFolder(entries: readonly SourceFile[]): SourceFile[] {
  const tops = new Set(entries.map(({ path }) => path.slice(0, path.indexOf("/") + 1)));
  const [top = ""] = tops;
  const files = entries.map((file) => ({ ...file, path: file.path.slice(top.length) }));
  if (top !== "" && tops.size === 1 && hasSkillFile(files)) return files;
  const near = entries.find(({ path }) => /(?:^|\/)skill\.md$/i.test(path));
  throw new FolderError(
    `it is not a skill's folder: SKILL.md is neither at its top nor in its only folder${near === undefined ? "" : `; it has ${near.path}`}`,
  );
}

/** Whether the build would leave the path out, because of the path itself or of a folder above it. */
function isLeftOut(path: string, levels: readonly IgnoreLevel[]): boolean {
  for (let end = path.indexOf("/"); end >= 0; end = path.indexOf("/", end + 1)) {
    if (isIgnored(path.slice(0, end), true, levels)) return true;
  }
  return isIgnored(path, false, levels);
}

/** What is forbidden to an uploaded skill, but not to the deployment's own: commands with an absolute path. */
export function checkUploaded(manifest: Manifest, location: SkillLocation): Diagnostic[] {
  return commandsOf(manifest).flatMap(([field, [program = ""]]) => {
    if (!program.startsWith("/")) return [];
    const finding = {
      code: "command_absolute",
      level: "error" as const,
      field,
      value: JSON.stringify(program),
    };
    const message = `The program ${program} has an absolute path, which an uploaded skill may not use.`;
    const hint = "Name a program on PATH, such as python3, or a file of the skill, such as ./run.sh.";
    return [{ ...at(field, location), ...finding, message, hint }];
  });
}

/**
 * Findings about an upload's files: keys that every user of the skill could read, and files that only the build can
 * make.
 */
export function checkUploadedFiles(files: readonly SourceFile[], skill: string): Diagnostic[] {
  const found: Diagnostic[] = files.flatMap(({ path, bytes }) => {
    const secret = secretIn(path, bytes);
    return secret === null ? [] : [{ level: "warning", skill, file: path, ...secret }];
  });
  const has = (name: string) => files.some(({ path }) => path === name);
  if (has("skill.ts") && !has("tools.json")) {
    const message = "Hull does not build the skill.ts of an upload into tools.json and handlers.";
    const hint = "Use hull upload, which does that, or let the operator publish the folder.";
    found.push({ level: "error", code: "typed_needs_build", skill, file: "skill.ts", message, hint });
  }
  return found;
}

/**
 * Warns about variables that the skill and its tools request but do not receive, and about workspace tools that the
 * skill wants.
 */
export function warnNotGranted(
  record: Pick<SkillRecord, "manifest" | "tools" | "wants_workspace_tools">,
  granted: ReadonlySet<string>,
  location: SkillLocation,
): Diagnostic[] {
  const { manifest, tools = [] } = record;
  const missing = variablesOf({ manifest, tools }).filter((name) => !granted.has(name));
  const sentNames = sentVariables(manifest);
  const warnings: Diagnostic[] = missing.map((name) => {
    const sent = manifest.proxy === undefined ? "mcp_servers" : "proxy";
    const field = manifest.tool_env.includes(name) ? "tool_env" : sentNames.includes(name) ? sent : "x-env";
    const message = `Nobody granted this skill the variable ${name}, so the skill does not get it.`;
    const hint = `The operator grants it in HULL_GRANTS, e.g. ${grantOf(location, name)}.`;
    const finding = {
      code: "variable_not_granted",
      level: "warning" as const,
      field,
      value: JSON.stringify(name),
    };
    return { ...at(field, location), ...finding, message, hint };
  });
  if (!givesWorkspaceTools(record) || granted.has(WORKSPACE_GRANT)) return warnings;
  const message = "The skill wants tools to read files and to run commands, but nobody granted it any.";
  const hint = `The operator grants them in HULL_GRANTS, e.g. ${grantOf(location, WORKSPACE_GRANT)}.`;
  const finding = { level: "warning" as const, code: "workspace_tools_not_granted" };
  return [...warnings, { ...at("allowed-tools", location), ...finding, message, hint }];
}

const grantOf = ({ folder }: SkillLocation, name: string): string => JSON.stringify({ [folder]: [name] });

const at = (
  field: string,
  { folder, file, positions }: SkillLocation,
): Pick<Diagnostic, "skill" | "file" | "line" | "column"> => ({
  skill: folder,
  file,
  ...positions.get(field.replace(/[[.].*$/, "")),
});
