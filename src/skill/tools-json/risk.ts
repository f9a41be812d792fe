/** How risky a tool is, where its author leaves that to Hull. */
import type { Risk } from "../manifest.ts";

interface RiskFlags {
  side_effects: boolean;
  /** Whether it may read and write the work folder. */
  filesystem: boolean;
  network: boolean;
}

/** What changes nothing is safe, whether or not it may be repeated. `critical` is never derived, only declared. */
export function deriveRisk({ side_effects, filesystem, network }: RiskFlags): Risk {
  if (!side_effects) return "safe";
  return filesystem || network ? "dangerous" : "moderate";
}
