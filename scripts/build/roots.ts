/** Several folders of skills at once. */
import { existsSync } from "node:fs";
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
  const scans: ScannedRoot[] = [];
  const diagnostics: RootedDiagnostic[] = [];
  for (const root of roots) {
    if (roots.length > 1 && !existsSync(root)) {
      diagnostics.push({ root, diagnostic: rootMissing(root) });
      continue;
    }
    const grounds = survey(root, projectDir);
    scans.push({ root, grounds, scan: findSkills(grounds) });
  }
  return { scans, diagnostics };
}
