/** Finds the file that a path of a model's call means: one of the work folder, or one of a skill of the run. Pure. */
import { insidePath } from "../../skill/path.ts";

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
  const home = /^(?:file:\/\/)?(\/.*)$/s.exec(given)?.[1];
  const base = cwd.startsWith("/") ? cwd : `${folders.work}/${cwd}`;
  const path = simplified(home ?? `${base}/${given}`);
  const work = within(path, folders.work);
  if (work !== null) return { in: "work", path: work };
  const skills = within(path, folders.skills) ?? within(path, SKILLS_PATH);
  if (skills === null) return { fault: "is outside of the work folder and of the run's skills" };
  const [skill = "", ...rest] = skills.split("/");
  return { in: "skills", skill: skill === "" ? null : skill, path: rest.join("/") };
}

/** An absolute path without `.` and `..`; `..` at the root stays there. */
function simplified(path: string): string {
  const inside = insidePath(path.slice(1));
  if (inside !== null) return `/${inside}`;
  const kept: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") kept.pop();
    else if (segment !== "" && segment !== ".") kept.push(segment);
  }
  return `/${kept.join("/")}`;
}

function within(path: string, folder: string): string | null {
  if (path === folder) return "";
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : null;
}
