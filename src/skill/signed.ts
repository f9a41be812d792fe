/** Checks a skill's signature when it is built or uploaded. */
import type { Hash, SourceFile } from "./bundle.ts";
import { SIGNATURE_FILE } from "./file-text.ts";
import type { Findings } from "./findings.ts";
import type { Manifest, SkillRecord } from "./manifest.ts";
import { verifyFiles } from "./signature.ts";
import { NO_SIGNATURES, type SignaturePolicy, trustFault } from "./trust.ts";

interface Terms {
  /** The tenant that uploads it. */
  uploadedBy?: string;
  /** Absent: no check whether the signer is trusted. */
  signatures?: SignaturePolicy;
  /** The files are those of a typed skill's folder, before the build has added its own. */
  unbuilt?: boolean;
}

/**
 * An invalid signature stops a skill. So does a missing one, or one by an untrusted signer, if the skill or the
 * deployment requires a signature.
 */
export async function checkSignature(
  skill: Findings,
  files: readonly SourceFile[],
  manifest: Pick<Manifest, "name" | "activation">,
  { uploadedBy, signatures, unbuilt = false }: Terms,
  hash: Hash,
): Promise<NonNullable<SkillRecord["signature"]> | null> {
  const findings = skill.part(SIGNATURE_FILE);
  const verified = await verifyFiles(files, hash, { unbuilt });
  if (verified !== null && "fault" in verified) {
    const message = `The signature is invalid: ${verified.fault}.`;
    const hint = "If the files are correct, sign the folder again with hull sign, or remove SKILL.sig.";
    findings.error("signature_invalid", {}, message, hint);
    return null;
  }
  if (verified !== null)
    findings.info("signature_holds", {}, `The skill has a valid signature of ${verified.signer}.`);
  const signed = {
    manifest,
    ...(verified === null ? {} : { signature: verified }),
    ...(uploadedBy === undefined ? {} : { uploaded_by: uploadedBy }),
  };
  const policy = signatures ?? NO_SIGNATURES;
  const fault = trustFault(signed, policy);
  if (fault?.error === "UnsignedSkillError") {
    const hint = "Sign the folder with hull sign <dir> --key <pem>.";
    findings.error("signature_missing", {}, fault.message, hint);
  } else if (fault !== null && signatures !== undefined) {
    const hint =
      "hull.toml names the signers that the deployment trusts in [signatures] trusted_signers, and the skill names its own in trusted-signers.";
    findings.error("signer_untrusted", {}, fault.message, hint);
  }
  return verified;
}
