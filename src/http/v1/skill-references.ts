/** Finds the skills that a request of a vendor's client means: Hull's, and those that Anthropic itself runs. */
import { firstOf } from "../../cut.ts";
import { ProviderNotConfigured } from "../../errors/provider.ts";
import type { ContainerParams, SkillReference } from "../../llm/container-params.ts";
import type { Reached } from "../../llm/host.ts";
import { wrong } from "../../llm/members.ts";
import { namesSkill } from "../../llm/skill-model.ts";
import { type LocalSkill, type NamedSkill, namedSkill, type ReferencedSkills } from "../../run/v1-skills.ts";
import { isObject } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { RequestContext } from "../context.ts";
import type { ModelLookup } from "./model-call.ts";

/**
 * Finds the skills of a request before Hull calls any model.
 * @throws InvalidRequest for an unknown skill, or one that the model's provider does not accept; SkillNotFound for an
 * unknown version
 */
export async function referencedSkills(
  context: RequestContext,
  { model, container }: { model: string; container: ContainerParams | null },
  lookup: ModelLookup,
): Promise<ReferencedSkills> {
  const references = container?.skills ?? [];
  const found = await Promise.all(references.map((reference) => located(context, reference)));
  const local = found.flatMap((skill, n) => {
    const reference = references[n];
    return skill === null || reference === undefined ? [] : [{ ...skill, reference }];
  });
  const native = references.filter((_, n) => found[n] === null);
  checkTwice(local);
  if (native.length > 0) await checkNative(model, native, lookup);
  return { local, native };
}

/** `null`: Hull has no skill with this id, but Anthropic may have one. */
async function located(context: RequestContext, reference: SkillReference): Promise<NamedSkill | null> {
  if (reference.kind === "native") return null;
  const found = await namedSkill(context, reference.id, reference.version);
  if (found !== null) return found;
  if (!reference.litellm && reference.id.startsWith("skill_")) return null;
  throw noSkill(reference);
}

/** Refuses two skills of one name, which would share a folder. @throws InvalidRequest */
export function checkTwice(skills: readonly LocalSkill[]): void {
  for (const [n, { id, record, reference }] of skills.entries()) {
    const other = skills.slice(0, n).find((known) => known.record.manifest.slug === record.manifest.slug);
    if (other === undefined) continue;
    throw wrong(reference.path, `${other.id} and ${id} have the same name, ${record.manifest.slug}`);
  }
}

/**
 * @throws InvalidRequest if the model is not one of Anthropic's, or if a mock would have to know a stored skill; other
 * errors if Hull cannot call the model
 */
async function checkNative(
  model: string,
  native: readonly SkillReference[],
  lookup: ModelLookup,
): Promise<void> {
  const unknown = native.find(({ kind }) => kind === "local");
  const reached = namesSkill(model) ? null : await reachedBy(lookup, unknown);
  if (reached?.protocol === "anthropic") return;
  // A mock answers for Anthropic's skills, but knows none that somebody stored there.
  if (reached?.protocol === "mock" && unknown === undefined) return;
  if (unknown !== undefined) throw noSkill(unknown);
  const [{ id, path } = { id: "", path: "" }] = native;
  const named = reached?.model ?? model;
  throw wrong(path, `${firstOf(id, 64)} is a skill of Anthropic, and ${named} is not a model of Anthropic`);
}

/** @param unknown a skill that only the provider may know; without the provider's key, nobody does */
async function reachedBy(lookup: ModelLookup, unknown: SkillReference | undefined): Promise<Reached> {
  try {
    return (await lookup()).reached;
  } catch (error) {
    throw unknown !== undefined && error instanceof ProviderNotConfigured ? noSkill(unknown) : error;
  }
}

const noSkill = ({ id, path }: SkillReference): Error =>
  wrong(`${path}.skill_id`, `there is no skill "${firstOf(id, 64)}"`);

/**
 * The skills as an answer shows them, in the request's order.
 * @param hosted the container of the provider that ran its own skills
 * @param legacy names versions of stored skills as Anthropic's beta of skills does
 */
export function shownSkills(
  { local, native }: ReferencedSkills,
  hosted: JsonObject | null,
  legacy: boolean,
): JsonObject[] {
  const named = Array.isArray(hosted?.skills) ? hosted.skills.filter(isObject) : [];
  const shown = [
    ...local.map(({ id, version, epoch, reference }) => ({
      at: reference.path,
      skill: { type: "custom", skill_id: id, version: legacy ? (epoch ?? version) : version },
    })),
    ...native.map(({ given, path, version }) => ({
      at: path,
      skill: named.find(({ skill_id }) => skill_id === given.skill_id) ?? {
        ...given,
        version: version ?? "latest",
      },
    })),
  ];
  const place = (path: string): number => Number(path.slice(path.lastIndexOf(".") + 1));
  return shown.sort((a, b) => place(a.at) - place(b.at)).map(({ skill }) => skill);
}
