/** Which files a session's workspace may contain: the same rules for the Worker's routes and the runner. Pure. */
import { utf8Length } from "../bytes.ts";

export const WORKSPACE_LIMITS = {
  /** Bytes of all files together. */
  bytes: 256 * 1024 * 1024,
  files: 10_000,
  path_bytes: 1024,
  /** The longest name that file systems accept. */
  name_bytes: 255,
  /** The most names in a path. */
  depth: 100,
} as const;

/**
 * Why a path is refused, as the end of a sentence that begins with the path; `null`: it is accepted. Paths are
 * relative, with `/` between segments, in Unicode's form NFC; letter case counts.
 */
export function pathFault(path: string): string | null {
  if (path === "") return "is empty";
  if (path.startsWith("/")) return "begins with /";
  if (!path.isWellFormed()) return "is not valid Unicode";
  if (path !== path.normalize("NFC")) return "is not in Unicode's form NFC";
  if (/[\u0000-\u001f\u007f-\u009f]/.test(path)) return "has control characters";
  // Some programs treat it as a separator too.
  if (path.includes("\\")) return "has a backslash";
  if (utf8Length(path) > WORKSPACE_LIMITS.path_bytes)
    return `is longer than ${WORKSPACE_LIMITS.path_bytes} bytes`;
  const segments = path.split("/");
  if (segments.length > WORKSPACE_LIMITS.depth) return `has more than ${WORKSPACE_LIMITS.depth} segments`;
  for (const segment of segments) {
    if (segment === "") return "has an empty segment";
    if (segment === "." || segment === "..") return `has the segment ${segment}`;
    if (utf8Length(segment) > WORKSPACE_LIMITS.name_bytes)
      return `has a name longer than ${WORKSPACE_LIMITS.name_bytes} bytes`;
  }
  return null;
}

/** Generated files, and Git's own: thousands of files that nobody reads. They never leave the runner. */
const MADE_AGAIN = /^(?:__pycache__|node_modules|\.git|\.venv|.*\.pyc)$/s;

/** Whether a file or folder of this name stays in the runner, and never becomes a file of a session. */
export const staysBehind = (name: string): boolean => MADE_AGAIN.test(name);

/** Why nobody may write a file of this path, as `pathFault`: the next command would take it away if it stays behind. */
export function writeFault(path: string): string | null {
  const behind = path.split("/").find(staysBehind);
  return pathFault(path) ?? (behind === undefined ? null : `has ${behind}, which no session keeps`);
}

/** The folders that contain a file, outermost first: for `a/b/c`, `a` and `a/b`. */
export function foldersOf(path: string): string[] {
  const segments = path.split("/");
  return segments.slice(1).map((_, index) => segments.slice(0, index + 1).join("/"));
}
