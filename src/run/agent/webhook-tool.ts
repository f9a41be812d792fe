/**
 * The policies' annotations of a tool that the host delegate executes. The caller describes the tool, and the deployer's
 * server executes it. So the caller's description may make the tool riskier, but never safer.
 */

import { onlyReads, rankOf } from "../../engine/agent/policy.ts";
import type { AgentTool, ToolAnnotations } from "../../engine/agent/spec.ts";
import type { Settings } from "../../env.ts";
import { nameMatches } from "../../skill/glob.ts";
import { RISKS } from "../../skill/tools-json/tool-fields.ts";
import { morePaths } from "./command-annotations.ts";

type Known = Required<Pick<AgentTool, "annotations" | "risk" | "needs_approval">>;

/** @param said the caller's description */
export function webhookPolicy({ host, approvals }: Settings, name: string, said: ToolAnnotations): Known {
  const reads = host?.read_only_tools?.some((glob) => nameMatches(glob, name)) === true;
  const least = reads ? "read_only" : "network";
  const { kind, side_effect_level, arg_schema, ...rest } = said;
  const annotations: ToolAnnotations = {
    ...rest,
    ...(reads || !onlyReads({ annotations: said }) ? { kind: kind ?? (reads ? "fetch" : "other") } : {}),
    side_effect_level:
      side_effect_level !== undefined && rankOf(side_effect_level) > rankOf(least)
        ? side_effect_level
        : least,
    arg_schema: morePaths(arg_schema),
  };
  const risk = annotations.side_effect_level === "read_only" ? "safe" : "dangerous";
  const required = approvals.require_risk ?? "none";
  return {
    annotations,
    risk,
    needs_approval: required !== "none" && RISKS.indexOf(risk) >= RISKS.indexOf(required),
  };
}
