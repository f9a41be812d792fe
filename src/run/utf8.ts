/** Text from bytes of outside sources. */
import { BadEncoding } from "../errors/request.ts";

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Strict UTF-8. @throws BadEncoding naming `what` */
export function decodeUtf8(bytes: Uint8Array, what: string): string {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    throw new BadEncoding({ what });
  }
}

/** Strict UTF-8; `null` if the bytes are not UTF-8. */
export function utf8OrNull(bytes: Uint8Array): string | null {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return null;
  }
}
