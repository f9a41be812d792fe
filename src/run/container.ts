/** Containers of the vendors' APIs. Each is the workspace of a session, which keeps its files from call to call. */

import { fromHex, toHex, utf8, utf8OrNull } from "../bytes.ts";
import { CODE_FOLDERS, type CodeTerms } from "../engine/workspace-tools/code-tools.ts";
import type { Owner } from "../env.ts";
import { CallNotFound } from "../errors/llm.ts";
import { type HullError, Internal } from "../errors.ts";
import { CONTAINER_TTL_MS, MOST_FILES } from "../llm/vendor-limits.ts";
import { logFault } from "../log.ts";
import { counted } from "../plural.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { mediaTypeOf } from "../skill/media.ts";
import type { RunContext } from "./context.ts";
import { digested } from "./digest.ts";
import { keepable, numbered } from "./file-names.ts";
import { fileContent, findFile, newFileId, readFile, type StoredFile } from "./files.ts";
import { lazily } from "./large-body.ts";
import { type NotStored, storedOrNot } from "./not-stored.ts";
import { doesNotFit } from "./served-files.ts";
import { clientWorkspace, type SessionClient, sessionClient } from "./session-client.ts";
import { saveFile } from "./stored-files.ts";
import { allFiles, type FileIntent, type WorkspaceAccess, type WorkspaceFile } from "./workspace/access.ts";
import { openContent, writeFile } from "./workspace/store.ts";

const CONTAINER_ID = /^container_01[0-9a-f]{32}$/;
/** The purpose that OpenAI's clients see for a file that code made. */
const PURPOSE = "assistants_output";

/** A file that code left for the user. */
export interface GeneratedFile {
  file_id: string;
  filename: string;
  mime_type: string;
  size_bytes: number;
}

/** Where to look for files for the user. */
interface GeneratedFrom {
  /** Look in the whole work folder, not only in the output folder. */
  anywhere: boolean;
  /** Files to ignore while they are unchanged: copies of a skill's files, SHA-256 by path. */
  copies: ReadonlyMap<string, string>;
}

interface Generated {
  files: GeneratedFile[];
  missing: NotStored[];
  /** Number of files beyond the most that Hull stores; 0 or less: none. */
  beyond: number;
}

export interface Container {
  id: string;
  /** RFC 3339. */
  expires_at: string;
  /** RFC 3339. */
  created_at: string;
  last_active_at: string;
  /** The metadata given when it was created. */
  metadata: JsonObject;
  workspace: WorkspaceAccess;
  /** Stores the files that are new or changed since the last call, for the user. */
  generated(from: GeneratedFrom): Promise<Generated>;
  /** Reads the bytes of one of these files; `null`: R2 failed again, or the file is gone. */
  read(file: GeneratedFile): Promise<Uint8Array | null>;
}

/** How long a container stays after a command or a change of its files, in ms. @param metadata as of `Container` */
export function containerTtl({ expires_minutes }: JsonObject): number {
  return typeof expires_minutes === "number" ? expires_minutes * 60_000 : CONTAINER_TTL_MS;
}

const GIB = 1024 ** 3;

/** The limits that the container's creator set for code. @param metadata as in `Container` */
export function codeTerms({ network, memory_limit }: JsonObject): CodeTerms {
  const gib = typeof memory_limit === "string" ? Number.parseInt(memory_limit, 10) : Number.NaN;
  return {
    ...(Array.isArray(network) ? { network: network.map(String) } : {}),
    ...(Number.isNaN(gib) ? {} : { memory_bytes: gib * GIB }),
  };
}

/**
 * Opens a container, or creates a new one.
 * @param about settings of a new container; `null`: it must exist
 * @throws CallNotFound for an id that is unknown, expired, or of another tenant
 */
