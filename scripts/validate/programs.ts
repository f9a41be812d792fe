/** Checks which programs of scripts, tools and MCP servers this machine has. */
import { basename, isAbsolute, join, relative } from "node:path";
import { commandsOf } from "../../src/skill/command.ts";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import { isWithin } from "../build/file-system.ts";
import type { RootedDiagnostic } from "../build/roots.ts";
import type { BuiltSkill } from "../build/skill.ts";
import { isExecutable } from "../needs/machine.ts";
import { positionInFile } from "../position-in.ts";

/** Programs that a local runner would look for on PATH, but not find. */
export function checkPrograms(
  skills: readonly BuiltSkill[],
  roots: readonly string[],
): (RootedDiagnostic & { program: string })[] {
  const found: (RootedDiagnostic & { program: string })[] = [];
  for (const { folder, manifest } of skills) {
    for (const [field, [program = ""]] of commandsOf(manifest)) {
      const local = !isAbsolute(program) && (program.includes("/") || program.startsWith("."));
      if (local || isExecutable(program)) continue;
      const root = roots.find((path) => isWithin(folder, path)) ?? folder;
      const file = join(folder, "SKILL.md");
      const diagnostic: Diagnostic = {
        level: "error",
        code: "program_missing",
        skill: basename(folder),
        file: relative(root, file),
        ...positionInFile(file, field),
        field,
        value: JSON.stringify(program),
        message: `The program ${program} is not on this machine's PATH, so a local runner cannot start it.`,
        hint: `Install ${program}, or name another program.`,
      };
      found.push({ root, diagnostic, program });
    }
  }
  return found;
}
