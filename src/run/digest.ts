/** SHA-256 of bytes while they are copied elsewhere. */
import { toHex } from "../bytes.ts";

/** `body` yields the same pieces. `sha256`, in hex, resolves when `body` has been read to its end. */
export function digested(body: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): {
  body: AsyncGenerator<Uint8Array, void>;
  sha256: Promise<string>;
} {
  const stream = new crypto.DigestStream("SHA-256");
  const sha256 = stream.digest.then((digest) => toHex(new Uint8Array(digest)));
  // A body that breaks off has no digest, and its reader sees the failure.
  sha256.catch(() => {});
  return { body: passed(body, stream.getWriter()), sha256 };
}

async function* passed(
  body: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  writer: WritableStreamDefaultWriter<ArrayBuffer | ArrayBufferView>,
): AsyncGenerator<Uint8Array, void> {
  let whole = false;
  try {
    for await (const piece of body) {
      await writer.write(piece);
      yield piece;
    }
    whole = true;
  } finally {
    await (whole ? writer.close() : writer.abort()).catch(() => {});
  }
}
