/** Bodies of any length: in memory while short, in R2 beyond that. */
import { askedAgain } from "../asked-again.ts";
import { Gathered } from "../bytes.ts";
import { Internal } from "../errors.ts";

/** Bytes that stay in memory, and bytes of one part of a multipart upload. */
export const HELD_BYTES = 8 * 1024 * 1024;

export type Body = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** Bytes in memory, or in R2 if there are too many. */
export type Content = Uint8Array | { key: string; size: number };

/** The place in R2 for a body that does not stay in memory. */
export interface BodyStorage {
  bucket: R2Bucket;
  key(): string;
  /** Options of the new object. */
  options?: R2MultipartOptions & Pick<R2PutOptions, "sha256">;
  /** Called before anything is stored under a key; `uploadId`: of a multipart upload. */
  note?(key: string, uploadId: string | null): Promise<void>;
}

/** Bodies that together keep up to `HELD_BYTES` in memory. */
export class HeldBodies {
  readonly #storage: BodyStorage;
  readonly #contents: Content[] = [];
  #held = 0;

  constructor(storage: BodyStorage) {
    this.#storage = storage;
  }

  /** The bodies in order. Adding a body may move an earlier one to R2. */
  get contents(): readonly Content[] {
    return this.#contents;
  }

  /** Reads a body to its end. A body that breaks off leaves nothing in R2. */
  async add(body: Body): Promise<void> {
    const gathered = new Gathered();
    let upload: PartedUpload | null = null;
    try {
      for await (const chunk of body) {
        let rest = chunk;
        while (this.#held + gathered.bytes + rest.length > HELD_BYTES) {
          if (this.#held > 0) {
            await this.#storeHeld();
            continue;
          }
          const room = HELD_BYTES - gathered.bytes;
          gathered.push(rest.subarray(0, room));
          rest = rest.subarray(room);
          upload ??= await PartedUpload.begin(this.#storage);
          await upload.part(gathered.take());
        }
        gathered.push(rest);
      }
      const last = gathered.take();
      if (upload === null) this.#held += last.length;
      this.#contents.push(upload === null ? last : await upload.complete(last));
    } catch (error) {
      await upload?.abort().catch(() => {});
      throw error;
    }
  }

  async #storeHeld(): Promise<void> {
    for (const [index, content] of this.#contents.entries()) {
      if (content instanceof Uint8Array) this.#contents[index] = await storeWhole(this.#storage, content);
    }
    this.#held = 0;
  }
}

/** Reads one body to its end. */
export async function holdOrStore(storage: BodyStorage, body: Body): Promise<Content> {
  const bodies = new HeldBodies(storage);
  await bodies.add(body);
  return bodies.contents[0] ?? new Uint8Array(0);
}

/** Stores bytes that are in memory. */
export async function storeWhole(
  { bucket, key: newKey, options, note }: BodyStorage,
  bytes: Uint8Array,
): Promise<{ key: string; size: number }> {
  const key = newKey();
  await note?.(key, null);
  await askedAgain(() => bucket.put(key, bytes, options));
  return { key, size: bytes.length };
}

/** The bytes of an object, in memory; `null`: there is none. */
export function readWhole(bucket: R2Bucket, key: string): Promise<Uint8Array<ArrayBuffer> | null> {
  return askedAgain(async () => {
    const object = await bucket.get(key);
    return object === null ? null : new Uint8Array(await object.arrayBuffer());
  });
}

/** Opens an object, or a range of it; `null`: there is none. */
export const openObject = (
  bucket: R2Bucket,
  key: string,
  options?: R2GetOptions,
): Promise<R2ObjectBody | null> => askedAgain(() => bucket.get(key, options));

/** Stores a body of known length as it arrives. */
export async function storeSized(
  { bucket, key: newKey, options, note }: BodyStorage,
  body: Body,
  size: number,
): Promise<{ key: string; size: number }> {
  const key = newKey();
  await note?.(key, null);
  const { readable, writable } = new FixedLengthStream(size);
  const stored = bucket.put(key, readable, options);
  // If the body breaks off, its own error says why.
  stored.catch(() => {});
  const writer = writable.getWriter();
  try {
    for await (const chunk of body) await writer.write(chunk);
    await writer.close();
  } catch (error) {
    await writer.abort(error).catch(() => {});
    throw error;
  }
  await stored;
  return { key, size };
}

/** The bytes of one of `contents`, to be read once. R2 is asked when reading begins. */
export function openContent(bucket: R2Bucket, content: Content): Uint8Array | ReadableStream<Uint8Array> {
  if (content instanceof Uint8Array) return content;
  const { key } = content;
  return lazily(async () => {
    const object = await openObject(bucket, key);
    if (object === null) throw new Internal({ cause: `R2 lacks ${key}` });
    return object.body;
  });
}

/** A stream that opens when a reader asks for its first byte. */
export function lazily(open: () => Promise<ReadableStream<Uint8Array>>): ReadableStream<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reader ??= (await open()).getReader();
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel(reason) {
        await reader?.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** A multipart upload, for a body of unknown length. */
class PartedUpload {
  readonly #upload: R2MultipartUpload;
  readonly #parts: R2UploadedPart[] = [];
  #size = 0;

  private constructor(upload: R2MultipartUpload) {
    this.#upload = upload;
  }

  static async begin({ bucket, key: newKey, options, note }: BodyStorage): Promise<PartedUpload> {
    const key = newKey();
    const upload = await bucket.createMultipartUpload(key, options);
    await note?.(key, upload.uploadId);
    return new PartedUpload(upload);
  }

  async part(bytes: Uint8Array): Promise<void> {
    const number = this.#parts.length + 1;
    this.#parts.push(await askedAgain(() => this.#upload.uploadPart(number, bytes)));
    this.#size += bytes.length;
  }

  async complete(last: Uint8Array): Promise<{ key: string; size: number }> {
    await this.part(last);
    await this.#upload.complete(this.#parts);
    return { key: this.#upload.key, size: this.#size };
  }

  async abort(): Promise<void> {
    await this.#upload.abort();
  }
}
