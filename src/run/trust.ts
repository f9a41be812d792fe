/** If a skill must be signed, Hull runs it only with the signature of a trusted signer (docs/manifest.md). */
import type { Settings } from "../env.ts";
import { SkillNotTrusted } from "../errors/request.ts";
import type { SkillRecord } from "../skill/manifest.ts";
import { trustFault } from "../skill/trust.ts";

/** @throws SkillNotTrusted */
export function checkTrust({ signatures }: Settings, record: SkillRecord): void {
  const fault = trustFault(record, signatures);
  if (fault === null) return;
  const { error, message } = fault;
  throw new SkillNotTrusted({ slug: record.manifest.slug, error, reason: message });
}
