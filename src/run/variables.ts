/** Which of the Worker's variables a skill may have. */
import type { Settings } from "../env.ts";
import type { SkillRecord } from "../skill/manifest.ts";
import { WORKSPACE_GRANT } from "../skill/workspace-settings.ts";
import type { RunContext } from "./context.ts";

/**
 * The settings from which processes and handlers get variables, once every secret variable is known.
 * @throws what `learnSecrets` throws
 */
export async function processSettings({ deployment, background }: RunContext): Promise<Settings> {
  if (!deployment.isOpen) await deployment.learnSecrets(background);
  return deployment.settings;
}

/**
 * The names of variables that a skill may have. An uploaded skill gets those that `HULL_GRANTS` lists; `null` means any,
 * since the skill is trusted. The slug alone grants nothing to a stored skill, since every tenant may use any slug.
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

/** The names granted to an uploaded skill: under its slug, and under `<tenant>/<slug>`. */
export function grantedTo({ grants }: Settings, tenant: string, slug: string): ReadonlySet<string> {
  return new Set([slug, `${tenant}/${slug}`].flatMap((key) => grants.get(key) ?? []));
}

/** Whether a skill may have workspace tools: true for the deployment's own skills, and for those with the grant. */
export function mayHaveWorkspaceTools(
  settings: Settings,
  record: Pick<SkillRecord, "manifest" | "uploaded_by" | "stored">,
): boolean {
  return grantsOf(settings, record)?.has(WORKSPACE_GRANT) ?? true;
}
