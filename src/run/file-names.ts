/** Names of a client's files in a work folder. Pure. */
import { utf8Length } from "../bytes.ts";
import { firstOf } from "../cut.ts";
import { pathFault, staysBehind, WORKSPACE_LIMITS } from "../tool/workspace-path.ts";

/** Hull's own files, such as long outputs of commands. */
export const HULL_FOLDER = ".hull/";

/** A file as the client named it; `null`: it did not. */
interface NamedFile {
  filename: string | null;
  mime: string;
}

/** The files of a request, each under a name of its own. */
export function freelyNamed<File extends NamedFile>(files: readonly File[]): { path: string; file: File }[] {
  const taken = new Set<string>();
  /** How many files have wanted each name so far. */
  const wanted = new Map<string, number>();
  return files.map((file) => {
    const name = nameOf(file);
    let count = (wanted.get(name) ?? 0) + 1;
    let path = count === 1 ? name : numbered(name, count);
    while (taken.has(path)) path = numbered(name, ++count);
    wanted.set(name, count);
    taken.add(path);
    return { path, file };
  });
}

const EXTENSIONS = new Map([
  ["application/pdf", "pdf"],
  ["text/csv", "csv"],
  ["text/plain", "txt"],
  ["text/markdown", "md"],
  ["application/json", "json"],
  ["image/png", "png"],
  ["image/jpeg", "jpg"],
  ["application/zip", "zip"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"],
]);

/** A name as one that a session keeps: it is shortened if it is too long, and differs from those that stay behind. */
export const keepable = (name: string): string => numbered(staysBehind(name) ? `${name}_` : name, 1);

/** The last part of the client's name, if a file can have that name. */
function nameOf({ filename, mime }: NamedFile): string {
  const base = keepable((filename ?? "").normalize("NFC").split(/[/\\]/).at(-1) ?? "");
  if (base !== "" && pathFault(base) === null && !base.startsWith(HULL_FOLDER.slice(0, -1))) return base;
  const extension = EXTENSIONS.get(mime);
  return extension === undefined ? "input" : `input.${extension}`;
}

/** The name of the first, second, … file that wants this name, with a shorter stem if it is too long. */
export function numbered(name: string, count: number): string {
  const dot = name.lastIndexOf(".");
  const end = dot > 0 && name.length - dot <= MAX_EXTENSION ? dot : name.length;
  const suffix = `${count === 1 ? "" : `-${count}`}${name.slice(end)}`;
  const most = WORKSPACE_LIMITS.name_bytes - utf8Length(suffix);
  // Each UTF-16 unit takes at least one byte.
  let stem = firstOf(name.slice(0, end), most);
  while (utf8Length(stem) > most) stem = firstOf(stem, stem.length - 1);
  return stem + suffix;
}

/** In UTF-16 units, with the dot. */
const MAX_EXTENSION = 20;
