/** Uploaded skills: their folder in an archive, and what is forbidden to them. */
import { firstOf } from "../cut.ts";
import { ArchiveRefused } from "./archive-paths.ts";
import type { SourceFile } from "./bundle.ts";
import { commandsOf } from "./command.ts";
import { skillFileName } from "./file-text.ts";
import type { Findings } from "./findings.ts";
import { type IgnoreLevel, type IgnoreRule, isIgnored, parseIgnore } from "./ignore.ts";
import { secretIn } from "./lint.ts";
import type { Manifest, SkillRecord } from "./manifest.ts";
import { sentVariables, variablesOf } from "./variables.ts";
import { WORKSPACE_GRANT } from "./workspace-settings.ts";
import { givesWorkspaceTools } from "./workspace-tools.ts";

/** Files that desktop archivers add next to the folder; tar of macOS writes attributes of `fox` as a file `._fox`. */
const JUNK = /^__MACOSX\/|(?:^|\/)(?:\.DS_Store|Thumbs\.db|\._[^/]*)$/;

export const isJunk = (path: string): boolean => JUNK.test(path);

/**
 * The files of the skill in an archive, as the build would bundle them: the archive is the skill's folder, or holds
 * nothing else.
 * @throws ArchiveRefused
 */
export function skillFiles(archive: readonly SourceFile[]): SourceFile[] {
  const entries = archive.filter(({ path }) => !isJunk(path));
  for (const { path } of entries) {
    if (/[\u0000-\u001f\u007f]|^[A-Za-z]:/.test(path)) {
      throw new ArchiveRefused(`the path ${JSON.stringify(path)} has control characters or a drive letter`);
    }
    const fault = tooLong(path);
    if (fault !== null)
      throw new ArchiveRefused(`the path ${JSON.stringify(`${firstOf(path, 100)}…`)} ${fault}`);
  }
  const files = hasSkillFile(entries) ? entries : insideTopFolder(entries);
  const ignore = files.find(({ path }) => path === ".hullignore");
  const rules = ignore === undefined ? [] : parseIgnore(new TextDecoder().decode(ignore.bytes));
  const levels = [{ base: "", rules }];
  if (ignoreCost(rules, files) > MAX_IGNORE_STEPS) {
    throw new ArchiveRefused("its .hullignore has too many or too long lines for that many files");
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
  throw new ArchiveRefused(
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

/**
 * What is forbidden to an uploaded skill, but not to the deployment's own: commands with an absolute path. Warns about
 * keys in its files, which every user of the skill could read.
 */
export function checkUploaded(findings: Findings, manifest: Manifest, files: readonly SourceFile[]): void {
  for (const [field, [program = ""]] of commandsOf(manifest)) {
    if (!program.startsWith("/")) continue;
    const message = `The program ${program} has an absolute path, which an uploaded skill may not use.`;
    const hint = "Name a program on PATH, such as python3, or a file of the skill, such as ./run.sh.";
    findings.error("command_absolute", findings.field(field, program), message, hint);
  }
  for (const { path, bytes } of files) {
    const secret = secretIn(path, bytes);
    if (secret === null) continue;
    const { code, message, hint, ...at } = secret;
    findings.part(path).warning(code, { at }, message, hint);
  }
  const has = (name: string) => files.some(({ path }) => path === name);
  if (has("skill.ts") && !has("tools.json")) {
    const message = "Hull does not build the skill.ts of an upload into tools.json and handlers.";
    const hint = "Use hull upload, which does that, or let the operator publish the folder.";
    findings.part("skill.ts").error("typed_needs_build", {}, message, hint);
  }
}

/**
 * Warns about variables that the skill and its tools request but do not receive, and about workspace tools that the
 * skill wants.
 */
export function warnNotGranted(
  findings: Findings,
  slug: string,
  record: Pick<SkillRecord, "manifest" | "tools" | "wants_workspace_tools">,
  granted: ReadonlySet<string>,
): void {
  const { manifest, tools = [] } = record;
  const grants = (name: string): string => `HULL_GRANTS, e.g. ${JSON.stringify({ [slug]: [name] })}.`;
  const sentNames = sentVariables(manifest);
  for (const name of variablesOf({ manifest, tools })) {
    if (granted.has(name)) continue;
    const sent = manifest.proxy === undefined ? "mcp_servers" : "proxy";
    const field = manifest.tool_env.includes(name) ? "tool_env" : sentNames.includes(name) ? sent : "x-env";
    const message = `Nobody granted this skill the variable ${name}, so the skill does not get it.`;
    const hint = `The operator grants it in ${grants(name)}`;
    findings.warning("variable_not_granted", findings.field(field, name), message, hint);
  }
  if (!givesWorkspaceTools(record) || granted.has(WORKSPACE_GRANT)) return;
  const message = "The skill wants tools to read files and to run commands, but nobody granted it any.";
  const hint = `The operator grants them in ${grants(WORKSPACE_GRANT)}`;
  findings.warning("workspace_tools_not_granted", findings.place("allowed-tools"), message, hint);
}
