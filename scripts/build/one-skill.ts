/** The folder of one skill that a command names. */
import { basename, dirname } from "node:path";
import { CommandError, EXIT } from "../command.ts";
import { openProject } from "../project.ts";
import { scanRoots } from "./roots.ts";
import { findSkills, inspectRoot } from "./scan.ts";
import type { RootContext, SkillFolder } from "./skill-folder.ts";

/**
 * Finds it as a build of its project does, since the project's ignore files decide what is bundled. A folder outside of
 * all folders of skills counts on its own.
 * @param root absolute
 * @throws CommandError if it is not a skill
 */
export async function skillAt(root: string): Promise<{ folder: SkillFolder; rootContext: RootContext }> {
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
      if (folder !== undefined) return { folder, rootContext };
    }
  }
  const rootContext = inspectRoot(root, own.dir);
  const [folder] = findSkills(rootContext).skills;
  if (folder?.within !== "") throw missing(root);
  return { folder, rootContext };
}

function missing(root: string): CommandError {
  const hint = "Name the folder of one skill; hull publish sends all skills of a project.";
  return new CommandError(EXIT.missing, "skill_missing", `The folder ${root} holds no SKILL.md.`, hint);
}