export async function openContainer(
  context: RunContext,
  id: string,
  about: JsonObject | null = null,
): Promise<Container> {
  const missing = missingContainer(id);
  if (!CONTAINER_ID.test(id)) throw missing;
  const session = sessionClient(context, id);
  if (about !== null) {
    await session.ask("open", {
      metadata: { ...about, container: true },
      request_hash: null,
      imported: null,
    });
  }
  const client = asContainer(session);
  const { updated_at, created_at, metadata } = await client.ask("view", null);
  if (Date.parse(updated_at) + containerTtl(metadata) < Date.now()) throw missing;
  const workspace = clientWorkspace(client);
  const before = about === null ? await allFiles(workspace) : [];
  const known = new Map(before.map(({ path, sha256 }) => [path, sha256]));
  return {
    id,
    expires_at: new Date(Date.now() + containerTtl(metadata)).toISOString(),
    created_at,
    last_active_at: updated_at,
    metadata,
    workspace,
    async generated({ anywhere, copies }) {
      const wanted = await forUser(workspace, anywhere);
      const found = changedFiles(wanted, known, copies);
      for (const { path, sha256 } of wanted) known.set(path, sha256);
      const all = await Promise.all(
        found.slice(0, MOST_FILES).map((file) => {
          const id = newFileId();
          return storedOrNot(context, file.path, () => stored(context, workspace, file, id));
        }),
      );
      return {
        files: all.filter((file) => "file_id" in file),
        missing: all.filter((file) => "full" in file),
        beyond: found.length - MOST_FILES,
      };
    },
    read: ({ file_id }) =>
      fileBytes(context, file_id).catch((error: unknown) => {
        logFault(context, { event: "file_not_sent", file: file_id }, error);
        return null;
      }),
  };
}

async function fileBytes(context: RunContext, id: string): Promise<Uint8Array> {
  const { bytes } = await fileContent(context, await findFile(context, id));
  return bytes;
}

/**
 * Creates a container with stored files in its input folder. If a file is missing, removes the container again.
 * @param made `digits`: 32 hex digits for its id, and `about` its settings
 * @throws FileNotFound
 */
export async function makeContainer(
  context: RunContext,
  files: readonly string[],
  { digits, about }: { digits: string; about: JsonObject } = {
    digits: crypto.randomUUID().replaceAll("-", ""),
    about: {},
  },
): Promise<Container> {
  const container = await openContainer(context, `container_01${digits}`, about);
  try {
    for (const id of files) await putUpload(context, container, id);
  } catch (error) {
    // If this fails, the container expires unused.
    await removeContainer(context, container.id).catch(() => {});
    throw error;
  }
  return container;
}

/** Removes a container with its files. @throws CallNotFound if it is gone */
export async function removeContainer(context: RunContext, id: string): Promise<void> {
  await asContainer(sessionClient(context, id)).ask("remove", null);
}

const missingContainer = (id: string): HullError => new CallNotFound({ what: "container", id });

/**
 * The client of a container's session. If the session is gone, even if somebody deleted it meanwhile, the error says
 * that the container is missing.
 */
const asContainer = ({ id, ask }: SessionClient): Pick<SessionClient, "ask"> => ({
  ask: async (type, input) => {
    try {
      return await ask(type, input);
    } catch (error) {
      throw CallNotFound.matches(error) ? missingContainer(id) : error;
    }
  },
});

/** The files that are new or changed. @param known earlier SHA-256 by path @param copies see `GeneratedFrom` */
const changedFiles = (
  files: readonly WorkspaceFile[],
  known: ReadonlyMap<string, string>,
  copies: GeneratedFrom["copies"],
): WorkspaceFile[] =>
  files.filter(({ path, sha256 }) => known.get(path) !== sha256 && copies.get(path) !== sha256);

/**
 * Watches the work folder. The function that it returns lists the files made since then, as text for the model.
 * @param copies see `GeneratedFrom`
 */
export async function watchMade(
  workspace: WorkspaceAccess,
  copies: ReadonlyMap<string, string>,
): Promise<() => Promise<string>> {
  const listed = async () => (await allFiles(workspace)).filter(({ path }) => isMade(path));
  const before = new Map((await listed()).map(({ path, sha256 }) => [path, sha256]));
  return async () => {
    const made = changedFiles(await listed(), before, copies);
    const lines = made.slice(0, MOST_FILES).map(({ path, size }) => `- ${path} (${counted(size, "byte")})`);
    const beyond = made.length - MOST_FILES;
    const more = beyond <= 0 ? "" : `\nThe user does not get ${counted(beyond, "further file")}.`;
    return lines.length === 0 ? "" : `Files that are given to the user:\n${lines.join("\n")}${more}`;
  };
}

/** The folder that notes which stored files the input folder got, and under which paths. */
export const UPLOAD_NOTES = ".hull/uploads/";

/**
 * Puts a stored file into the input folder, once: clients send the whole conversation again, and tools may have changed
 * the file since. If another file has its name, its own gets a number.
 * @throws FileNotFound; InvalidRequest if the folder cannot hold it
 */
