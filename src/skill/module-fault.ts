/** A fault of a module of a skill: its hooks, or a tool's handler. */
import type { Diagnostic } from "./manifest.ts";

/** `at` is the place in the file that `file` names (default: the module itself). */
export interface ModuleFault {
  code: string;
  message: string;
  hint: string;
  /** Relative to the skill's folder. */
  file?: string;
  /** Both from 1. */
  at?: { line: number; column: number };
}

/**
 * @param folder the skill's, for the diagnostic
 * @param base path from the root to the skill's folder: empty, or ending in `/`
 * @param path the module's
 */
export function moduleDiagnostic(
  { code, message, hint, file, at }: ModuleFault,
  { folder, base, path }: { folder: string; base: string; path: string },
): Diagnostic {
  return { level: "error", code, skill: folder, file: base + (file ?? path), ...at, message, hint };
}
