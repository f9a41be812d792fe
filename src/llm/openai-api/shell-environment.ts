/** The `environment` of a shell tool: where its commands run, and its skills. */
import { isObject } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { wrong } from "../wrong.ts";

/** Most skills of a container. */
const MOST_SKILLS = 20;
const MEMORY_LIMITS: readonly Json[] = ["1g", "4g", "16g", "64g"];

/** A skill of a container. */
export type ContainerSkill =
  | { kind: "reference"; id: string; version: string | null; path: string }
  /** `zip`: in Base64. */
  | { kind: "inline"; name: string; description: string; zip: string; path: string };

/** The contents and terms of a container. */
export interface ContainerTerms {
  skills: ContainerSkill[];
  /** Ids of stored files that go into its input folder. */
  files: string[];
  /** Hosts that its commands may reach. */
  network: string[];
  /** As the request has it; `null`: it has none. Containers share the runner's memory. */
  memory_limit: string | null;
}

export type ShellEnvironment = ({ kind: "new" } & ContainerTerms) | { kind: "container"; id: string };

type LocalSkill = { name: string; description: string; path: string };

/** @throws InvalidRequest */
export function readShellEnvironment(
  environment: Json | undefined,
  path: string,
): { shell: ShellEnvironment | "local"; local_skills: LocalSkill[] } {
  const given = isObject(environment) ? environment : {};
  switch (given.type) {
    case "container_auto":
      return { shell: { kind: "new", ...readTerms(given, path) }, local_skills: [] };
    case "container_reference":
      if (typeof given.container_id !== "string")
        throw wrong(`${path}.container_id`, "the id of a container is required");
      return { shell: { kind: "container", id: given.container_id }, local_skills: [] };
    case "local": {
      const skills = listOf(given.skills, `${path}.skills`).map((skill, n) =>
        localSkill(skill, `${path}.skills.${n}`),
      );
      return { shell: "local", local_skills: skills };
    }
    default:
      throw wrong(`${path}.type`, "container_auto, container_reference or local is expected");
  }
}

/** Members of a new container. @throws InvalidRequest */
export function readTerms(given: JsonObject, path: string): ContainerTerms {
  const at = (name: string): string => (path === "" ? name : `${path}.${name}`);
  const skills = listOf(given.skills, at("skills"));
  if (skills.length > MOST_SKILLS)
    throw wrong(at("skills"), `${skills.length} skills; at most ${MOST_SKILLS} are accepted`);
  const files = listOf(given.file_ids, at("file_ids")).map((id, n) => {
    if (typeof id === "string") return id;
    throw wrong(`${at("file_ids")}.${n}`, "the id of a file is expected");
  });
  const { memory_limit = null } = given;
  if (memory_limit !== null && !MEMORY_LIMITS.includes(memory_limit))
    throw wrong(at("memory_limit"), "1g, 4g, 16g or 64g is expected");
  return {
    skills: skills.map((skill, n) => skillOf(skill, `${at("skills")}.${n}`)),
    files,
    network: networkOf(given.network_policy, at("network_policy")),
    memory_limit: typeof memory_limit === "string" ? memory_limit : null,
  };
}

function listOf(given: Json | undefined, path: string): Json[] {
  if (given === undefined || given === null) return [];
  if (Array.isArray(given)) return given;
  throw wrong(path, "a list is expected");
}

function skillOf(skill: Json, path: string): ContainerSkill {
  if (!isObject(skill)) throw wrong(path, "a skill is an object with a type");
  const { type, skill_id, version = null, name, description, source } = skill;
  if (type === "skill_reference") {
    if (typeof skill_id !== "string") throw wrong(`${path}.skill_id`, "the id of a skill is required");
    return { kind: "reference", id: skill_id, version: version === null ? null : String(version), path };
  }
  if (type !== "inline") throw wrong(`${path}.type`, "skill_reference or inline is expected");
  const from = isObject(source) ? source : {};
  if (typeof name !== "string") throw wrong(`${path}.name`, "a text is required");
  if (typeof description !== "string") throw wrong(`${path}.description`, "a text is required");
  if (from.type !== "base64" || from.media_type !== "application/zip" || typeof from.data !== "string")
    throw wrong(
      `${path}.source`,
      "a source of type base64 with media_type application/zip and data is required",
    );
  return { kind: "inline", name, description, zip: from.data, path };
}

function localSkill(skill: Json, path: string): LocalSkill {
  const { name, description, path: place } = isObject(skill) ? skill : {};
  if (typeof name === "string" && typeof description === "string" && typeof place === "string")
    return { name, description, path: place };
  throw wrong(path, "name, description and path are texts");
}

function networkOf(policy: Json | undefined, path: string): string[] {
  if (policy === undefined || policy === null) return [];
  const given = isObject(policy) ? policy : {};
  if (given.type === "disabled") return [];
  if (given.type !== "allowlist") throw wrong(`${path}.type`, "disabled or allowlist is expected");
  if (Array.isArray(given.domain_secrets) && given.domain_secrets.length > 0)
    throw wrong(`${path}.domain_secrets`, "secrets of domains are not carried");
  return listOf(given.allowed_domains, `${path}.allowed_domains`).map((host, n) => {
    if (typeof host === "string" && /^(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)+$/i.test(host))
      return host.toLowerCase();
    throw wrong(`${path}.allowed_domains.${n}`, "the name of a host is expected");
  });
}