export async function putUpload(context: RunContext, { workspace }: Container, id: string): Promise<void> {
  const { env } = context;
  const file = await findFile(context, id);
  const note = `${UPLOAD_NOTES}${id}`;
  if ((await workspace.findFile(note)) !== null) return;
  const write = async (
    { path, expected }: Pick<FileIntent, "path" | "expected">,
    size: number,
    body: Parameters<typeof writeFile>[3],
  ): Promise<boolean> => {
    const outcome = await writeFile(env.FILES, workspace, { path, expected, size }, body);
    if (!("refused" in outcome)) return true;
    if (outcome.refused === "expected") return false;
    throw doesNotFit("file_id", path);
  };
  for (;;) {
    const { path, free } = await placeOf(context, workspace, file, inputName(file.filename ?? id));
    const body = lazily(() => readFile(context, file));
    // Another request may have taken the path meanwhile.
    if (free && !(await write({ path, expected: "none" }, file.size, body))) continue;
    const text = utf8(path);
    await write({ path: note, expected: null }, text.length, [text]);
    return;
  }
}

/** Where a stored file belongs in the input folder: a free path, or that of a file with the same content. */
async function placeOf(
  owner: Owner,
  workspace: WorkspaceAccess,
  file: StoredFile,
  name: string,
): Promise<{ path: string; free: boolean }> {
  for (let count = 1; ; count++) {
    const path = `${CODE_FOLDERS.input}/${numbered(name, count)}`;
    const other = await workspace.findFile(path);
    if (other === null) return { path, free: true };
    if (other.size === file.size && other.sha256 === (await digestOf(owner, file)))
      return { path, free: false };
  }
}

/** A stored file's name as that of a file in the input folder. */
const inputName = (filename: string): string =>
  keepable(
    filename
      .normalize("NFC")
      .replace(/[/\\]/g, "_")
      .replace(/^\.{1,2}$/, "_"),
  );

async function digestOf(owner: Owner, file: StoredFile): Promise<string> {
  const { body, sha256 } = digested(await readFile(owner, file));
  for await (const _ of body);
  return sha256;
}

/** Digests of the files for the user, by path. */
export async function filesForUser(
  { workspace }: Pick<Container, "workspace">,
  { anywhere }: Pick<GeneratedFrom, "anywhere">,
): Promise<Record<string, string>> {
  const files = await forUser(workspace, anywhere);
  return Object.fromEntries(files.map(({ path, sha256 }) => [path, sha256]));
}

async function forUser(workspace: WorkspaceAccess, anywhere: boolean): Promise<WorkspaceFile[]> {
  const files = await allFiles(workspace, anywhere ? null : OUTPUT);
  return files.filter(({ path }) => (anywhere ? isMade(path) : isOutput(path)));
}

const CONTAINER_FILE = "cfile_";

/** The id of a file in its container: its path, in hex digits of UTF-8. */
export const containerFileId = (path: string): string => CONTAINER_FILE + toHex(utf8(path));

/** The path that such an id encodes; `null`: the id is malformed. */
export function containerFilePath(id: string): string | null {
  const digits = /^cfile_((?:[0-9a-f]{2})+)$/.exec(id)?.[1];
  return digits === undefined ? null : utf8OrNull(fromHex(digits));
}

const OUTPUT = `${CODE_FOLDERS.output}/`;

/** Whether a file is directly in the output folder. */
const isOutput = (path: string): boolean =>
  path.startsWith(OUTPUT) && !path.slice(OUTPUT.length).includes("/");

/** The user did not send it, and it is not hidden, a cache or a package. */
const isMade = (path: string): boolean =>
  !path.startsWith(`${CODE_FOLDERS.input}/`) &&
  !/(?:^|\/)(?:\.|__pycache__\/|node_modules\/|site-packages\/)/.test(path);

/** Stores one file for the user under an id, and is safe to repeat. @throws StorageQuotaExceeded */
async function stored(
  context: RunContext,
  workspace: WorkspaceAccess,
  { path, size }: WorkspaceFile,
  id: string,
): Promise<GeneratedFile> {
  const found = await workspace.findFile(path);
  const opened = found === null ? null : await openContent(context.env.FILES, found);
  if (opened === null) {
    // A refusal means that somebody deleted the container meanwhile.
    await workspace.workspaceVersion();
    throw new Internal({ cause: `a container lost ${path}` });
  }
  const filename = path.slice(path.lastIndexOf("/") + 1);
  const mime = mediaTypeOf(filename);
  const settled = { purpose: PURPOSE, downloadable: true, expires_ms: null };
  await saveFile(context, { filename, mime }, opened.body, () => settled, id);
  return { file_id: id, filename, mime_type: mime, size_bytes: size };
}
