/** Opens containers for OpenAI's clients: creates them with skills and files, or opens existing ones. */

import { base64OrNull } from "../../../bytes.ts";
import { firstOf } from "../../../cut.ts";
import { wrong } from "../../../llm/members.ts";
import type { ContainerSkill, ContainerTerms } from "../../../llm/openai-api/shell-environment.ts";
import { type Container, codeTerms, makeContainer } from "../../../run/container.ts";
import type { ResponseContainer } from "../../../run/responses/perform.ts";
import { inlineSkill, type LocalSkill, type NamedSkill, namedSkill } from "../../../run/v1-skills.ts";
import { objectOf } from "../../../skill/json.ts";
import type { JsonObject } from "../../../skill/manifest.ts";
import { reaches } from "../../../skill/workspace-settings.ts";
import type { RequestContext } from "../../context.ts";
import { madeDigits } from "../../idempotency.ts";
import { MAX_METADATA } from "../../sessions/object.ts";
import { checkTwice } from "../skill-references.ts";

/**
 * Checks the terms of a new container and finds its skills.
 * @param path of the terms in the request
 * @returns a function that creates the container; it throws FileNotFound
 * @throws InvalidRequest BundleInvalid SkillNotFound
 */
export async function newContainer(
  context: RequestContext,
  terms: ContainerTerms,
  { path, about }: { path: string; about: JsonObject },
): Promise<() => Promise<Container>> {
  const at = path === "" ? "" : `${path}.`;
  const { network_policy: policy, memory_limit = null } = terms;
  const network = (policy?.type === "allowlist" ? policy.allowed_domains : null) ?? [];
  checkNetwork(context, network, at);
  const skills: LocalSkill[] = [];
  for (const [n, skill] of (terms.skills ?? []).entries()) {
    const reference = { path: `${at}skills.${n}`, full: false };
    skills.push({ ...(await skillOf(context, skill, reference.path)), reference });
  }
  checkTwice(skills);
  const kept: JsonObject = {
    ...about,
    network,
    skills: skills.map(({ id, version, digest }) => ({ id, version, digest })),
    ...(memory_limit === null ? {} : { memory_limit }),
  };
  const { length } = JSON.stringify(kept);
  if (length > MAX_METADATA)
    throw wrong(
      network.length === 0 ? `${at}name` : `${at}network_policy.allowed_domains`,
      `name, hosts and skills of a container have ${length} characters as JSON; at most ${MAX_METADATA} are accepted`,
    );
  const digits = await madeDigits(context, "container");
  return () => makeContainer(context, terms.file_ids ?? [], { digits, about: kept });
}

/** The skills and terms that a container keeps from the request that created it. */
export function termsOf({
  metadata,
}: Pick<Container, "metadata">): Pick<ResponseContainer, "skills" | "terms"> {
  const { skills } = metadata;
  return {
    skills: (Array.isArray(skills) ? skills : []).map((skill) => {
      const { id, version, digest } = objectOf(skill);
      return { id: String(id), version: String(version), digest: String(digest) };
    }),
    terms: { network: [], ...codeTerms(metadata) },
  };
}

async function skillOf(context: RequestContext, skill: ContainerSkill, path: string): Promise<NamedSkill> {
  if (skill.type === "inline") {
    const zip = base64OrNull(skill.source.data);
    if (zip === null) throw wrong(`${path}.source.data`, "Base64 is expected");
    return inlineSkill(context, skill.name, zip);
  }
  const { skill_id: id, version = null } = skill;
  const found = await namedSkill(context, id, version === null ? null : String(version), "default");
  if (found !== null) return found;
  throw wrong(`${path}.skill_id`, `there is no skill "${firstOf(id, 64)}"`);
}

/** Refuses hosts that the deployment does not allow for commands. */
function checkNetwork({ settings }: RequestContext, hosts: readonly string[], at: string): void {
  const refused = hosts.find((host) => !reaches(settings.workspace_tools.network, host));
  if (refused === undefined) return;
  throw wrong(`${at}network_policy.allowed_domains`, `this deployment lets no command reach ${refused}`);
}
