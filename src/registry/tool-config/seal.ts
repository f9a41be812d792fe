/**
 * Secrets at rest: AES-256-GCM (NIST SP 800-38D) with a random nonce for each value, under a key that HKDF (RFC 5869)
 * derives from a key of `HULL_SECRET_KEY`. The purpose of a value is authenticated with it, so a sealed value is
 * useless for another purpose.
 */
import { fromHex, toHex, utf8 } from "../../bytes.ts";
import { keySource } from "../../derived-key.ts";
import { SecretKeyMissing } from "../../errors/request.ts";

/** The purpose of a secret. */
export interface SealedFor {
  tenant: string;
  slug: string;
  /** The tenant that uploaded the skill; `null`: it is published. No other skill of this name can open it. */
  owner: string | null;
  tool: string;
  param: string;
  /** The bot, `""` for all; `null`: one call. */
  bot: string | null;
}

/** The purpose of a login at an MCP server, or of what belongs to one that has begun. */
interface SealedLogin {
  login: "stored" | "begun";
  /** The server's name in hull.toml, and its address. */
  server: string;
  url: string;
}

const NONCE_BYTES = 12;
/** Bytes that identify the key. */
const ID_BYTES = 4;
const VERSION = "v1.";

interface SealKey {
  id: string;
  aes: CryptoKey;
}

/** Seals and opens with a deployment's keys. */
export class Sealer {
  readonly #secrets: readonly string[];
  readonly #derived = new Map<string, SealKey>();

  /** @param secrets the keys of `HULL_SECRET_KEY`: the first one seals, all of them open */
  constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
  }

  /** @throws SecretKeyMissing */
  async seal(secret: string, use: SealedFor | SealedLogin): Promise<string> {
    const { id, aes } = await this.#first();
    const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
    const text = await crypto.subtle.encrypt(algorithm(nonce, use), aes, utf8(secret));
    return `${VERSION}${id}${toHex(nonce)}${toHex(new Uint8Array(text))}`;
  }

  /**
   * The secret; `null`: no key opens it, or it was sealed for another purpose.
   * @throws SecretKeyMissing
   */
  async unseal(sealed: string, use: SealedFor | SealedLogin): Promise<string | null> {
    const keys = await Promise.all(this.#usable().map((secret) => this.#key(secret)));
    const key = keys.find(({ id }) => sealed.startsWith(VERSION + id));
    if (key === undefined) return null;
    const digits = sealed.slice(VERSION.length + 2 * ID_BYTES);
    if (!/^(?:[0-9a-f]{2})+$/.test(digits)) return null;
    const bytes = fromHex(digits);
    const nonce = bytes.subarray(0, NONCE_BYTES);
    try {
      const text = await crypto.subtle.decrypt(algorithm(nonce, use), key.aes, bytes.subarray(NONCE_BYTES));
      return new TextDecoder().decode(text);
    } catch {
      return null;
    }
  }

  /** Whether the first key sealed it. @throws SecretKeyMissing */
  async isCurrent(sealed: string): Promise<boolean> {
    const { id } = await this.#first();
    return sealed.startsWith(VERSION + id);
  }

  #first(): Promise<SealKey> {
    return this.#key(this.#usable()[0] ?? "");
  }

  #usable(): readonly string[] {
    const secrets = this.#secrets;
    if (secrets.length === 0) throw new SecretKeyMissing({ reason: "HULL_SECRET_KEY is not set" });
    return secrets;
  }

  async #key(secret: string): Promise<SealKey> {
    const key = this.#derived.get(secret) ?? (await derive(secret));
    this.#derived.set(secret, key);
    return key;
  }
}

async function derive(secret: string): Promise<SealKey> {
  const source = await keySource(secret);
  const id = await source.bits("id of a key of tool configuration", 8 * ID_BYTES);
  return { id: toHex(new Uint8Array(id)), aes: await source.aes("key of tool configuration") };
}

const algorithm = (iv: Uint8Array, use: SealedFor | SealedLogin) => ({
  name: "AES-GCM",
  iv,
  additionalData: utf8(JSON.stringify(purposeOf(use))),
});

function purposeOf(use: SealedFor | SealedLogin): readonly (string | null)[] {
  if ("login" in use) return ["mcp", use.login, use.server, use.url];
  const { tenant, slug, owner, tool, param, bot } = use;
  return [tenant, slug, owner, tool, param, bot];
}
