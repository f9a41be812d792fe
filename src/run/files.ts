/**
 * Files of tenants in R2: those that clients uploaded and those that runs produced. The key contains the tenant, so
 * nobody can find another tenant's file. Every key is recorded in the tenant's FileIndexObject before a file is stored
 * under it; that object removes expired files.
 */
import { askedAgain } from "../asked-again.ts";
import type { FileIndexRpc, IdempotentUpload, Owner } from "../env.ts";
import { FileNotFound } from "../errors/request.ts";
import type { FileDocument } from "./answers.ts";
import { digested } from "./digest.ts";
import {
  type Body,
  type BodyStorage,
  HELD_BYTES,
  holdOrStore,
  openObject,
  readWhole,
  storeSized,
  storeWhole,
} from "./large-body.ts";
import { askObject } from "./object.ts";

/** How long clients can fetch a file, in ms. */
export const PRODUCED_TTL_MS = 3_600_000;
export const UPLOADED_TTL_MS = 24 * 3_600_000;
/**
 * How long a run's input may stay in R2, in ms. The process that stored it removes it earlier, unless that process
 * died.
 */
const INPUT_TTL_MS = 3_600_000;

export interface NewFile {
  /** `null`: it has no name. */
  filename: string | null;
  /** Media type with parameters. */
  mime: string;
  ttl_ms: number;
  /** In bytes, if known beforehand. */
  size: number | null;
}

/** `file_01…`, as Anthropic's ids begin: 32 hex digits after `file_`. */
export const newFileId = (): string => fileIdOf(crypto.randomUUID().replaceAll("-", ""));
/** @param digits 32 hex digits */
export const fileIdOf = (digits: string): string => `file_01${digits.slice(2)}`;

/** Stores a file. If its body breaks off, nothing is stored. */
export async function storeFile(
  owner: Owner,
  { filename, mime, ttl_ms, size: knownSize }: NewFile,
  content: Body | Uint8Array,
): Promise<FileDocument> {
  const id = newFileId();
  const now = Date.now();
  const expiresAt = now + ttl_ms;
  let noted = false;
  const storage: BodyStorage = {
    bucket: owner.env.FILES,
    key: () => fileKey(owner, id),
    options: {
      httpMetadata: { contentType: mime },
      customMetadata: {
        ...(filename === null ? {} : { filename: encodeURIComponent(filename) }),
        expires_at: String(expiresAt),
      },
    },
    note: (key, uploadId) => {
      noted = true;
      return askIndex(owner, (index) => index.keep(key, expiresAt, uploadId));
    },
  };
  const { body, sha256 } = digested(content instanceof Uint8Array ? [content] : content);
  try {
    const size = await storeBody(storage, body, knownSize);
    const times = { created_at: new Date(now).toISOString(), expires_at: new Date(expiresAt).toISOString() };
    return { id, filename, mime, size, sha256: await sha256, ...times };
  } catch (error) {
    // If this fails, the index removes the file later.
    if (noted) await dropFile(owner, id).catch(() => {});
    throw error;
  }
}

/** Stores a body; returns the number of its bytes. */
export async function storeBody(storage: BodyStorage, body: Body, knownSize: number | null): Promise<number> {
  if (knownSize !== null && knownSize > HELD_BYTES) return (await storeSized(storage, body, knownSize)).size;
  const content = await holdOrStore(storage, body);
  return content instanceof Uint8Array ? (await storeWhole(storage, content)).size : content.size;
}

export interface StoredFile extends Pick<FileDocument, "id" | "filename" | "mime" | "size"> {
  key: string;
  /** A strong validator: what an id refers to never changes. */
  etag: string;
}

