/** One skill that a command names. */
import { basename, dirname } from "node:path";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import type { SignaturePolicy } from "../../src/skill/trust.ts";
import { CommandError, EXIT } from "../command.ts";
import { openProject, openSingle, type Project } from "../project.ts";
import { expandFolder } from "./expand.ts";
import { statOf } from "./file-system.ts";
import { listFiles } from "./list-files.ts";
import { printDiagnostics } from "./print.ts";
import { scanRoots } from "./roots.ts";
import { findSkills, inspectRoot } from "./scan.ts";
import { singleName } from "./singles.ts";
import type { FoundFile, RootContext, SkillFolder } from "./skill-folder.ts";
import { readSources } from "./sources.ts";
import type { TypedFolder } from "./typed.ts";

interface OneSkill {
  folder: SkillFolder;
  rootContext: RootContext;
  /** Its project, or itself. */
  project: Project;
}

/**
 * Finds it as a build of its project does, since the project's ignore files decide what is bundled. A folder outside of
 * all folders of skills counts on its own.
 * @param root absolute: its folder, or the file of a command or agent
 * @throws CommandError if it is not a skill
 */
export async function skillAt(root: string): Promise<OneSkill> {
  if (singleName(basename(root)) !== null && statOf(root)?.isFile() === true) {
    const project = await openSingle(root);
    const [one] = scanRoots(project.roots, project.dir).scans;
    const [folder] = one?.scan.skills ?? [];
    if (one !== undefined && folder !== undefined) return { folder, rootContext: one.rootContext, project };
  }
  const own = await openProject(root).catch((error: unknown) => {
    if (error instanceof CommandError && error.exit === EXIT.missing) return null;
    throw error;
  });
  if (own === null) throw missing(root);
  const above = dirname(root);
  const base = own.dir !== root ? own.dir : basename(above) === "skills" ? dirname(above) : null;
  if (base !== null) {
    const { roots, dir } = await openProject(base);
    for (const { rootContext, scan } of scanRoots(roots, dir).scans) {
      const folder = scan.skills.find(({ path }) => path === root);
      if (folder !== undefined) return { folder, rootContext, project: own };
    }
  }
  const rootContext = inspectRoot(root, own.dir);
  const [folder] = findSkills(rootContext).skills;
  if (folder?.within !== "") throw missing(root);
  return { folder, rootContext, project: own };
}

/**
 * Its bundled files, with those that its skill.ts defines, and the findings about both.
 * @param signatures as for `expandTyped`
 * @param kept chooses among the files of the folder
 */
export async function readWhole(
  { folder, rootContext }: OneSkill,
  signatures: SignaturePolicy | null,
  kept = (files: FoundFile[]): FoundFile[] => files,
): Promise<TypedFolder> {
  const { files, diagnostics } = listFiles(folder, rootContext);
  const typed = await expandFolder(folder, await readSources(kept(files)), signatures);
  return { ...typed, diagnostics: [...diagnostics, ...typed.diagnostics] };
}

export function printFindings({ rootContext: { root } }: OneSkill, found: readonly Diagnostic[]): void {
  printDiagnostics(found.map((diagnostic) => ({ root, diagnostic })));
}

function missing(root: string): CommandError {
  const hint = "Name the folder of one skill; hull publish sends all skills of a project.";
  return new CommandError(EXIT.missing, "skill_missing", `There is no folder ${root} with a SKILL.md.`, hint);
}
