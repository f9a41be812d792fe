/** Signs positions in lists, so that nobody can forge a cursor or use it for another list, tenant or filter. */
import { toHex, utf8 } from "../bytes.ts";
import { keySource } from "../derived-key.ts";

/** Hex digits of a seal: 128 bits. */
const LENGTH = 32;
/** Without a secret, the seal detects a cursor of another list, but not a forged one. */
const NO_SECRET = "no secret";

export class ListSeal {
  readonly #secret: string;
  #key: CryptoKey | null = null;

  /** @param secret of the deployment; `null`: it has none, and cursors can be forged */
  constructor(secret: string | null) {
    this.#secret = secret ?? NO_SECRET;
  }

  /** @param parts tenant, list, filters and position */
  async of(parts: readonly (string | number)[]): Promise<string> {
    this.#key ??= await (await keySource(this.#secret)).hmac("key of list positions");
    const mac = await crypto.subtle.sign("HMAC", this.#key, utf8(JSON.stringify(parts)));
    return toHex(new Uint8Array(mac)).slice(0, LENGTH);
  }
}
