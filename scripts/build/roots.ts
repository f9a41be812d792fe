/** Several folders of skills together. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import { CommandError, EXIT } from "../command.ts";
import { CONFIG_FILE } from "../config.ts";
import { statOf } from "./file-system.ts";
import { findSkills, harnToml, inspectRoot, type RootScan, rootMissing } from "./scan.ts";
import type { RootContext, SingleChoices } from "./skill-folder.ts";

/** The configuration of a project of Harn, whose tables Hull reads from its own file. */
const HARN_TOML = "harn.toml";

/** A diagnostic and the absolute root of its `file`. */
export interface RootedDiagnostic {
  root: string;
  diagnostic: Diagnostic;
}

interface ScannedRoot {
  root: string;
  rootContext: RootContext;
  scan: RootScan;
}

/**
 * Finds the skills of some roots. Skips missing ones if there are several; throws `CommandError` (exit 3) if the
 * only one is missing, or one is a file and no command.
 */
export function scanRoots(
  roots: readonly string[],
  projectDir: string,
  singles: SingleChoices = {},
): { scans: ScannedRoot[]; diagnostics: RootedDiagnostic[] } {
  const scans: ScannedRoot[] = [];
  const diagnostics: RootedDiagnostic[] = [];
  const has = (name: string): boolean => existsSync(join(projectDir, name));
  if (has(HARN_TOML) && !has(CONFIG_FILE))
    diagnostics.push({ root: projectDir, diagnostic: harnToml(HARN_TOML) });
  for (const root of roots) {
    if (roots.length > 1 && !existsSync(root)) {
      diagnostics.push({ root, diagnostic: rootMissing(root) });
      continue;
    }
    const isFile = statOf(root)?.isFile() === true;
    const rootContext = isFile
      ? inspectRoot(dirname(root), projectDir, { commands: true, agents: true })
      : inspectRoot(root, projectDir, singles);
    const found = findSkills(rootContext);
    const scan = isFile ? onlySingle(root, found) : found;
    scans.push({ root: rootContext.root, rootContext, scan });
  }
  return { scans, diagnostics };
}

/** One command or agent that is a root. @throws CommandError if the file is none */
function onlySingle(file: string, found: RootScan): RootScan {
  const skills = found.skills.filter(({ path }) => path === file);
  if (skills.length > 0) return { skills, refused: [], diagnostics: [] };
  const message = `${file} is neither a command nor an agent: these are in commands and agents of a plugin or of .claude, and an agent has a name or a description in its frontmatter.`;
  throw new CommandError(EXIT.missing, "command_missing", message);
}
