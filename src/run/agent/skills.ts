/** The skills of a run: served ones by slug, stored ones by id or name, and those that the request contains. */

import * as z from "zod/mini";
import { withPositions } from "../../engine/agent/skill-text.ts";
import type { AgentSkill, AgentSpec, AgentTool } from "../../engine/agent/spec.ts";
import { toolDefinition } from "../../engine/arguments.ts";
import { faultsIn, wrongValue } from "../../engine/fault.ts";
import { sha256 } from "../../engine/sha256.ts";
import type { Settings } from "../../env.ts";
import { InvalidRequest } from "../../errors/llm.ts";
import { SkillNotFound } from "../../errors/request.ts";
import { HullError } from "../../errors.ts";
import { refused } from "../../llm/prepare.ts";
import { findSkillNamed } from "../../registry/stored-skills/rows.ts";
import { unknownSkill } from "../../registry/tenant-catalog.ts";
import { defined, isObject } from "../../skill/json.ts";
import type { Card, Json, SkillRecord } from "../../skill/manifest.ts";
import { isAgent } from "../../skill/named-agents.ts";
import { signatureFault } from "../../skill/trust.ts";
import type { RunContext } from "../context.ts";
import { serversUsed } from "../mcp/owner.ts";
import { listedFiles } from "../own-skill.ts";
import { takeSlot } from "../slot.ts";
import { checkTrust } from "../trust.ts";
import { namedSkill } from "../v1-skills.ts";
import { commandAnnotations } from "./command-annotations.ts";

export interface RunSkills {
  skills: AgentSkill[];
  agents: AgentSkill[];
  /** Command tools of served skills. */
  tools: AgentTool[];
  /** The served skills, whose hooks the run may name. */
  records: SkillRecord[];
}

/** The most globs of an inline skill, and the most characters of one: Hull matches each with each working file. */
const MAX_GLOBS = 100;
const MAX_GLOB = 1024;

const inline = z.lazy(() => {
  const text = z.string();
  const maybe = z.exactOptional;
  return z.strictObject({
    name: text.check(z.minLength(1)),
    description: maybe(text),
    when_to_use: maybe(text),
    prompt: maybe(text),
    paths: maybe(z.array(text.check(z.maxLength(MAX_GLOB))).check(z.maxLength(MAX_GLOBS))),
    allowed_tools: maybe(z.array(text)),
    mcp: maybe(z.array(text)),
    on_activate: maybe(text),
    on_deactivate: maybe(text),
    "disable-model-invocation": maybe(z.boolean()),
    "user-invocable": maybe(z.boolean()),
    model: maybe(text),
    effort: maybe(text),
  });
});

/**
 * Reads the option `skills`: one skill, a list of names and skills, or an object whose `skills` is such a list.
 * @throws SkillNotFound, InvalidRequest, InputInvalid with a path per finding
 */
export async function readSkills(context: RunContext, given: Json | undefined): Promise<RunSkills> {
  if (given === undefined || given === null) return { skills: [], agents: [], tools: [], records: [] };
  const list = Array.isArray(given)
    ? given
    : isObject(given) && Array.isArray(given.skills)
      ? given.skills
      : [given];
  const all: AgentSkill[] = [];
  const tools: AgentTool[] = [];
  const records: SkillRecord[] = [];
  for (const [index, item] of (await named(context, list)).entries()) {
    if (typeof item === "string") {
      const { record, digest } = await listedVersion(context, item);
      records.push(record);
      all.push({ ...skillOf(context, record, digest), ...signatureOf(context, record) });
      tools.push(...toolsOf(record));
    } else all.push(inlineSkill(item, `skills.${index}`));
  }
  const twice = all.find((skill, index) => all.findIndex(({ name }) => name === skill.name) !== index);
  if (twice !== undefined) {
    throw new InvalidRequest({ option: "skills", detail: `skills names "${twice.name}" twice.` });
  }
  const names = new Set(records.filter(isAgent).map(({ manifest }) => manifest.slug));
  const skills = all.filter(({ name }) => !names.has(name));
  return { skills, agents: all.filter(({ name }) => names.has(name)), tools, records };
}

/** `*` means all served llm skills of the tenant, each of them once. */
async function named(context: RunContext, list: readonly Json[]): Promise<Json[]> {
  if (!list.includes("*")) return [...list];
  const all = context.pinned?.all ?? (await everySkill(context));
  return [...new Set([...list.filter((item) => item !== "*"), ...all])];
}

