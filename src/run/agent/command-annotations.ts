/** What policies know about the command tools of skills. */
import { onlyReads, PATH_ARGUMENTS, rankOf } from "../../engine/agent/policy.ts";
import type { ToolAnnotations } from "../../engine/agent/spec.ts";
import type { CommandTool, JsonObject, SkillRecord } from "../../skill/manifest.ts";

/**
 * What a command declares about itself. Hull does not believe an uploaded skill that claims its processes only read, or
 * do less than processes can.
 */
export function commandAnnotations(
  { uploaded_by }: Pick<SkillRecord, "uploaded_by">,
  { annotations = {}, idempotent = false }: Pick<CommandTool, "annotations" | "idempotent">,
): ToolAnnotations {
  const said = { ...annotations, ...(idempotent ? { idempotent } : {}) };
  if (uploaded_by === undefined) return said;
  const { kind, side_effect_level: level, arg_schema, ...rest } = said;
  const least = "process_exec" as const;
  return {
    ...rest,
    ...(kind === undefined || onlyReads({ annotations: said }) ? {} : { kind }),
    ...(level === undefined ? {} : { side_effect_level: rankOf(level) > rankOf(least) ? level : least }),
    ...(arg_schema === undefined ? {} : { arg_schema: morePaths(arg_schema) }),
  };
}

/** Adds the arguments that have names of paths to those declared as paths. */
export function morePaths(schema: JsonObject = {}): JsonObject {
  const said = Array.isArray(schema.path_params) ? schema.path_params : [];
  return { ...schema, path_params: [...PATH_ARGUMENTS, ...said.filter((path) => typeof path === "string")] };
}
