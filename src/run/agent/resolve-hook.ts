/** Finds the function of a hook reference. */
import type { HookTarget } from "../../engine/agent/spec.ts";
import { InvalidRequest } from "../../errors/llm.ts";
import type { HookModule } from "../../skill/manifest.ts";

/** The hooks of a run's skill. */
interface HookSkill {
  slug: string;
  hooks?: HookModule;
  uploaded_by?: string;
}

/**
 * @param reference `slug#export`, or the name of an export that only one skill has
 * @param option path of the option with the reference, for the error
 * @throws InvalidRequest
 */
export function resolveHook(reference: string, skills: readonly HookSkill[], option: string): HookTarget {
  const cut = reference.indexOf("#");
  const slug = cut === -1 ? null : reference.slice(0, cut);
  const exportName = reference.slice(cut + 1);
  const found = skills.flatMap((skill): HookTarget[] => {
    const { hooks } = skill;
    if (hooks?.exports.includes(exportName) !== true || (slug !== null && slug !== skill.slug)) return [];
    return [{ slug: skill.slug, module: hooks.module, exportName, fresh: skill.uploaded_by !== undefined }];
  });
  const [hook, second] = found;
  if (hook !== undefined && second === undefined) return hook;
  const detail =
    hook === undefined
      ? `There is no hook "${reference}". ${known(skills)}`
      : `The hook "${reference}" is exported by ${found.map((one) => one.slug).join(", ")}; write ${hook.slug}#${exportName}.`;
  throw new InvalidRequest({ option, detail });
}

function known(skills: readonly HookSkill[]): string {
  const names = skills.flatMap(({ slug, hooks }) => (hooks?.exports ?? []).map((name) => `${slug}#${name}`));
  return names.length === 0
    ? "No skill of this run has a hook module (hooks.ts or hooks.js)."
    : `The skills of this run export ${names.join(", ")}.`;
}
