/** Content on its way into a workspace. It is streamed to R2, hashed and counted before the manifest learns of it. */
import { fromBase64 } from "../../bytes.ts";
import { Internal } from "../../errors.ts";
import { digested } from "../digest.ts";
import { storeBody } from "../files.ts";
import { type Body, type BodyStorage, readWhole } from "../large-body.ts";
import type { FileIntent, Outcome, Refusal, StoredContent, WorkspaceAccess } from "./access.ts";

/** The bytes of a content, in memory; `null`: R2 lacks it. */
export async function readContent(
  bucket: R2Bucket,
  { key, base64 }: StoredContent,
): Promise<Uint8Array | null> {
  return base64 === undefined ? readWhole(bucket, key) : fromBase64(base64);
}

/** A content as it is read, asked for once; `null`: R2 lacks it. */
export async function openContent(
  bucket: R2Bucket,
  { key, base64 }: StoredContent,
): Promise<{ size: number; body: Body } | null> {
  if (base64 === undefined) return bucket.get(key);
  const bytes = fromBase64(base64);
  return { size: bytes.length, body: [bytes] };
}

/** The result of a write, including the content if it was stored. */
type Written = Refusal | (Exclude<Outcome, Refusal> & { sha256: string; size: number });

/**
 * Writes one file, unless the write is refused, before or after its content was stored. An existing file keeps its
 * executable flag.
 */
export async function writeFile(
  bucket: R2Bucket,
  workspace: WorkspaceAccess,
  intent: FileIntent,
  content: Body,
): Promise<Written> {
  const { path, expected } = intent;
  const begun = await workspace.beginFile(intent);
  if ("refused" in begun) return begun;
  const { key } = begun;
  const stored = await storeContent(bucket, workspace, key, content);
  const write = { kind: "write", path, key, ...stored, executable: null, expected } as const;
  const [outcome] = await workspace.changeFiles([write]);
  if (outcome === undefined) throw new Internal({ cause: "a change without an outcome" });
  return "refused" in outcome ? outcome : { ...outcome, ...stored };
}

/** @param key from `beginFile`; if no file uses the content, the workspace removes it */
export async function storeContent(
  bucket: R2Bucket,
  workspace: Pick<WorkspaceAccess, "noteUpload">,
  key: string,
  content: Body,
): Promise<{ sha256: string; size: number }> {
  const { body, sha256 } = digested(content);
  const storage: BodyStorage = {
    bucket,
    key: () => key,
    note: async (_, uploadId) => {
      if (uploadId !== null) await workspace.noteUpload(key, uploadId);
    },
  };
  const size = await storeBody(storage, body, null);
  return { sha256: await sha256, size };
}

/** A key for a content whose file may still be refused: whether there is room is known after earlier changes. */
export async function keyFor(workspace: Pick<WorkspaceAccess, "beginFile">): Promise<string> {
  const begun = await workspace.beginFile(null);
  if ("refused" in begun) throw new Internal({ cause: `a file is refused: ${begun.refused}` });
  return begun.key;
}

/** A content that is stored as it arrives. If storing fails, its own error gives the reason. */
export class ArrivingContent {
  readonly key: string;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #stored: ReturnType<typeof storeContent>;

  /** @param key from `keyFor` */
  constructor(bucket: R2Bucket, workspace: WorkspaceAccess, key: string) {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    this.key = key;
    this.#writer = writable.getWriter();
    this.#stored = storeContent(bucket, workspace, key, readable);
    this.#stored.catch(() => {});
  }

  async write(bytes: Uint8Array): Promise<void> {
    await Promise.race([this.#writer.write(bytes), this.#stored]);
  }

  /** After the last byte. */
  async end(): ReturnType<typeof storeContent> {
    await Promise.race([this.#writer.close(), this.#stored]);
    return this.#stored;
  }

  /** Drops what arrived. */
  async abandon(): Promise<void> {
    await this.#writer.abort().catch(() => {});
  }
}
