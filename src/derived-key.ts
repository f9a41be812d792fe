/** Keys for one purpose each, which HKDF (RFC 5869) derives from a secret of the deployment. */

/** The source of the keys for one purpose. */
interface KeySource {
  /** Bits that identify the secret, or other bits that are not a key. @param info the purpose */
  bits(info: string, length: number): Promise<ArrayBuffer>;
  /** For AES-256-GCM. */
  aes(info: string): Promise<CryptoKey>;
  /** For HMAC with SHA-256. */
  hmac(info: string): Promise<CryptoKey>;
}

export async function keySource(secret: string): Promise<KeySource> {
  const base = await crypto.subtle.importKey("raw", utf8(secret), "HKDF", false, ["deriveBits", "deriveKey"]);
  const hkdf = (info: string) => ({ name: "HKDF", hash: "SHA-256", salt: utf8("hull"), info: utf8(info) });
  const aes = { name: "AES-GCM", length: 256 };
  const hmac = { name: "HMAC", hash: "SHA-256", length: 256 };
  return {
    bits: (info, length) => crypto.subtle.deriveBits(hkdf(info), base, length),
    aes: (info) => crypto.subtle.deriveKey(hkdf(info), base, aes, false, ["encrypt", "decrypt"]),
    hmac: (info) => crypto.subtle.deriveKey(hkdf(info), base, hmac, false, ["sign"]),
  };
}

const utf8 = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(new TextEncoder().encode(text));
