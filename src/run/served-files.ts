/** Files of a call of a served skill that works on files: the request's files go in, new and changed ones come out. */
import { askedAgain } from "../asked-again.ts";
import type { Warning } from "../engine/messages.ts";
import { InvalidRequest } from "../errors/llm.ts";
import { InputRequired } from "../errors/request.ts";
import { type HullError, Internal } from "../errors.ts";
import { MOST_FILES } from "../llm/vendor-limits.ts";
import type { Manifest } from "../skill/manifest.ts";
import { mediaTypeOf } from "../skill/media.ts";
import type { ProducedFile } from "./answers.ts";
import type { RunContext } from "./context.ts";
import { freelyNamed, HULL_FOLDER } from "./file-names.ts";
import { PRODUCED_TTL_MS, storeFile } from "./files.ts";
import type { InputFile, RunInput } from "./handle.ts";
import type { Body } from "./large-body.ts";
import { callerText } from "./llm-input.ts";
import { type NotStored, notStored, storedOrNot } from "./not-stored.ts";
import { allFiles, type WorkspaceAccess, type WorkspaceFile } from "./workspace/access.ts";
import { openContent, storeContent, writeFile } from "./workspace/store.ts";
import { refusedOf } from "./workspace/write-rules.ts";

/** Empties a work folder in which an earlier run attempt may have begun. */
export async function emptied(workspace: WorkspaceAccess): Promise<void> {
  const old = await allFiles(workspace);
  if (old.length > 0)
    await workspace.changeFiles(old.map(({ path }) => ({ kind: "delete", path, expected: null })));
}

/** The version at which a work folder last got new content: what is written later has a higher one. */
export async function lastWritten(workspace: WorkspaceAccess): Promise<number> {
  return (await allFiles(workspace)).reduce((last, { version }) => Math.max(last, version), 0);
}

/** The paths in the work folder under which `writeInputs` writes the files of a request. */
export const inputPaths = (files: readonly InputFile[]): string[] =>
  freelyNamed(files).map(({ path }) => path);

/** The files of a request with their paths. */
function placed(files: readonly InputFile[]): { path: string; content: Body }[] {
  return freelyNamed(files).map(({ path, file: { body } }) => ({
    path,
    content: body instanceof Uint8Array ? [body] : body,
  }));
}

/** Writes the files of a request into the work folder under their names; returns their digests by path. */
export async function writeInputs(
  { env }: Pick<RunContext, "env">,
  workspace: WorkspaceAccess,
  files: readonly InputFile[],
): Promise<{ [path: string]: string }> {
  const written: { [path: string]: string } = {};
  for (const { path, content } of placed(files)) {
    const intent = { path, expected: null, size: null };
    const outcome = await writeFile(env.FILES, workspace, intent, content);
    if ("refused" in outcome) throw doesNotFit("file", path);
    written[path] = outcome.sha256;
  }
  return written;
}

/**
 * Writes them unless a run with them has begun, which may have changed them since. A file that anybody else changes
 * meanwhile is replaced all the same.
 * @param begun the run that the same request has begun; `null`: there is none yet
 * @returns that run; `null`: they are written
 */
export async function writeInputsUnless<T>(
  { env }: Pick<RunContext, "env">,
  workspace: WorkspaceAccess,
  files: readonly InputFile[],
  begun: () => Promise<T | null>,
): Promise<T | null> {
  let left = [];
  for (const { path, content } of placed(files)) {
    const place = await workspace.beginFile({ path, expected: null, size: null });
    if ("refused" in place) throw doesNotFit("file", path);
    const { key } = place;
    const stored = await storeContent(env.FILES, workspace, key, content);
    left.push({ kind: "write" as const, path, key, ...stored, executable: null });
  }
  while (left.length > 0) {
    const there = new Map((await allFiles(workspace)).map(({ path, sha256 }) => [path, sha256]));
    const known = await begun();
    if (known !== null) return known;
    const changes = left.map((write) => {
      const before = there.get(write.path);
      return { ...write, expected: before === undefined ? ("none" as const) : { sha256: [before] } };
    });
    const refused = refusedOf(changes, await workspace.changeFiles(changes));
    const unfit = refused.find(({ why }) => why !== "expected");
    if (unfit !== undefined) throw doesNotFit("file", unfit.path);
    left = left.filter(({ path }) => refused.some((change) => change.path === path));
  }
  return null;
}

