/** Which changes a workspace accepts, and what they make of a file, wherever the workspace is. Pure. */
import { foldersOf, writeFault } from "../../tool/workspace-path.ts";
import type { Expected, FileChange, FileIntent, Outcome, Refusal, WorkspaceFile } from "./access.ts";

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
  const fault = writeFault(path) ?? obstacle(path, present);
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

/**
 * The outcome of a change, and the file after it. The rules of `writeRefusal` have admitted a write.
 * @param old the file before; `null`: there was none
 * @param at the version that the change makes, and the time (Unix ms)
 * @returns `file`: `null`: it is gone; absent: nothing changes
 */
export function madeBy(
  change: FileChange,
  old: WorkspaceFile | null,
  { version, now }: { version: number; now: number },
): { outcome: Outcome; file?: WorkspaceFile | null } {
  if (change.kind === "delete") {
    if (!meets(old, change.expected)) return { outcome: { refused: "expected" } };
    if (old === null) return { outcome: { refused: "missing" } };
    return { outcome: { done: "deleted", version, modified_at: now }, file: null };
  }
  const { path, size, sha256 } = change;
  const executable = change.executable ?? old?.executable ?? false;
  if (old?.sha256 === sha256 && old.executable === executable)
    return { outcome: { done: "unchanged", version: old.version, modified_at: old.modified_at } };
  // A file is never dated in the future, whatever time a process has set.
  const modified_at = Math.min(change.modified_at ?? now, now);
  const file = { path, size, sha256, executable, modified_at, version };
  return { outcome: { done: old === null ? "created" : "changed", version, modified_at }, file };
}

/** The refused changes, and why. The deletion of a missing file succeeds, whoever deleted it. */
export function refusedOf(
  changes: readonly FileChange[],
  outcomes: readonly Outcome[],
): { path: string; why: Refusal["refused"] }[] {
  return changes.flatMap((change, index) => {
    const outcome = outcomes[index];
    if (outcome === undefined || !("refused" in outcome)) return [];
    if (change.kind === "delete" && outcome.refused === "missing") return [];
    return [{ path: change.path, why: outcome.refused }];
  });
}

/** Whether a file meets the condition of a change. */
function meets(file: Known | null, expected: Expected | null): boolean {
  if (expected === null) return true;
  if (expected === "none") return file === null;
  return file !== null && (expected === "any" || expected.sha256.includes(file.sha256));
}
