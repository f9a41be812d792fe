/**
 * Commands of Claude Code: a Markdown file of a plugin's `commands`, or of `.claude/commands`, is a skill without a folder.
 */
import { globMatchesAny } from "../../src/skill/glob.ts";
import { slugify } from "../../src/skill/slug.ts";
import type { CommandChoice, SkillFolder } from "./skill-folder.ts";

/** Texts of a folder that are no commands. */
const NO_COMMAND = /^(?:readme|claude|skill)$/i;

/** The name of the command in a file of this name; `null`: it is none. */
export function commandName(file: string): string | null {
  const [, name = ""] = /^(.+)\.md$/i.exec(file) ?? [];
  return name === "" || NO_COMMAND.test(name) ? null : slugify(name) || name;
}

export const isChosen = (choice: CommandChoice, command: SkillFolder): boolean =>
  typeof choice === "boolean" ? choice : choice.some((glob) => namesCommand(glob, command));

/** Whether a glob matches a command's name, or its name after that of its plugin and a slash. */
export const namesCommand = (
  glob: string,
  { name, namespace = "" }: Pick<SkillFolder, "name" | "namespace">,
): boolean => globMatchesAny(glob, [name, `${namespace}/${name}`]);