/** Slugs of all served llm skills of the tenant's. */
export async function everySkill({ deployment, tenant, background }: RunContext): Promise<string[]> {
  const { cards } = await deployment.catalogs.of(tenant, background);
  return cards.flatMap(({ slug, mode }) => (mode === "llm" ? [slug] : []));
}

/** The slug for `plugin:name`: `plugin--name`, or the name itself if it belongs to that plugin. */
function slugOf(cards: readonly Card[], given: string): string {
  const [, plugin, name] = /^([^:]+):(.+)$/.exec(given) ?? [];
  if (plugin === undefined || name === undefined) return given;
  const found =
    cards.find(({ slug }) => slug === `${plugin}--${name}`) ??
    cards.find(({ slug, namespace }) => slug === name && namespace === plugin);
  return found?.slug ?? given;
}

/** A served skill of the tenant. @throws SkillNotFound SkillNotTrusted */
export async function servedSkill(context: RunContext, slug: string): Promise<SkillRecord> {
  return (await servedVersion(context, slug)).record;
}

/**
 * The slug under which the ledger counts a run: that of the served skill that the run executes.
 * @param begun of a resumed run
 * @param named the option `skill`; `null` for one that will be refused
 */
export async function countedSkill(
  context: RunContext,
  begun: AgentSpec | undefined,
  named: unknown,
): Promise<string | null> {
  if (begun !== undefined) return begun.agent ?? begun.own_skill?.name ?? null;
  return typeof named === "string" ? ((await servedCard(context, named))?.slug ?? null) : null;
}

/** The card of a served skill that a request names; `undefined`: the tenant has none of this name. */
export async function servedCard(context: RunContext, named: string): Promise<Card | undefined> {
  return (await cardNamed(context, named)).card;
}

/** The same, with the catalog in which it was looked for. */
function cardNamed({ deployment, tenant, background }: RunContext, named: string) {
  return deployment.catalogs.find(
    tenant,
    ({ bySlug, cards }) => bySlug.get(slugOf(cards, named)),
    background,
  );
}

/**
 * Takes the slot of a run. A resumed run continues even if Hull no longer serves its skill.
 * @param skill that the run is, as `countedSkill` names it
 * @param begun of a resumed run
 * @throws ConcurrencyLimited SkillNotFound
 */
export async function runSlot(
  context: RunContext,
  skill: string | null,
  begun: AgentSpec | undefined,
  runId: string,
): Promise<() => void> {
  const record =
    skill === null
      ? null
      : await servedSkill(context, skill).catch((error: unknown) => {
          if (begun === undefined || !(error instanceof HullError)) throw error;
          return null;
        });
  if (record === null) return () => {};
  return takeSlot(context, record.manifest, runId, begun !== undefined);
}

/** A version of a skill. */
export interface SkillVersion {
  record: SkillRecord;
  digest: string;
}

/** The version of a skill that a run gets: the pinned one, else the served one. @throws SkillNotFound */
export async function servedVersion(context: RunContext, slug: string): Promise<SkillVersion> {
  const { pinned } = context;
  const kept = pinned !== undefined && Object.hasOwn(pinned.digests, slug) ? pinned.digests[slug] : undefined;
  if (kept !== undefined) {
    // A request may bring the record of a run, in which it names versions as it likes.
    const record = await context.deployment.registry.skillOf(context.tenant, kept);
    checkTrust(context.settings, record);
    return { record, digest: kept };
  }
  const { card, catalog } = await cardNamed(context, slug);
  if (card === undefined) throw unknownSkill(catalog, slug);
  const record = await context.deployment.registry.skill(card.version);
  checkTrust(context.settings, record);
  return { record, digest: card.version };
}

/**
 * The version of a skill in the option `skills` that a run gets: the served one, else the newest version of a stored
 * skill with this id or name.
 * @throws SkillNotFound
 */
export async function listedVersion(context: RunContext, name: string): Promise<SkillVersion> {
  try {
    return await servedVersion(context, name);
  } catch (error) {
    if (!(error instanceof SkillNotFound)) throw error;
    const id = await findSkillNamed(context, name);
    const stored = id === null ? null : await namedSkill(context, id, null);
    if (stored === null) throw error;
    return stored;
  }
}

/** The argv tools of a served skill. The runner finds the skill by its digest. */
export function toolsOf(record: SkillRecord): AgentTool[] {
  const { llm, slug } = record.manifest;
  return (llm?.tools ?? []).map((tool) => ({
    definition: toolDefinition(tool),
    executor: "command",
    annotations: commandAnnotations(record, tool),
    handler: { slug, tool: tool.name },
    skill: slug,
  }));
}

