/**
 * Builds the skills to deploy. With `keepGoing`, broken ones keep their deployed versions if the deployment names them.
 */
import { checkAddress, keyOf } from "../admin-client.ts";
import { type BuildOptions, type BuildResult, buildRoots } from "../build/build.ts";
import { CommandError } from "../command.ts";
import type { Project } from "../project.ts";
import { buildKeeping } from "../publish/last-published.ts";
import { RegistryClient } from "../publish/registry-client.ts";

interface Where {
  url?: string | undefined;
  key?: string | undefined;
  "dry-run"?: boolean | undefined;
}

const LEFT_OUT = "Broken skills are left out";

/** @throws CommandError (exit 2) for an address that is none */
export async function buildToDeploy(
  project: Project,
  options: BuildOptions,
  where: Where,
): Promise<BuildResult> {
  const say = (why: string): void => void process.stderr.write(`${LEFT_OUT}: ${why}\n`);
  const { domain } = project.config;
  const url = where.url ?? (domain === null ? process.env.HULL_URL || undefined : `https://${domain}`);
  if (where.url !== undefined) checkAddress(where.url, "hull deploy --keep-going --url https://…");
  const ask = (): RegistryClient | null => {
    if (where["dry-run"] === true) say("a dry run asks no deployment for their deployed versions.");
    else if (url !== undefined) return new RegistryClient(url, keyOf(where.key));
    else say("Hull does not know where to ask for their deployed versions. Name the address with --url.");
    return null;
  };
  try {
    return await buildKeeping(project, options, ask);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    say(`Hull could not ask for their deployed versions. ${error.message}`);
    return buildRoots(project.roots, options);
  }
}
