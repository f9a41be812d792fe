/** Whose signatures count, and which skills must have one. Pure. */
import * as z from "zod/mini";
import type { SkillRecord } from "./manifest.ts";

/** Identifies a key: the SHA-256 (hex) of the raw public key. */
export const FINGERPRINT = /^[0-9a-f]{64}$/;

/** `[signatures]` of hull.toml. */
export const signaturesShape = z.lazy(() =>
  z.strictObject({
    trusted_signers: z._default(
      z.array(
        z
          .string()
          .check(z.regex(FINGERPRINT, "must be fingerprints of 64 hex digits, as hull sign prints them")),
      ),
      [],
    ),
    /** Which skills one of them must sign, whatever the skills say themselves. */
    require: z._default(z.enum(["none", "uploaded", "all"]), "none"),
  }),
);
export type SignaturePolicy = z.infer<typeof signaturesShape>;

export const NO_SIGNATURES: SignaturePolicy = { trusted_signers: [], require: "none" };

/** The part of a skill that a check of its signature needs. */
export type Signed = Pick<SkillRecord, "signature" | "uploaded_by"> & {
  manifest: Pick<SkillRecord["manifest"], "name" | "activation">;
};

interface TrustFault {
  /** The skill's name in the result of `load_skill`. */
  error: "UnsignedSkillError" | "UntrustedSignerError";
  message: string;
}

/** Whether a trusted signer must sign the skill. */
function needsSignature({ manifest, uploaded_by }: Signed, { require }: SignaturePolicy): boolean {
  if (require === "all" || (require === "uploaded" && uploaded_by !== undefined)) return true;
  return manifest.activation?.require_signature === true;
}

/** Why the skill does not count as signed; `null` if it does. */
export function signatureFault(skill: Signed, policy: SignaturePolicy): TrustFault | null {
  const { name, activation } = skill.manifest;
  if (skill.signature === undefined) {
    return { error: "UnsignedSkillError", message: `The skill "${name}" has no signature.` };
  }
  const { signer } = skill.signature;
  const own = activation?.trusted_signers;
  // A skill's own list can only narrow the signers that the deployment trusts. For the deployment's own folders the
  // list alone is enough.
  const listed = policy.trusted_signers.length > 0;
  const byDeployment = listed
    ? policy.trusted_signers.includes(signer)
    : skill.uploaded_by === undefined && own !== undefined;
  if (byDeployment && own?.includes(signer) !== false) return null;
  return {
    error: "UntrustedSignerError",
    message: `The skill "${name}" is signed by ${signer}, who is not a trusted signer.`,
  };
}

/** Why Hull may not use the skill; `null`: it may. */
export function trustFault(skill: Signed, policy: SignaturePolicy): TrustFault | null {
  return needsSignature(skill, policy) ? signatureFault(skill, policy) : null;
}
