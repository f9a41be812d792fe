/** `read_skill_resource` in agent runs (skill-formats.md §2.3). */
import { plainResult } from "../../engine/agent/calls.ts";
import type { AgentToolResult } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import { readSkill } from "../../registry/published.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { RunContext } from "../context.ts";
import { readSkillResource } from "../skill-resource.ts";

/** Answers one call. The engine has seen to it that the run has the skill, and that the path lies inside. */
export async function readSkillFile(
  { env }: RunContext,
  { own_skill, skills, model }: AgentSpec,
  args: JsonObject,
): Promise<AgentToolResult> {
  const started = Date.now();
  const known = own_skill === undefined ? skills : [own_skill, ...skills];
  const digest = known.find(({ name }) => name === args.skill)?.digest;
  const record = digest === undefined ? null : await readSkill(env, digest);
  const { ok, content, parts } = await readSkillResource(env, record, args, model.vision !== false);
  const result = plainResult(ok ? "ok" : "error", content, ok ? null : "tool_error");
  const shown = parts === undefined ? {} : { parts };
  return { ...result, ...shown, duration_ms: Date.now() - started };
}
