/** Text from bytes of outside sources. */
import { utf8OrNull } from "../bytes.ts";
import { BadEncoding } from "../errors/request.ts";

/** Strict UTF-8. @throws BadEncoding naming `what` */
export function decodeUtf8(bytes: Uint8Array, what: string): string {
  const text = utf8OrNull(bytes);
  if (text === null) throw new BadEncoding({ what });
  return text;
}
