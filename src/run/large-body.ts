/** Bodies of any length: in memory while they are short, in R2 beyond that (serving.md, platform facts). */

/** Bytes that stay in memory, and bytes of one part of an upload. */
export const HELD_BYTES = 8 * 1024 * 1024;

/**
 * Reads a body to its end. What passes `HELD_BYTES` goes to R2 under `key`, in parts, so that no more than one part is
 * ever in memory; a body that breaks off leaves nothing there.
 */
export async function holdOrStore(
  bucket: R2Bucket,
  key: string,
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<Uint8Array | { key: string; size: number }> {
  const gathered = new Gathered();
  const parts: R2UploadedPart[] = [];
  let upload: R2MultipartUpload | null = null;
  let size = 0;
  try {
    for await (const chunk of body) {
      size += chunk.length;
      let rest = chunk;
      while (gathered.bytes + rest.length > HELD_BYTES) {
        const room = HELD_BYTES - gathered.bytes;
        gathered.push(rest.subarray(0, room));
        rest = rest.subarray(room);
        upload ??= await bucket.createMultipartUpload(key);
        parts.push(await upload.uploadPart(parts.length + 1, gathered.take()));
      }
      gathered.push(rest);
    }
    if (upload === null) return gathered.take();
    parts.push(await upload.uploadPart(parts.length + 1, gathered.take()));
    await upload.complete(parts);
    return { key, size };
  } catch (error) {
    await upload?.abort();
    throw error;
  }
}

class Gathered {
  #chunks: Uint8Array[] = [];
  bytes = 0;

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.bytes += chunk.length;
  }

  take(): Uint8Array {
    const whole = new Uint8Array(this.bytes);
    let at = 0;
    for (const chunk of this.#chunks) {
      whole.set(chunk, at);
      at += chunk.length;
    }
    this.#chunks = [];
    this.bytes = 0;
    return whole;
  }
}
