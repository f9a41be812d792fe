/** Several folders of skills together. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import { CONFIG_FILE } from "../config.ts";
import { findSkills, harnToml, inspectRoot, type RootScan, rootMissing } from "./scan.ts";
import type { RootContext } from "./skill-folder.ts";

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
 * only one is missing.
 */
export function scanRoots(
  roots: readonly string[],
  projectDir: string,
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
    const rootContext = inspectRoot(root, projectDir);
    scans.push({ root, rootContext, scan: findSkills(rootContext) });
  }
  return { scans, diagnostics };
}