/** The error for a file that a work folder refuses. @param option where the request names the file */
export const doesNotFit = (option: string, path: string): HullError =>
  new InvalidRequest({ option, detail: `The file ${path} does not fit into the work folder.` });

/** The user message: the text, and the list of files. @throws InputRequired if there is neither */
export function promptText(manifest: Manifest, input: RunInput, paths: readonly string[]): string {
  const text = callerText(input);
  if (text.trim() === "" && paths.length === 0 && manifest.input !== "none")
    throw new InputRequired({ hint: "Send the text as the request body, or a form with prompt and files." });
  const asked = text.trim() === "" ? "Begin." : text;
  const lines = paths.map((path) => `- ${path}`);
  const files = lines.length === 0 ? [] : [`Files of this request, in the work folder:\n${lines.join("\n")}`];
  return [asked, ...files].join("\n\n");
}

/**
 * Stores the files that a run made under `/files`.
 * @param isMade whether the run made it, or changed its content
 * @param required there is no answer without them: a fault of the storage is an error instead of a warning
 * @returns `headers`: the ids, each with the facts about the file, as a list of RFC 9651. `whole`: no file is missing
 *   because of the storage
 */
export async function producedFiles(
  context: RunContext,
  workspace: WorkspaceAccess,
  { isMade, required }: { isMade: (file: WorkspaceFile) => boolean; required: boolean },
): Promise<{ files: ProducedFile[]; headers: Record<string, string>; warnings: Warning[]; whole: boolean }> {
  const { env } = context;
  const all = await allFiles(workspace);
  const made = all.filter((file) => !file.path.startsWith(HULL_FOLDER) && isMade(file));
  const files: ProducedFile[] = [];
  const missing: NotStored[] = [];
  for (const { path, size, sha256 } of made.slice(0, MOST_FILES)) {
    const mime = mediaTypeOf(path);
    const about = { filename: path.split("/").at(-1) ?? path, mime, size, ttl_ms: PRODUCED_TTL_MS };
    const store = async () => {
      const found = await workspace.findFile(path);
      const opened = found === null ? null : await openContent(env.FILES, found);
      if (opened === null) throw new Internal({ cause: `a workspace lacks ${path}` });
      return storeFile(context, about, opened.body);
    };
    const stored = await (required ? askedAgain(store) : storedOrNot(context, path, store));
    if ("id" in stored) files.push({ id: stored.id, path, size, mime_type: mime, sha256 });
    else missing.push(stored);
  }
  const headers = files.length === 0 ? {} : { "x-hull-files": filesHeader(files) };
  const warnings = notStored(missing, made.length - MOST_FILES);
  return { files, headers, warnings, whole: missing.length === 0 };
}

/** Items with parameters. Characters of a path that are not ASCII are percent-encoded. */
function filesHeader(files: readonly ProducedFile[]): string {
  return files
    .map(
      ({ id, path, size, mime_type, sha256 }) =>
        `${id};path="${encodeURI(path)}";size=${size};type="${mime_type}";sha256="${sha256}"`,
    )
    .join(", ");
}

/** Most characters of that header in an answer: HTTP clients and proxies refuse all headers together from 16 KiB on. */
const MOST_HEADER_CHARS = 6000;

/** The header as an answer has it: the files that fit, then `more;count=<n>` for the others. */
export function shortFilesHeader(header: string): string {
  if (header.length <= MOST_HEADER_CHARS) return header;
  // Paths are percent-encoded, so a comma followed by a blank ends an item.
  const end = header.lastIndexOf(", ", MOST_HEADER_CHARS);
  const fitting = end === -1 ? [] : [header.slice(0, end)];
  const others = header.slice(end === -1 ? 0 : end + 2).split(", ");
  return [...fitting, `more;count=${others.length}`].join(", ");
}

/** The files that such a header names. */
export function filesInHeader(header: string): ProducedFile[] {
  const item = /(file_[0-9a-f]{32});path="([^"]*)";size=(\d+);type="([^"]*)";sha256="([0-9a-f]{64})"/g;
  return Array.from(header.matchAll(item), ([, id = "", path = "", size, mime_type = "", sha256 = ""]) => ({
    id,
    path: decodeURI(path),
    size: Number(size),
    mime_type,
    sha256,
  }));
}
