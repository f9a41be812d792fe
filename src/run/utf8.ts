/** Text from bytes of outside sources. */
import { unmarkedUtf8 } from "../bytes.ts";
import { BadEncoding } from "../errors/request.ts";

/** Strict UTF-8, without a byte order mark (RFC 8259 §8.1). @throws BadEncoding naming `what` */
export function decodeUtf8(bytes: Uint8Array, what: string): string {
  const text = unmarkedUtf8(bytes);
  if (text === null) throw new BadEncoding({ what });
  return text;
}
