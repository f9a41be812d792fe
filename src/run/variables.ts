/** Which of the Worker's variables a skill may have. */
import type { Settings } from "../env.ts";
import type { SkillRecord } from "../skill/manifest.ts";

/** The names that a skill may have: those that `HULL_GRANTS` gives to an uploaded one; `null`: any, it is trusted. */
export function grantsOf(settings: Settings, record: SkillRecord): ReadonlySet<string> | null {
  const { uploaded_by, manifest } = record;
  return uploaded_by === undefined ? null : grantedTo(settings, uploaded_by, manifest.slug);
}

/** The names that are given to an uploaded skill: under its slug, and under `<tenant>/<slug>`. */
export function grantedTo({ grants }: Settings, tenant: string, slug: string): ReadonlySet<string> {
  return new Set([slug, `${tenant}/${slug}`].flatMap((key) => grants.get(key) ?? []));
}

/** What `HULL_GRANTS` gives an uploaded skill that may have workspace tools. */
const WORKSPACE_TOOLS_GRANT = "workspace_tools";

/** Whether a skill may have workspace tools: those of the deployment's own folders, and those that were granted them. */
export function mayHaveWorkspaceTools(
  settings: Settings,
  { manifest, uploaded_by }: Pick<SkillRecord, "manifest" | "uploaded_by">,
): boolean {
  return (
    uploaded_by === undefined || grantedTo(settings, uploaded_by, manifest.slug).has(WORKSPACE_TOOLS_GRANT)
  );
}
