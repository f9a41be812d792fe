/** Checks a skill's signature when it is built or uploaded. */
import type { Hash, SourceFile } from "./bundle.ts";
import { SIGNATURE_FILE } from "./file-text.ts";
import type { Diagnostic, Manifest, SkillRecord } from "./manifest.ts";
import { verifyFiles } from "./signature.ts";
import { NO_SIGNATURES, needsSignature, type SignaturePolicy, signatureFault } from "./trust.ts";

interface Location {
  folder: string;
  file: string;
  /** The tenant that uploads it. */
  uploadedBy?: string;
  /** Absent: no check whether the signer is trusted. */
  signatures?: SignaturePolicy;
  /** The files are those of a typed skill's folder, before the build has added its own. */
  unbuilt?: true;
}

/**
 * An invalid signature stops a skill. So does a missing one, or one by an untrusted signer, if the skill or the
 * deployment requires a signature.
 */
export async function checkSignature(
  files: readonly SourceFile[],
  manifest: Pick<Manifest, "name" | "activation">,
  { folder, file, uploadedBy, signatures, unbuilt }: Location,
  hash: Hash,
): Promise<{ signature: NonNullable<SkillRecord["signature"]> | null; diagnostics: Diagnostic[] }> {
  const verified = await verifyFiles(files, hash, { unbuilt: unbuilt === true });
  const base = file.slice(0, -"SKILL.md".length);
  const of = { skill: folder, file: `${base}${SIGNATURE_FILE}` };
  if (verified !== null && "fault" in verified) {
    const message = `The signature is invalid: ${verified.fault}.`;
    const hint = "If the files are correct, sign the folder again with hull sign, or remove SKILL.sig.";
    return {
      signature: null,
      diagnostics: [{ ...of, level: "error", code: "signature_invalid", message, hint }],
    };
  }
  const diagnostics: Diagnostic[] = [];
  if (verified !== null) {
    const message = `The skill has a valid signature of ${verified.signer}.`;
    diagnostics.push({ ...of, level: "info", code: "signature_holds", message });
  }
  const signed = {
    manifest,
    ...(verified === null ? {} : { signature: verified }),
    ...(uploadedBy === undefined ? {} : { uploaded_by: uploadedBy }),
  };
  const policy = signatures ?? NO_SIGNATURES;
  const fault = needsSignature(signed, policy) ? signatureFault(signed, policy) : null;
  if (fault?.error === "UnsignedSkillError") {
    const hint = "Sign the folder with hull sign <dir> --key <pem>.";
    diagnostics.push({ ...of, level: "error", code: "signature_missing", message: fault.message, hint });
  } else if (fault !== null && signatures !== undefined) {
    const hint =
      "hull.toml names the signers that the deployment trusts in [signatures] trusted_signers, and the skill names its own in trusted-signers.";
    diagnostics.push({ ...of, level: "error", code: "signer_untrusted", message: fault.message, hint });
  }
  return { signature: verified, diagnostics };
}
