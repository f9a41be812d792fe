/** Binds positions in lists to the list and its caller: nobody can invent one, or use it elsewhere. */
import { keySource } from "../derived-key.ts";
import { hex } from "./api-key.ts";

/** Hex digits of a seal: 128 bits. */
const LENGTH = 32;
/** In a deployment without a secret, a seal still distinguishes lists. */
const NO_SECRET = "no secret";

export class ListSeal {
  readonly #secret: string;
  #key: CryptoKey | null = null;

  /** @param secret of the deployment; `null`: it has none */
  constructor(secret: string | null) {
    this.#secret = secret ?? NO_SECRET;
  }

  /** @param parts the owner of the list, its content, and the position */
  async of(parts: readonly (string | number)[]): Promise<string> {
    this.#key ??= await (await keySource(this.#secret)).hmac("key of list positions");
    const text = new TextEncoder().encode(JSON.stringify(parts));
    return hex(await crypto.subtle.sign("HMAC", this.#key, text)).slice(0, LENGTH);
  }
}
