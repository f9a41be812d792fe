/** Keys that sign skills: Ed25519 private keys as PKCS #8 PEM, as openssl also makes them. */

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from "node:crypto";
import type { Signer } from "../src/skill/signature.ts";
import { CommandError, EXIT, usageError } from "./command.ts";
import { readIfThere } from "./read-if-there.ts";
import { reasonOf } from "./system-error.ts";
import { writeNewFile } from "./write-files.ts";

interface SigningKey extends Signer {
  /** SHA-256 (hex) of the raw public key, as in hull.toml and trusted-signers. */
  fingerprint: string;
}

/** @throws CommandError if the file does not exist, cannot be read, or is not such a key */
export async function readSigningKey(path: string): Promise<SigningKey> {
  const pem = await readIfThere(path);
  if (pem === null) throw new CommandError(EXIT.missing, "key_missing", `There is no file ${path}.`, HINT);
  const key = privateKey(pem.toString("utf8"));
  if (key?.asymmetricKeyType !== "ed25519") {
    const message = `${path} holds no Ed25519 private key in PEM that needs no passphrase.`;
    throw usageError("bad_key", message, HINT);
  }
  return signingKey(key);
}

/** Makes a key and writes it to a new file that only its owner may read. @throws CommandError if the file exists */
export async function makeSigningKey(path: string): Promise<SigningKey> {
  const { privateKey } = generateKeyPairSync("ed25519");
  const pem = privateKey.export({ type: "pkcs8", format: "pem" });
  try {
    await writeNewFile(path, pem, 0o600);
  } catch (error) {
    const message = `${path} cannot be written: ${reasonOf(error)}.`;
    throw new CommandError(EXIT.failed, "key_not_written", message);
  }
  return signingKey(privateKey);
}

const HINT =
  "hull sign --new-key <pem> makes one, and so does openssl genpkey -algorithm ed25519 -out <pem>.";

function privateKey(pem: string): KeyObject | null {
  try {
    return createPrivateKey(pem);
  } catch {
    return null;
  }
}

function signingKey(key: KeyObject): SigningKey {
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  const public_key = new Uint8Array(Buffer.from(x, "base64url"));
  const fingerprint = createHash("sha256").update(public_key).digest("hex");
  return { public_key, fingerprint, sign: (message) => sign(null, message, key) };
}
