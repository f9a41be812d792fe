/** Which of the Worker's variables a skill may have. */
import type { Settings } from "../env.ts";
import type { SkillRecord } from "../skill/manifest.ts";

/**
 * The names that a skill may have: those that `HULL_GRANTS` gives to an uploaded one; `null`: any, it is trusted. The slug alone grants
 * nothing to a stored skill, since every tenant may call theirs by any name.
 */
export function grantsOf(
  settings: Settings,
  { uploaded_by, manifest, stored }: Pick<SkillRecord, "manifest" | "uploaded_by" | "stored">,
): ReadonlySet<string> | null {
  if (uploaded_by === undefined) return null;
  const { slug } = manifest;
  if (stored === undefined) return grantedTo(settings, uploaded_by, slug);
  return new Set(settings.grants.get(`${uploaded_by}/${slug}`));
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
  record: Pick<SkillRecord, "manifest" | "uploaded_by" | "stored">,
): boolean {
  return grantsOf(settings, record)?.has(WORKSPACE_TOOLS_GRANT) ?? true;
}
