/** A fault of a module of a skill: its hooks, or a tool's handler. */
import type { Findings } from "./findings.ts";

/** `at` is the place in the file that `file` names (default: the module itself); without `at` there is no `file`. */
export interface ModuleFault {
  code: string;
  message: string;
  hint: string;
  /** Relative to the skill's folder. */
  file?: string;
  /** Both from 1. */
  at?: { line: number; column: number };
}

/** @param path the module's, in the skill's folder */
export function reportFaults(findings: Findings, faults: readonly ModuleFault[], path: string): void {
  for (const { code, message, hint, file = path, at } of faults)
    findings.part(file).error(code, at === undefined ? {} : { at }, message, hint);
}
