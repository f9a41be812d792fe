/** Splits long values into several rows: SQLite in a Durable Object limits a row to 2 MB. */

/** Bytes of one row. */
export const CHUNK_BYTES = 256 * 1024;

/** Splits bytes into parts for rows; no bytes give one empty part. */
export function* rowChunks(bytes: Uint8Array): Generator<[part: number, data: Uint8Array]> {
  for (let part = 0; part === 0 || part * CHUNK_BYTES < bytes.length; part += 1) {
    yield [part, bytes.subarray(part * CHUNK_BYTES, (part + 1) * CHUNK_BYTES)];
  }
}
