/** Which changes a workspace accepts, wherever it is. Pure. */
import { foldersOf, pathFault } from "../../tool/workspace-path.ts";
import type { Expected, FileIntent, Refusal, WorkspaceFile } from "./access.ts";

type Known = Pick<WorkspaceFile, "sha256" | "size">;

/** The present state of a workspace. */
interface Present {
  files: number;
  bytes: number;
  limits: { files: number; bytes: number };
  /** The file of this path; `null`: there is none. */
  find(path: string): Known | null;
  isFolder(path: string): boolean;
}

/** Why a file cannot be written in the present state; `null`: it can. */
export function writeRefusal({ path, expected, size }: FileIntent, present: Present): Refusal | null {
  const fault = pathFault(path) ?? obstacle(path, present);
  if (fault !== null) return { refused: "path", reason: fault };
  const old = present.find(path);
  if (!meets(old, expected)) return { refused: "expected" };
  const { files, bytes } = present.limits;
  if (old === null && present.files >= files) return { refused: "full", what: "files", limit: files };
  if (present.bytes - (old?.size ?? 0) + (size ?? 0) > bytes)
    return { refused: "full", what: "bytes", limit: bytes };
  return null;
}

/** What prevents a file at this path: a folder with its name, or a file where one of its folders should be. */
function obstacle(path: string, { find, isFolder }: Present): string | null {
  if (isFolder(path)) return "is a folder";
  const file = foldersOf(path).find((folder) => find(folder) !== null);
  return file === undefined ? null : `is inside ${file}, which is a file`;
}

/** Whether a file meets the condition of a change. */
export function meets(file: Known | null, expected: Expected | null): boolean {
  if (expected === null) return true;
  if (expected === "none") return file === null;
  return file !== null && (expected === "any" || expected.sha256.includes(file.sha256));
}
