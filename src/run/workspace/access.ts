/** What routes and runs ask of a session's workspace, wherever it is: answers are plain data, so that RPC carries them. */

/** A file of a workspace. */
export interface WorkspaceFile {
  path: string;
  size: number;
  /** In hex. */
  sha256: string;
  executable: boolean;
  /** Unix ms. */
  modified_at: number;
  /** Of the workspace, when the file became what it is. */
  version: number;
}

/** What must be there for a change to be made: a file with one of these digests, any file, or none. */
export type Expected = { sha256: readonly string[] } | "any" | "none";

export type FileChange =
  | {
      kind: "write";
      path: string;
      /** Where the content was stored: a key that `beginFile` gave; `null`: the workspace is to have it already. */
      key: string | null;
      sha256: string;
      size: number;
      /** `null`: as the file that is there, and no for a new one. */
      executable: boolean | null;
      expected: Expected | null;
      /** Unix ms, when it was written; absent: now. */
      modified_at?: number;
    }
  | { kind: "delete"; path: string; expected: Expected | null };

/** Why a change is not made. */
export type Refusal =
  | { refused: "path"; reason: string }
  | { refused: "expected" }
  /** Of all files together. */
  | { refused: "full"; what: "bytes" | "files"; limit: number }
  /** A file to be deleted. */
  | { refused: "missing" }
  /** The content was not stored, or was removed again because nobody asked for it in time. */
  | { refused: "content" };

/** What became of a change; `version` and `modified_at` (Unix ms) are those of the file from now on. */
export type Outcome =
  | { done: "created" | "changed" | "unchanged" | "deleted"; version: number; modified_at: number }
  | Refusal;

/** The two facts of a write that are known before its content is. */
export interface FileIntent {
  path: string;
  expected: Expected | null;
  /** In bytes, where it is known. */
  size: number | null;
}

/** What the runner is to have in a session's folder; `id` and `version` name it. */
export interface Manifest {
  /** 32 hex digits, made with the workspace. */
  id: string;
  version: number;
  files: Pick<WorkspaceFile, "path" | "sha256" | "size" | "executable" | "modified_at">[];
}

/**
 * A session's workspace. Every method is safe to repeat, except that a change with an expectation, made again, finds its
 * own first time.
 */
export interface WorkspaceAccess {
  /** Files in the order of their paths, those after a path. */
  listFiles(after: string | null, limit: number): Promise<WorkspaceFile[]>;
  /** A file with the R2 key of its content. */
  findFile(path: string): Promise<(WorkspaceFile & { key: string }) | null>;
  /**
   * Gives the R2 key where the content of a file that is about to come goes, unless it is refused already; `null`: whether
   * it is shows later.
   */
  beginFile(intent: FileIntent | null): Promise<{ key: string } | Refusal>;
  /** Notes that the content comes as an upload in parts, before its first part. */
  noteUpload(key: string, uploadId: string): Promise<void>;
  /** Makes changes whose content is stored, all at once but for those that are refused; an outcome for each. */
  changeFiles(changes: readonly FileChange[]): Promise<Outcome[]>;
  /** Names the present state; makes the workspace where there is none. */
  workspaceVersion(): Promise<Pick<Manifest, "id" | "version">>;
  workspaceManifest(): Promise<Manifest>;
  /** The R2 keys of contents, kept from removal for a while; those that are not here are left out. */
  contentKeys(digests: readonly string[]): Promise<{ sha256: string; key: string }[]>;
}