/** Finds a tenant's file without reading it; `null` for an unknown, foreign or expired id. */
export async function lookUpFile(owner: Owner, id: string): Promise<StoredFile | null> {
  if (!/^file_[0-9a-f]{32}$/.test(id)) return null;
  const key = fileKey(owner, id);
  const object = await askedAgain(() => owner.env.FILES.head(key));
  const { filename, expires_at } = object?.customMetadata ?? {};
  if (object === null || Number(expires_at) <= Date.now()) return null;
  return {
    id,
    key,
    filename: filename === undefined ? null : decodeURIComponent(filename),
    mime: object.httpMetadata?.contentType ?? "application/octet-stream",
    size: object.size,
    etag: object.httpEtag,
  };
}

/** @throws FileNotFound for an id that is unknown, expired, or of another tenant */
export async function findFile(owner: Owner, id: string): Promise<StoredFile> {
  const file = await lookUpFile(owner, id);
  if (file === null) throw new FileNotFound({ id });
  return file;
}

/** The bytes of a file. @throws FileNotFound if it was removed since */
export async function readFile({ env }: Owner, { id, key }: StoredFile): Promise<ReadableStream<Uint8Array>> {
  const object = await openObject(env.FILES, key);
  if (object === null) throw new FileNotFound({ id });
  return object.body;
}

/** A stored file as a part of a message. */
export interface FileContent {
  /** Media type, without parameters. */
  mime: string;
  filename: string | null;
  bytes: Uint8Array;
}

/** A whole file. @throws FileNotFound if it was removed since */
export async function fileContent({ env }: Owner, file: StoredFile): Promise<FileContent> {
  const { id, key, mime, filename } = file;
  const bytes = await readWhole(env.FILES, key);
  if (bytes === null) throw new FileNotFound({ id });
  return { mime: mime.split(";")[0] ?? "", filename, bytes };
}

/** Removes a file, and the record of its upload. */
export function dropFile(owner: Owner, id: string): Promise<void> {
  return askIndex(owner, (index) => index.drop([fileKey(owner, id)]));
}

/** Makes an upload the answer to all later uploads of the same name. If there is an earlier one, returns that. */
export function claimUpload(
  owner: Owner,
  id: string,
  upload: IdempotentUpload,
): Promise<IdempotentUpload | null> {
  return askIndex(owner, (index) => index.claim(fileKey(owner, id), upload));
}

/** Where the parts of an input go that are too large for memory; `stored` collects their keys for `dropInput`. */
export function inputStorage(owner: Owner, stored: string[]): BodyStorage {
  return {
    bucket: owner.env.FILES,
    key: () => `inputs/${owner.tenant}/${crypto.randomUUID()}`,
    note: (key, uploadId) => {
      stored.push(key);
      return askIndex(owner, (index) => index.keep(key, Date.now() + INPUT_TTL_MS, uploadId));
    },
  };
}

/**
 * How long files may stay in R2 that only one process knows, in ms. It removes or releases them earlier, unless it died.
 */
const TEMPORARY_TTL_MS = 24 * 3_600_000;

/** Records a key for a file that only this process knows. @param uploadId of a multipart upload */
export function keepTemporary(owner: Owner, key: string, uploadId: string | null): Promise<void> {
  return askIndex(owner, (index) => index.keep(key, Date.now() + TEMPORARY_TTL_MS, uploadId));
}

/** Keeps the objects of `keepTemporary`: from now on, something else knows them. */
export async function releaseTemporary(owner: Owner, keys: string[]): Promise<void> {
  if (keys.length > 0) await askIndex(owner, (index) => index.release(keys));
}

/** Removes a used input, or the files of an ended run. */
export function dropInput(owner: Owner, stored: string[]): Promise<void> {
  return askIndex(owner, (index) => index.drop(stored));
}

/** The R2 key of a file. */
export function fileKey({ tenant }: Pick<Owner, "tenant">, id: string): string {
  return `files/${tenant}/${id}`;
}

function askIndex<T>(
  { env, tenant }: Owner,
  ask: (index: DurableObjectStub<FileIndexRpc>) => Promise<T>,
): Promise<T> {
  return askObject(env.FILE_INDEX, tenant, ask);
}
