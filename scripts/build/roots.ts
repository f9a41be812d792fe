/** Several folders of skills at once (skill-formats.md §3 D2). */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import { findSkills, type Grounds, type RootScan, rootMissing, survey } from "./scan.ts";

/** A diagnostic and the absolute root that its `file` is relative to. */
export interface RootedDiagnostic {
  root: string;
  diagnostic: Diagnostic;
}

interface ScannedRoot {
  root: string;
  grounds: Grounds;
  scan: RootScan;
}

/**
 * Looks for the skills of some roots. Of several those that do not exist are passed over; the only one has to be there:
 * else throws `RootMissing`.
 */
export function scanRoots(
  roots: readonly string[],
  projectDir: string,
): { scans: ScannedRoot[]; diagnostics: RootedDiagnostic[] } {
  const main = mainRoot(roots, projectDir);
  const scans: ScannedRoot[] = [];
  const diagnostics: RootedDiagnostic[] = [];
  for (const root of roots) {
    if (roots.length > 1 && !existsSync(root)) {
      diagnostics.push({ root, diagnostic: rootMissing(root) });
      continue;
    }
    const grounds = survey(root, projectDir, root !== main);
    scans.push({ root, grounds, scan: findSkills(grounds) });
  }
  return { scans, diagnostics };
}

/** The root of which only the immediate sub-folders are skills: the project's `skills`, else the first. */
function mainRoot(roots: readonly string[], projectDir: string): string | undefined {
  const usual = join(projectDir, "skills");
  return roots.includes(usual) ? usual : roots[0];
}
