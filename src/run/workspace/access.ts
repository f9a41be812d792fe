/**
 * What routes and runs ask of a session's workspace, wherever it is. Answers are plain data, so that RPC can carry
 * them.
 */
import { WORKSPACE_LIMITS } from "../../tool/workspace-path.ts";

/** Contents up to this many bytes may be stored with the manifest, where many of them cost little. */
export const SMALL_BYTES = 256 * 1024;
/** About how many bytes of small contents go to a workspace, or come from it, at once. */
export const BYTES_AT_ONCE = 2 * 1024 * 1024;

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

/** A content of a workspace: `key` of its R2 object; or in `base64` the content itself, which is not in R2 then. */
export interface StoredContent {
  key: string;
  base64?: string;
}

/** A small content on its way into a workspace. */
export interface SmallContent {
  sha256: string;
  base64: string;
}

/** The condition of a change: a file with one of these digests, any file, or none. */
export type Expected = { sha256: readonly string[] } | "any" | "none";

export type FileChange =
  | {
      kind: "write";
      path: string;
      /**
       * The key from `beginFile` or `storeSmall` under which the content was stored; `null`: the workspace must have it
       * already.
       */
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
  findFile(path: string): Promise<(WorkspaceFile & StoredContent) | null>;
  /**
   * The R2 key for the content of a new file, or a refusal that is already known; with `null`, a refusal is known only
   * later.
   */
  beginFile(intent: FileIntent | null): Promise<{ key: string } | Refusal>;
  /** Records a multipart upload of the content, before its first part. */
  noteUpload(key: string, uploadId: string): Promise<void>;
  /** Stores contents of at most `SMALL_BYTES`; returns the key of each, or `null` if the workspace has it already. */
  storeSmall(contents: readonly SmallContent[]): Promise<(string | null)[]>;
  /** Makes changes whose contents are stored, in one step; leaves out refused ones. Returns an outcome for each. */
  changeFiles(changes: readonly FileChange[]): Promise<Outcome[]>;
  /** Id and version of the present state; creates the workspace if there is none. */
  workspaceVersion(): Promise<Pick<Manifest, "id" | "version">>;
  workspaceManifest(): Promise<Manifest>;
  /**
   * The first contents of a list, protected from removal for a while; `null` for one that is missing. Small contents
   * make the answer shorter than the list, by `BYTES_AT_ONCE`.
   */
  contents(digests: readonly string[]): Promise<(StoredContent | null)[]>;
}

/** How many contents to ask for at once. */
const ASKED_AT_ONCE = 1000;

/** All contents of a list, with their digests. */
export async function* allContents(
  workspace: Pick<WorkspaceAccess, "contents">,
  digests: readonly string[],
): AsyncGenerator<{ sha256: string; content: StoredContent | null }, void> {
  let rest = digests;
  while (rest.length > 0) {
    const contents = await workspace.contents(rest.slice(0, ASKED_AT_ONCE));
    for (const [index, content] of contents.entries()) yield { sha256: rest[index] ?? "", content };
    rest = rest.slice(contents.length);
  }
}

/** As many contents, from the first one on, as go into one answer. */
export function firstContents(
  digests: readonly string[],
  find: (sha256: string) => StoredContent | null,
): (StoredContent | null)[] {
  const contents: (StoredContent | null)[] = [];
  let chars = 0;
  for (const sha256 of digests) {
    if (chars >= BYTES_AT_ONCE) break;
    const content = find(sha256);
    chars += content?.base64?.length ?? 0;
    contents.push(content);
  }
  return contents;
}

/** In the order of their paths. @param after only files whose paths come after this one */
export function allFiles(
  workspace: Pick<WorkspaceAccess, "listFiles">,
  after: string | null = null,
): Promise<WorkspaceFile[]> {
  return workspace.listFiles(after, WORKSPACE_LIMITS.files);
}
