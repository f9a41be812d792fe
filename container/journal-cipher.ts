/**
 * Encrypts the output of processes on the runner's disk: AES-256 in counter mode, under a key derived from the runner's
 * secret, which in a container is only in memory. Output may contain what nobody should find on the disk: a value of the
 * environment, a configured secret, a user's text. A caller that may ask the runner for the output gets it unchanged.
 */
import { createCipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";

/** Random bytes that are different for each log; the rest of the counter's block is the counter. */
const NONCE_BYTES = 10;
const BLOCK_BYTES = 16;
const ID_CHARS = 16;

/** How one log is encrypted. */
export interface EncryptionParams {
  /** Hex. */
  nonce: string;
  /** Identifies the key. */
  key: string;
}

export class JournalCipher {
  readonly #secret: () => Buffer;
  #known: { secret: Buffer; key: Buffer; id: string } | null = null;

  /** @param secret returns the runner's secret; called when the first log is written or read */
  constructor(secret: () => Buffer) {
    this.#secret = secret;
  }

  /** For a new log. */
  newParams(): EncryptionParams {
    return { nonce: randomBytes(NONCE_BYTES).toString("hex"), key: this.#current().id };
  }

  /** Whether the log was written with this runner's secret. */
  canDecrypt({ key }: EncryptionParams): boolean {
    return key === this.#current().id;
  }

  /** Encrypts or decrypts bytes at this offset of the log. */
  transform({ nonce }: EncryptionParams, offset: number, bytes: Uint8Array): Buffer {
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