/** Who signed the skill, and whether the deployment trusts the signer. */
function signatureOf({ settings }: RunContext, record: SkillRecord): Pick<AgentSkill, "signature"> {
  const { signature } = record;
  if (signature === undefined) return {};
  const trusted = signatureFault(record, settings.signatures) === null;
  return { signature: { signer: signature.signer, trusted } };
}

export function skillOf(context: RunContext, record: SkillRecord, digest: string): AgentSkill {
  const { manifest, body } = record;
  const servers = serversUsed(context, record);
  const { activation = {} } = manifest;
  const hook = (name: string | undefined) =>
    name === undefined || name.includes("#") ? (name ?? null) : `${manifest.slug}#${name}`;
  return {
    name: manifest.slug,
    description: manifest.description,
    when_to_use: activation.when_to_use ?? "",
    prompt: withPositions(body, activation.arguments),
    paths: activation.paths ?? [],
    ...toolTerms(context.settings, record),
    disable_model_invocation: activation.disable_model_invocation ?? false,
    on_activate: hook(activation.on_activate),
    on_deactivate: hook(activation.on_deactivate),
    digest,
    ...(activation.user_invocable === false ? { user_invocable: false } : {}),
    ...(activation.argument_hint === undefined ? {} : { takes_arguments: true as const }),
    ...defined({ command_hooks: activation.command_hooks }),
    ...(servers.length === 0 ? {} : { mcp: servers }),
    ...(activation.context === "fork" ? { fork: true as const } : {}),
    files: listedFiles(record),
    ...(record.plugin === undefined ? {} : { plugin: record.plugin.name }),
    ...(record.plugin?.folder === undefined ? {} : { plugin_path: record.plugin.skill }),
    ...(record.plugin?.folder?.linked === undefined ? {} : { plugin_linked: true }),
    ...(record.uploaded_by === undefined ? {} : { uploaded: true }),
    ...(record.stored === undefined ? {} : { stored: true }),
    ...(manifest.llm?.max_tool_rounds === undefined ? {} : { max_tool_rounds: manifest.llm.max_tool_rounds }),
  };
}

/**
 * `allowed-tools` approves calls in advance, except in an uploaded skill. `tool_scope` hides the other tools; if the
 * deployment configures it, so does `allowed-tools`.
 */
function toolTerms(
  { workspace_tools }: Settings,
  { manifest, uploaded_by }: SkillRecord,
): Pick<AgentSkill, "allowed_tools" | "approved_tools"> {
  const { allowed_tools = [], tool_scope = [] } = manifest;
  if (workspace_tools.allowed_tools === "restrict")
    return { allowed_tools: [...new Set([...tool_scope, ...allowed_tools])] };
  const approves = uploaded_by === undefined && allowed_tools.length > 0;
  return { allowed_tools: tool_scope, ...(approves ? { approved_tools: allowed_tools } : {}) };
}

function inlineSkill(given: Json, option: string): AgentSkill {
  const at = `options.${option}`;
  if (!isObject(given)) {
    throw refused([wrongValue(at, at, "the name of a skill, or a skill: an object with a name", given)]);
  }
  const parsed = inline.safeParse(given);
  if (!parsed.success) throw refused(faultsIn(parsed.error, given, [at]));
  const skill = parsed.data;
  const odd = (skill.allowed_tools ?? []).find(
    (entry) => entry.replace(/^([^(]*)\(.*\)$/s, "$1").includes(":") && !entry.startsWith("namespace:"),
  );
  if (odd !== undefined) {
    const detail = `${option}.allowed_tools: "${odd}" is neither a tool's name, nor "namespace:<label>", nor "*".`;
    throw new InvalidRequest({ option: `${option}.allowed_tools`, detail });
  }
  return {
    name: skill.name,
    description: skill.description ?? "",
    when_to_use: skill.when_to_use ?? "",
    prompt: skill.prompt ?? "",
    paths: skill.paths ?? [],
    allowed_tools: skill.allowed_tools ?? [],
    disable_model_invocation: skill["disable-model-invocation"] ?? false,
    on_activate: skill.on_activate ?? null,
    on_deactivate: skill.on_deactivate ?? null,
    digest: sha256(skill.prompt ?? ""),
    ...(skill.mcp === undefined ? {} : { mcp: [...new Set(skill.mcp)] }),
    ...(skill["user-invocable"] === false ? { user_invocable: false } : {}),
  };
}
