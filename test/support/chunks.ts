/** Byte streams in arbitrary pieces. */

/** The data cut at these offsets, which wrap around its length; some pieces may be empty. */
export function cutAt(data: Uint8Array, points: readonly number[]): Uint8Array<ArrayBuffer>[] {
  const ends = points.map((point) => point % (data.length + 1)).sort((a, b) => a - b);
  return [...ends, data.length].map((end, n) => data.slice(ends[n - 1] ?? 0, end));
}

export function join(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat(parts));
}
