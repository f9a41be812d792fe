/** Pins the skills that a workflow names, and the agents that these name, to the versions that are served when its run begins. */
import type { PinnedSkills } from "../../engine/workflow/answers.ts";
import type { Graph } from "../../engine/workflow/graph.ts";
import { isObject } from "../../skill/json.ts";
import type { Json, JsonObject, SkillRecord } from "../../skill/manifest.ts";
import { agentsNamedBy } from "../agent/agents.ts";
import { everySkill, listedVersion } from "../agent/skills.ts";
import type { RunContext } from "../context.ts";

/**
 * @param before versions that the run keeps
 * @returns `undefined` if the workflow names no skill
 * @throws SkillNotFound, and the error of a skill that is not trusted
 */
export async function pinSkills(
  context: RunContext,
  graph: Graph,
  options: JsonObject,
  before: PinnedSkills | null,
): Promise<PinnedSkills | undefined> {
  const named = new Set(
    [options, ...Object.values(graph.nodes).map(({ model_policy = {} }) => model_policy)].flatMap(
      ({ skill, skills }) => [...namesIn(skill), ...namesIn(skills)],
    ),
  );
  if (named.size === 0) return undefined;
  const all = named.delete("*") ? (before?.all ?? (await everySkill(context))) : undefined;
  const digests = { ...before?.digests };
  const pin = async (names: readonly string[]): Promise<SkillRecord[]> => {
    const records: SkillRecord[] = [];
    for (const name of names.filter((name) => !Object.hasOwn(digests, name))) {
      const { record, digest } = await listedVersion(context, name);
      digests[name] = digest;
      records.push(record);
    }
    return records;
  };
  await pin(await agentsNamedBy(context, await pin([...named, ...(all ?? [])])));
  return { digests, ...(all === undefined ? {} : { all }) };
}

/**
 * The names in an option of the form that `readSkills` takes. A skill that is contained in the option needs no version.
 */
function namesIn(given: Json | undefined): string[] {
  const list = isObject(given) && Array.isArray(given.skills) ? given.skills : [given].flat();
  return list.filter((item) => typeof item === "string");
}
