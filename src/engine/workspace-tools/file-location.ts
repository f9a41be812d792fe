/** Finds the file that a path of a model's call means: one of the work folder, or one of a skill of the run. Pure. */

import { normalised } from "../agent/policy.ts";

/** A run's folders, as processes see them; absolute, without a slash at the end. */
export interface RunFolders {
  work: string;
  /** The parent folder of the run's skill folders. */
  skills: string;
}

/** The other path of the folder of skills, which code execution has (container/programs/skills_path.py). */
const SKILLS_PATH = "/skills";

export type FileLocation =
  /** A path in the work folder; `""` is the folder itself. */
  | { in: "work"; path: string }
  /** A path in a skill's folder; `skill` is `null` for the folder of all of them. */
  | { in: "skills"; skill: string | null; path: string };

/**
 * The place of a path, which is absolute, or relative to the folder where the last command ended. A fault is the end of
 * a sentence that begins with the path.
 * @param cwd relative to the work folder, or absolute; `""` is the work folder
 */
export function locateFile(
  given: string,
  folders: RunFolders,
  cwd: string,
): FileLocation | { fault: string } {
  if (given.includes("\0")) return { fault: "has a null character" };
  const home = ABSOLUTE.exec(given)?.[1];
  const base = cwd.startsWith("/") ? cwd : `${folders.work}/${cwd}`;
  const path = normalised(home ?? `${base}/${given}`);
  const work = within(path, folders.work);
  if (work !== null) return { in: "work", path: work };
  const skills = within(path, folders.skills) ?? within(path, SKILLS_PATH);
  if (skills === null)
    return { fault: `is outside of the work folder and of the run's skills${astray(given, folders, cwd)}` };
  const [skill = "", ...rest] = skills.split("/");
  return { in: "skills", skill: skill === "" ? null : skill, path: rest.join("/") };
}

const ABSOLUTE = /^(?:file:\/\/)?(\/.*)$/s;

/**
 * The end of a sentence about a relative path, if the last command left the work folder: where it did, and the way back;
 * else `""`.
 */
export function astray(given: string, { work }: RunFolders, cwd: string): string {
  if (!cwd.startsWith("/") || ABSOLUTE.test(given)) return "";
  return `: the last command ended in ${cwd}. The work folder is ${work}`;
}

function within(path: string, folder: string): string | null {
  if (path === folder) return "";
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : null;
}
