/**
 * What routes and runs ask of a session's workspace, wherever it is. Answers are plain data, so that RPC can carry
 * them.
 */
import { WORKSPACE_LIMITS } from "../../tool/workspace-path.ts";

export interface WorkspaceFile {
  path: string;
  size: number;
  /** In hex. */
  sha256: string;
  executable: boolean;
  /** Unix ms. */
  modified_at: number;
  /** The version of the workspace at which the file got its present content. */
  version: number;
}

/** The condition of a change: a file with one of these digests, any file, or none. */
export type Expected = { sha256: readonly string[] } | "any" | "none";

export type FileChange =
  | {
      kind: "write";
      path: string;
      /** The key from `beginFile` under which the content was stored; `null`: the workspace must have it already. */
      key: string | null;
      sha256: string;
      size: number;
      /** `null`: keeps the flag of an existing file; false for a new one. */
      executable: boolean | null;
      expected: Expected | null;
      /** When it was written, in Unix ms; absent: now. */
      modified_at?: number | undefined;
    }
  | { kind: "delete"; path: string; expected: Expected | null };

/** Why a change is refused. */
export type Refusal =
  | { refused: "path"; reason: string }
  | { refused: "expected" }
  /** The limit of all files together. */
  | { refused: "full"; what: "bytes" | "files"; limit: number }
  /** The file to delete does not exist. */
  | { refused: "missing" }
  /** The content was not stored, or was removed because it was not used in time. */
  | { refused: "content" };

/** The result of a change; `version` and `modified_at` (Unix ms) are the file's new ones. */
export type Outcome =
  | { done: "created" | "changed" | "unchanged" | "deleted"; version: number; modified_at: number }
  | Refusal;

/** What is known about a write before its content. */
export interface FileIntent {
  path: string;
  expected: Expected | null;
  /** In bytes, if known. */
  size: number | null;
}

/** The state that a session's folder at the runner should have; `id` and `version` identify it. */
export interface Manifest {
  /** 32 hex digits, chosen when the workspace is made. */
  id: string;
  version: number;
  files: Pick<WorkspaceFile, "path" | "sha256" | "size" | "executable" | "modified_at">[];
}

/**
 * A session's workspace. Every method is safe to repeat, except that a repeated change with a condition sees the effect
 * of its first attempt.
 */
export interface WorkspaceAccess {
  /** Files in the order of their paths, beginning after a path. */
  listFiles(after: string | null, limit: number): Promise<WorkspaceFile[]>;
  /** A file with the R2 key of its content. */
  findFile(path: string): Promise<(WorkspaceFile & { key: string }) | null>;
  /**
   * The R2 key for the content of a new file, or a refusal that is already known; with `null`, a refusal is known only
   * later.
   */
  beginFile(intent: FileIntent | null): Promise<{ key: string } | Refusal>;
  /** Records a multipart upload of the content, before its first part. */
  noteUpload(key: string, uploadId: string): Promise<void>;
  /** Makes changes whose contents are stored, in one step; leaves out refused ones. Returns an outcome for each. */
  changeFiles(changes: readonly FileChange[]): Promise<Outcome[]>;
  /** Id and version of the present state; creates the workspace if there is none. */
  workspaceVersion(): Promise<Pick<Manifest, "id" | "version">>;
  workspaceManifest(): Promise<Manifest>;
  /** The R2 keys of contents, protected from removal for a while. Missing contents are left out. */
  contentKeys(digests: readonly string[]): Promise<{ sha256: string; key: string }[]>;
}

/** In the order of their paths. @param after only files whose paths come after this one */
export function allFiles(
  workspace: Pick<WorkspaceAccess, "listFiles">,
  after: string | null = null,
): Promise<WorkspaceFile[]> {
  return workspace.listFiles(after, WORKSPACE_LIMITS.files);
}
