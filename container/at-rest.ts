/**
 * What processes have said, as it lies on the runner's disk: AES-256 in counter mode, under a key derived from the runner's
 * secret, which in a container is in memory alone. A process may say what nobody is to find there: a value of its
 * environment, a configured secret, a user's text. Who may ask the runner for it again gets it as it was.
 */
import { createCipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";

/** Random bytes that tell one log from all others; the rest of the counter's block counts. */
const NONCE_BYTES = 10;
const BLOCK_BYTES = 16;
const ID_CHARS = 16;

/** How one log is written. */
export interface Sealed {
  /** Hex. */
  nonce: string;
  /** Which key it was. */
  key: string;
}

export class AtRest {
  readonly #secret: () => Buffer;
  #known: { secret: Buffer; key: Buffer; id: string } | null = null;

  /** @param secret the runner's; asked for when the first log is written or read */
  constructor(secret: () => Buffer) {
    this.#secret = secret;
  }

  /** For a new log. */
  fresh(): Sealed {
    return { nonce: randomBytes(NONCE_BYTES).toString("hex"), key: this.#current().id };
  }

  /** Whether this runner's secret is the one that it was written under. */
  opens({ key }: Sealed): boolean {
    return key === this.#current().id;
  }

  /** Bytes that are, or will be, at this offset of the log: sealed from plain, plain from sealed. */
  turn({ nonce }: Sealed, offset: number, bytes: Uint8Array): Buffer {
    const counter = Buffer.alloc(BLOCK_BYTES);
    counter.write(nonce, "hex");
    counter.writeUIntBE(Math.floor(offset / BLOCK_BYTES), NONCE_BYTES, BLOCK_BYTES - NONCE_BYTES);
    const cipher = createCipheriv("aes-256-ctr", this.#current().key, counter);
    cipher.update(Buffer.alloc(offset % BLOCK_BYTES));
    return cipher.update(bytes);
  }

  #current(): { key: Buffer; id: string } {
    const secret = this.#secret();
    if (this.#known?.secret !== secret) {
      const key = Buffer.from(hkdfSync("sha256", secret, "", "hull runner journal", 32));
      const id = createHash("sha256").update(key).digest("hex").slice(0, ID_CHARS);
      this.#known = { secret, key, id };
    }
    return this.#known;
  }
}
