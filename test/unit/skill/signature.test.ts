/** Signatures of skills: what holds, what does not, and whose count. */

import { generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, test } from "vitest";
import { sha256, utf8 } from "../../../src/bytes.ts";
import type { SourceFile } from "../../../src/skill/bundle.ts";
import { type Signer, signFiles, verifyFiles } from "../../../src/skill/signature.ts";
import { type Signed, trustFault } from "../../../src/skill/trust.ts";

function signer(): Signer {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const { x = "" } = publicKey.export({ format: "jwk" });
  return {
    public_key: new Uint8Array(Buffer.from(x, "base64url")),
    sign: (message) => sign(null, message, privateKey),
  };
}
const [ada, bob] = [signer(), signer()];
const files = (texts: Record<string, string>): SourceFile[] =>
  Object.entries(texts).map(([path, text]) => ({ path, mode: 0o644, bytes: utf8(text) }));
const FOLDER = { "SKILL.md": "s", "run.sh": "r", "a/b.md": "b" };
const signed = async (by = ada) => signFiles(files(FOLDER), by, sha256);
const verified = (texts: Record<string, string>) => verifyFiles(files(texts), sha256);

test("a signature holds over the same files, in any order, and names its key", async () => {
  const fingerprint = await sha256(ada.public_key);
  const text = await signed();
  expect(await verified({ ...FOLDER, "SKILL.sig": text })).toEqual({ signer: fingerprint });
  const turned = Object.fromEntries(Object.entries({ ...FOLDER, "SKILL.sig": text }).toReversed());
  expect(await verified(turned)).toEqual({ signer: fingerprint });
  expect(await signFiles(files(turned), ada, sha256)).toBe(text);
  expect(await verified(FOLDER)).toBeNull();
});

test.each<[string, Record<string, string | undefined>, string]>([
  ["a file changed", { "run.sh": "R" }, "run.sh was changed since"],
  [
    "two changed, one new",
    { "run.sh": "R", "SKILL.md": "S", x: "" },
    "SKILL.md, run.sh were changed since, x was added since",
  ],
  ["a file gone", { "a/b.md": undefined }, "a/b.md was gone"],
  ["a file renamed", { "a/b.md": undefined, "a/c.md": "b" }, "a/c.md was added since, a/b.md was gone"],
])("%s: the fault names the files", async (_, changes, fault) => {
  const changed = Object.entries({ ...FOLDER, ...changes }).flatMap(([path, text]) =>
    text === undefined ? [] : [[path, text]],
  );
  const folder: Record<string, string> = Object.fromEntries(changed);
  expect(await verified({ ...folder, "SKILL.sig": await signed() })).toEqual({ fault });
});

describe("a sidecar that was tampered with", () => {
  const other = async (change: (text: Record<string, unknown>) => object) =>
    JSON.stringify(change(JSON.parse(await signed())));
  test.each<[string, () => Promise<string>, RegExp]>([
    ["is no JSON", async () => "nope", /not the JSON/],
    ["has members of its own", () => other((text) => ({ ...text, note: 1 })), /not the JSON/],
    ["names another algorithm", () => other((text) => ({ ...text, algorithm: "none" })), /not the JSON/],
    [
      "has a short key",
      () => other((text) => ({ ...text, public_key: "AAAA" })),
      /not have the form of Ed25519/,
    ],
    ["has no Base64", () => other((text) => ({ ...text, signature: "*" })), /not have the form of Ed25519/],
    [
      "has an invalid key",
      () => other((text) => ({ ...text, public_key: btoa("\xff".repeat(32)) })),
      /not match its key/,
    ],
    [
      "has another's key",
      () => other((text) => ({ ...text, public_key: btoa(String.fromCharCode(...bob.public_key)) })),
      /not match its key/,
    ],
    [
      "has another's signature",
      async () => {
        const { signature } = JSON.parse(await signed(bob));
        return other((text) => ({ ...text, signature }));
      },
      /not match its key/,
    ],
    [
      "signs something else",
      async () => {
        const mine = { ...ada, sign: () => ada.sign(utf8("{}")) };
        return signed(mine);
      },
      /not match its key/,
    ],
  ])("%s", async (_, made, fault) => {
    expect(await verified({ ...FOLDER, "SKILL.sig": await made() })).toEqual({
      fault: expect.stringMatching(fault),
    });
  });

  test("is refused even if it lists the new digest of a changed file", async () => {
    const digest = await sha256(utf8("R"));
    const text = await other((given) => ({ ...given, files: { ...Object(given.files), "run.sh": digest } }));
    expect(await verified({ ...FOLDER, "run.sh": "R", "SKILL.sig": text })).toEqual({
      fault: expect.stringMatching(/not match its key/),
    });
  });
});

const [X, Y] = ["a".repeat(64), "b".repeat(64)];
describe("which signatures are trusted", () => {
  const skill = (
    by: string | null,
    own: { require?: true; signers?: string[]; uploaded?: true } = {},
  ): Signed => ({
    manifest: {
      name: "s",
      activation: {
        ...(own.require === undefined ? {} : { require_signature: true }),
        ...(own.signers === undefined ? {} : { trusted_signers: own.signers }),
      },
    },
    ...(by === null ? {} : { signature: { signer: by } }),
    ...(own.uploaded === undefined ? {} : { uploaded_by: "t" }),
  });
  const require = true as const;
  const uploaded = true as const;
  test.each<[string, Signed, string[], "none" | "uploaded" | "all", string | null]>([
    ["nobody requires a signature", skill(null), [], "none", null],
    ["all must be signed", skill(null), [X], "all", "UnsignedSkillError"],
    ["uploads must be signed: an upload", skill(null, { uploaded }), [X], "uploaded", "UnsignedSkillError"],
    ["uploads must be signed: a folder", skill(null), [X], "uploaded", null],
    ["the skill requires a signature", skill(null, { require }), [X], "none", "UnsignedSkillError"],
    ["signed by a trusted signer", skill(X, { require }), [Y, X], "none", null],
    ["signed by an untrusted signer", skill(X, { require }), [Y], "none", "UntrustedSignerError"],
    ["no signer is trusted", skill(X, { require }), [], "none", "UntrustedSignerError"],
    [
      "the skill's own list narrows the deployment's",
      skill(X, { require, signers: [Y] }),
      [X, Y],
      "none",
      "UntrustedSignerError",
    ],
    [
      "the skill's own list does not widen the deployment's",
      skill(X, { require, signers: [X] }),
      [Y],
      "none",
      "UntrustedSignerError",
    ],
    ["the skill's own list alone counts for a folder", skill(X, { require, signers: [X] }), [], "none", null],
    [
      "the skill's own list alone does not count for an upload",
      skill(X, { require, signers: [X], uploaded }),
      [],
      "none",
      "UntrustedSignerError",
    ],
  ])("%s", (_, given, trusted_signers, need, error) => {
    const fault = trustFault(given, { trusted_signers, require: need });
    expect(fault?.error ?? null).toBe(error);
    // The deployment may trust a signer whom the skill's own list leaves out.
    if (error === "UntrustedSignerError")
      expect(fault?.message).toContain(`${X}, who is not a trusted signer.`);
  });
});
