/** Reads files that processes may change at any moment, and detects changes. */
import { createHash } from "node:crypto";
import { type BigIntStats, readSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { MAX_FRAME_BYTES } from "../src/tool/protocol.ts";

/** Identifies a file with its present content. */
export function markOf({ ino, size, mtimeNs, ctimeNs, mode }: BigIntStats): string {
  return `${ino} ${size} ${mtimeNs} ${ctimeNs} ${mode}`;
}

export function isExecutable({ mode }: BigIntStats): boolean {
  return (mode & 0o100n) !== 0n;
}

/** Reads a file that may change during the read; null if it has more than `limit` bytes. @param keep copies the bytes */
export async function readOnce(
  from: FileHandle,
  limit: number,
  keep: (bytes: Uint8Array) => unknown,
): Promise<{ sha256: string; size: number } | null> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const bytes of pieces(from)) {
    size += bytes.length;
    if (size > limit) return null;
    hash.update(bytes);
    await keep(bytes);
  }
  return { sha256: hash.digest("hex"), size };
}

/** The bytes of a file, to its end. @param size so many of them, or a RangeError if the file has shrunk */
export async function* pieces(
  file: FileHandle,
  size = Number.POSITIVE_INFINITY,
): AsyncGenerator<Uint8Array, void> {
  const buffer = Buffer.allocUnsafe(Math.min(MAX_FRAME_BYTES, size));
  for (let at = 0; at < size; ) {
    const length = Math.min(buffer.length, size - at);
    // Most files are no longer than the first piece, and a thread would take longer than the read.
    const bytesRead =
      at === 0
        ? readSync(file.fd, buffer, 0, length, at)
        : (await file.read(buffer, 0, length, at)).bytesRead;
    if (bytesRead === 0 && size === Number.POSITIVE_INFINITY) return;
    if (bytesRead === 0) throw new RangeError("a file shrank while it was read");
    yield buffer.subarray(0, bytesRead);
    if (bytesRead < length && size === Number.POSITIVE_INFINITY) return;
    at += bytesRead;
  }
}
