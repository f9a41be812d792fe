/** Derives keys from a secret of the deployment by HKDF (RFC 5869), one key for each purpose. */
import { utf8 } from "./bytes.ts";

/** Derives keys; `info` names the purpose. */
interface KeySource {
  /** Bits that are not a key, e.g. an id of the secret. @param length in bits */
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
