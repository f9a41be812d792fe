/**
 * Browsers that signed in with an API key. The cookie contains the key's SHA-256 and a time, sealed by AES-256-GCM
 * (NIST SP 800-38D) under a key that HKDF (RFC 5869) derives from a secret of the deployment. Whoever reads the cookie
 * does not learn the API key, and nobody else can make a cookie. Forms carry a token derived from the cookie, which no
 * page of another origin can read.
 */
import { concat, fromBase64Url, sha256, toBase64Url, utf8 } from "../bytes.ts";
import { keySource } from "../derived-key.ts";
import { SecretKeyMissing } from "../errors/request.ts";

/** How long a browser stays signed in, in s. */
export const SIGNED_IN_S = 12 * 60 * 60;

/** The content of a cookie. */
export interface SignIn {
  /** SHA-256 of the API key, hexadecimal. */
  hash: string;
  /** The token in forms of this browser. */
  token: string;
  /** SHA-256 of the cookie, hexadecimal. */
  id: string;
  /** When the cookie is too old, Unix ms. */
  until: number;
}

interface Keys {
  seal: CryptoKey;
  token: CryptoKey;
}

const NONCE_BYTES = 12;

export class SignIns {
  readonly #secret: string | null;
  #keys: Keys | null = null;

  /** @param secret of the deployment; `null`: it has none */
  constructor(secret: string | null) {
    this.#secret = secret;
  }

  /** The cookie of a browser that signed in. @param hash of the key @param now Unix ms @throws SecretKeyMissing */
  async seal(hash: string, now: number): Promise<string> {
    const { seal } = await this.#derived();
    const iv = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
    const text = utf8(`${hash}.${now + SIGNED_IN_S * 1000}`);
    const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, seal, text);
    return toBase64Url(concat([iv, new Uint8Array(sealed)]));
  }

  /** The content of a cookie; `null`: it does not belong to the deployment, or is too old. @param now Unix ms */
  async open(cookie: string, now: number): Promise<SignIn | null> {
    if (this.#secret === null) return null;
    const { seal, token } = await this.#derived();
    try {
      const bytes = fromBase64Url(cookie);
      const iv = bytes.subarray(0, NONCE_BYTES);
      const text = await crypto.subtle.decrypt({ name: "AES-GCM", iv }, seal, bytes.subarray(NONCE_BYTES));
      const [hash = "", end = ""] = new TextDecoder().decode(text).split(".");
      const until = Number(end);
      if (now >= until) return null;
      const mac = await crypto.subtle.sign("HMAC", token, utf8(cookie));
      return { hash, token: toBase64Url(new Uint8Array(mac)), id: await sha256(cookie), until };
    } catch {
      return null;
    }
  }

  async #derived(): Promise<Keys> {
    if (this.#secret === null)
      throw new SecretKeyMissing({ reason: "neither HULL_SECRET_KEY nor HULL_ADMIN_KEY is set" });
    this.#keys ??= await derive(this.#secret);
    return this.#keys;
  }
}

async function derive(secret: string): Promise<Keys> {
  const source = await keySource(secret);
  const [seal, token] = await Promise.all([source.aes("key of sign-ins"), source.hmac("key of form tokens")]);
  return { seal, token };
}

/** Whether two texts are equal. The time that the comparison takes does not reveal where they differ. */
export async function isSame(a: string, b: string): Promise<boolean> {
  return (await sha256(a)) === (await sha256(b));
}
