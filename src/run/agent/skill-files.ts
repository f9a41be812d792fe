/** `read_skill_resource` in agent runs. */
import { plainResult } from "../../engine/agent/call-results.ts";
import type { AgentToolResult } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { SkillRegistry } from "../../registry/published.ts";
import type { JsonObject, SkillRecord } from "../../skill/manifest.ts";
import type { RunContext } from "../context.ts";
import { readSkillResource } from "../skill-resource.ts";

/**
 * Answers one call. The engine has already checked that the run has the skill, and that the path is inside it.
 * @param own the skill that the run is, if already loaded
 */
export async function readSkillFile(
  { deployment: { registry } }: RunContext,
  { own_skill, skills, model }: AgentSpec,
  own: SkillRecord | null,
  args: JsonObject,
): Promise<AgentToolResult> {
  const started = Date.now();
  const known = own_skill === undefined ? skills : [own_skill, ...skills];
  const skill = known.find(({ name }) => name === args.skill);
  const record = await (own !== null && skill === own_skill ? own : recordOf(registry, skill?.digest));
  const { ok, content, parts } = await readSkillResource(registry, record, args, model.vision !== false);
  const result = plainResult(ok ? "ok" : "error", content, ok ? null : "tool_error");
  const shown = parts === undefined ? {} : { parts };
  return { ...result, ...shown, duration_ms: Date.now() - started };
}

const recordOf = async (registry: SkillRegistry, digest: string | undefined): Promise<SkillRecord | null> =>
  digest === undefined ? null : registry.skill(digest);
