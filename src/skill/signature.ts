/**
 * Signatures of skills: the file SKILL.sig next to SKILL.md holds an Ed25519 signature (RFC 8032) over the digests of
 * all other files. Pure; Web Crypto handles keys and digests.
 */

import * as z from "zod/mini";
import { base64OrNull, toBase64 } from "../bytes.ts";
import { firstOf } from "../cut.ts";
import type { Hash, SourceFile } from "./bundle.ts";
import { canonicalJson } from "./canonical.ts";
import { SIGNATURE_FILE } from "./file-text.ts";
import { parsedFile } from "./json-depth.ts";
import { byteOrder } from "./path.ts";
import { TOOLS_FILE } from "./tools-json/read.ts";

const ALGORITHM = "Ed25519";
/** This prefix ensures that nothing else signed with the key can pass for the signature of a skill. */
const PURPOSE = "hull skill signature 1\n";
/** The most files that a message names, for each kind of difference. */
const MAX_NAMED = 5;

const sidecar = z.lazy(() =>
  z.strictObject({
    format: z.literal(1),
    algorithm: z.literal(ALGORITHM),
    /** The raw key of 32 bytes, in Base64. */
    public_key: z.string(),
    /** SHA-256 (hex) by path. */
    files: z.record(z.string(), z.string()),
    /** Of 64 bytes, in Base64. */
    signature: z.string(),
  }),
);

/** The signer: a function that uses the private key, and the raw public key. */
export interface Signer {
  sign: (message: Uint8Array<ArrayBuffer>) => Uint8Array | Promise<Uint8Array>;
  public_key: Uint8Array<ArrayBuffer>;
}

/** The result of a check of SKILL.sig: the fingerprint of the key whose signature is valid, or the fault. */
type Verified = { signer: string } | { fault: string };

/** Makes the text of SKILL.sig for these files. */
export async function signFiles(files: readonly SourceFile[], signer: Signer, hash: Hash): Promise<string> {
  const digests = await digestsOf(files, hash);
  const signature = await signer.sign(message(digests));
  const text = {
    format: 1,
    algorithm: ALGORITHM,
    public_key: toBase64(signer.public_key),
    files: digests,
    signature: toBase64(signature),
  };
  return `${JSON.stringify(text, null, 2)}\n`;
}

/**
 * Checks the signature of a folder's files; `null`: they have none.
 * @param unbuilt for a typed skill: the signature also covers files that the build makes, and another tools.json
 */
export async function verifyFiles(
  files: readonly SourceFile[],
  hash: Hash,
  { unbuilt = false }: { unbuilt?: boolean } = {},
): Promise<Verified | null> {
  const file = files.find(({ path }) => path === SIGNATURE_FILE);
  if (file === undefined) return null;
  const read = sidecar.safeParse(parsedFile(file.bytes));
  if (!read.success) return { fault: "it is not the JSON that hull sign writes" };
  const key = base64OrNull(read.data.public_key);
  const signature = base64OrNull(read.data.signature);
  if (key?.length !== 32 || signature?.length !== 64)
    return { fault: "its key or its signature does not have the form of Ed25519" };
  const present = await digestsOf(files, hash);
  const built = (path: string): boolean => unbuilt && (path === TOOLS_FILE || !Object.hasOwn(present, path));
  const without = (digests: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(digests).filter(([path]) => !built(path)));
  const difference = differenceOf(without(read.data.files), without(present));
  if (difference !== null) return { fault: difference };
  if (!(await holds(key, signature, read.data.files))) {
    return { fault: "the signature does not match its key and its list of files" };
  }
  return { signer: await hash(key) };
}

async function holds(
  key: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
  files: Record<string, string>,
): Promise<boolean> {
  try {
    const imported = await crypto.subtle.importKey("raw", key, ALGORITHM, false, ["verify"]);
    return await crypto.subtle.verify(ALGORITHM, imported, signature, message(files));
  } catch {
    // Not every sequence of 32 bytes is a key.
    return false;
  }
}

/** How the files differ from the signed ones; `null`: they do not. */
function differenceOf(signed: Record<string, string>, present: Record<string, string>): string | null {
  const before = new Map(Object.entries(signed));
  const now = new Map(Object.entries(present));
  const differences: [what: string, paths: string[]][] = [
    [
      "changed since",
      [...now.keys()].filter((path) => before.has(path) && before.get(path) !== now.get(path)),
    ],
    ["added since", [...now.keys()].filter((path) => !before.has(path))],
    ["gone", [...before.keys()].filter((path) => !now.has(path))],
  ];
  const found = differences.filter(([, paths]) => paths.length > 0);
  if (found.length === 0) return null;
  return found
    .map(([what, paths]) => `${named(paths)} ${paths.length === 1 ? "was" : "were"} ${what}`)
    .join(", ");
}

function named(paths: readonly string[]): string {
  const shown = paths.slice(0, MAX_NAMED).map((path) => firstOf(path, 200));
  const rest = paths.length - shown.length;
  return [...shown, ...(rest === 0 ? [] : [`${rest} more`])].join(", ");
}

async function digestsOf(files: readonly SourceFile[], hash: Hash): Promise<Record<string, string>> {
  const signed = files.filter(({ path }) => path !== SIGNATURE_FILE);
  const sorted = signed.toSorted((a, b) => byteOrder(a.path, b.path));
  const entries = sorted.map(async ({ path, bytes }): Promise<[string, string]> => [path, await hash(bytes)]);
  return Object.fromEntries(await Promise.all(entries));
}

const message = (files: Record<string, string>): Uint8Array<ArrayBuffer> =>
  new Uint8Array(new TextEncoder().encode(PURPOSE + canonicalJson(files)));
