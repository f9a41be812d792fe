/** The build's findings about hull.toml: names that nothing has, and settings that take no effect. */
import type { ModelRegistry } from "../../src/model/registry/definition.ts";
import type { Layer } from "../../src/model/registry/layer.ts";
import { protocolOf } from "../../src/model/registry/provider-setup.ts";
import { canonicalProvider } from "../../src/model/registry/registry.ts";
import { retirementOf } from "../../src/model/registry/retirements.ts";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import { nearest } from "../../src/skill/match.ts";
import { BUILT_IN_TOOLS } from "../../src/skill/missing-tools.ts";
import { hullToolName, SUB_AGENT, toolsNamed, WORKSPACE_TOOLS } from "../../src/skill/tool-names.ts";
import type { Position } from "../../src/skill/tree.ts";
import { addressFault } from "../../src/tool/mcp/address.ts";
import type { HullConfig } from "../config.ts";
import { SINGLES } from "./plugins.ts";
import { namesSingle, wordFor } from "./singles.ts";
import type { BuiltSkill } from "./skill.ts";
import type { SkillFolder } from "./skill-folder.ts";

/** A setting without effect. */
interface Fault {
  /** Dotted, from the top of its file. */
  path: string;
  /** The place to show, as `positionOf` takes it; absent: that of the path. */
  at?: string;
  why: string;
  hint?: string | undefined;
}

/** Settings that name things of one kind. */
interface Names {
  path: string;
  /** The path of the only name; absent: they are the items or keys of what is at the path. */
  at?: string;
  names: readonly (string | undefined)[];
  has: (name: string) => boolean;
  /** Names to suggest. */
  known: readonly string[];
  /** What is wrong with a name that nothing has. */
  lacks: (name: string) => string;
}

interface Around {
  registry: ModelRegistry;
  retired: string;
  /** Whether the build knows all providers: not if their file is in KV. */
  all: boolean;
  broken: readonly string[];
  /** The commands and agents among the skills. */
  singles: readonly SkillFolder[];
  whole: boolean;
  placeOf: PlaceOf;
}

/** The position of a path in the file. */
type PlaceOf = (path: string) => Partial<Position>;

const noProvider = (name: string) => `There is no provider ${name}.`;
const noSkill = (name: string) => `No skill has the slug ${name}.`;

/**
 * @param skills those that are served
 * @param around `broken`: names of folders whose skills are not; `retired`: see `lastRetirement`; `whole`: whether these
 *   are all folders of the project
 */
export function settingFindings(
  config: HullConfig,
  skills: readonly Pick<BuiltSkill, "card" | "manifest" | "tools">[],
  { registry, retired, all, broken, singles, whole, placeOf }: Around,
): Diagnostic[] {
  const slugs = skills.map(({ card }) => card.slug);
  const ofSkills = { has: (name: string) => slugs.includes(name) || broken.includes(name), known: slugs };
  const providers = [...registry.providers.keys()];
  const unforwarded = config.pass_through.filter(
    (name) => registry.providers.has(name) && !speaksAnthropic(name, registry),
  );
  const { public_skills, pass_through, approvals, mcp, domain, allowed_hosts } = config;
  const named: Names[] = [
    { path: "public_skills", names: public_skills, ...ofSkills, lacks: noSkill },
    {
      path: "approvals.skills",
      // Uploaded skills, which the build does not know, have the name of their tenant too.
      names: Object.keys(approvals.skills ?? {}).filter((name) => !name.includes("/")),
      ...ofSkills,
      lacks: (name) => `${noSkill(name)} For an uploaded skill, write <tenant>/<slug>.`,
    },
    ...SINGLES.map((kind): Names => {
      const { [kind]: choice } = config;
      return {
        path: kind,
        names: typeof choice === "boolean" ? [] : choice,
        has: (glob) => singles.some((folder) => folder.single === kind && namesSingle(glob, folder)),
        known: [],
        lacks: (glob) => `No ${wordFor(kind)} of a plugin has the name ${glob}.`,
      };
    }),
  ];
  const faults = [
    ...(whole ? named.flatMap(unknownNames) : []),
    ...unknownNames({
      path: "pass_through",
      names: pass_through,
      has: (name) => registry.providers.has(name) || !all,
      known: providers,
      lacks: noProvider,
    }),
    ...unforwarded.map((name) => ({
      path: "pass_through",
      at: `pass_through.${name}`,
      why: `The provider ${name} does not have Anthropic's protocol, so Hull forwards nothing to it unchanged.`,
      hint: "Remove it.",
    })),
    ...misspeltTools(config, skills),
    ...Object.entries(mcp.servers).flatMap(([name, { url }]): Fault[] => {
      const terms = { hosts: mcp.allowed_hosts, loopback: mcp.allow_loopback };
      const why = addressFault(new URL(url), terms);
      return why === null ? [] : [{ path: `mcp.servers.${name}.url`, why }];
    }),
    ...(domain === null || allowed_hosts.length === 0 || allowed_hosts.includes(domain)
      ? []
      : [
          {
            path: "domain",
            why: `A deployment answers only to the names in allowed_hosts, and ${domain} is not among them.`,
            hint: "Add it to allowed_hosts.",
          },
        ]),
    ...modelFaults(config, "llm.", { registry, retired, all }),
  ];
  return faults.map((fault) => findingOf(fault, "hull.toml", placeOf));
}

/** Findings about the tables of models of another file than hull.toml. @param prefix of its keys of `[llm]` */
export const layerFindings = (
  layer: Layer,
  file: string,
  prefix: string,
  { placeOf, ...known }: Pick<Around, "registry" | "retired" | "all" | "placeOf">,
): Diagnostic[] => modelFaults(layer, prefix, known).map((fault) => findingOf(fault, file, placeOf));

function findingOf({ path, at = path, why, hint }: Fault, file: string, placeOf: PlaceOf): Diagnostic {
  return {
    level: "warning",
    code: "setting_without_effect",
    skill: "",
    file,
    ...placeOf(at),
    field: path,
    message: why,
    ...(hint === undefined ? {} : { hint }),
  };
}

const unknownNames = ({ path, at, names, has, known, lacks }: Names): Fault[] =>
  names.flatMap((name) =>
    name === undefined || has(name)
      ? []
      : [{ path, at: at ?? `${path}.${name}`, why: lacks(name), hint: suggestion(name, known) }],
  );

function suggestion(name: string, known: readonly string[]): string | undefined {
  const [near] = nearest(name, known);
  return near === undefined ? undefined : `Did you mean ${near}?`;
}

const speaksAnthropic = (name: string, registry: ModelRegistry): boolean =>
  protocolOf(name, registry.providers.get(name) ?? {}, () => undefined) === "anthropic";

function modelFaults(
  {
    llm = {},
    capabilities = {},
  }: Pick<Layer, "llm" | "capabilities"> | Pick<HullConfig, "llm" | "capabilities">,
  prefix: string,
  { registry, retired, all }: Pick<Around, "registry" | "retired" | "all">,
): Fault[] {
  const known = [...registry.providers.keys()];
  const isProvider = (name: string): boolean =>
    !all || registry.providers.has(canonicalProvider(registry, name));
  const { user, shipped } = registry.capabilities;
  const families = new Set([...user.family.values(), ...shipped.family.values()]);
  const hasRules = (name: string): boolean => shipped.rules.has(name) || families.has(name);
  const each = <T>(
    table: string,
    entries: Record<string, T> | undefined,
    of: (entry: T) => string | undefined,
  ) =>
    Object.entries(entries ?? {}).map(([key, entry]): [string, string | undefined] => [
      `${prefix}${table}.${key}.${table === "providers" ? "fallback" : "provider"}`,
      of(entry),
    ]);
  const named: [path: string, name: string | undefined][] = [
    [`${prefix}default_provider`, llm.default_provider],
    ...each("aliases", llm.aliases, ({ provider }) => provider),
    ...each("models", llm.models, ({ provider }) => provider),
    ...each("providers", llm.providers, ({ fallback }) => fallback),
    ...(llm.inference_rules ?? []).map(({ provider }, n): [string, string] => [
      `${prefix}inference_rules[${n}].provider`,
      provider,
    ]),
    ...Object.keys(capabilities.provider_family ?? {}).map((name): [string, string] => [
      "capabilities.provider_family",
      name,
    ]),
  ];
  const ruled = [...user.rules.keys(), ...shipped.rules.keys()];
  return [
    ...named.flatMap(([path, name]) =>
      unknownNames({ path, names: [name], has: isProvider, known, lacks: noProvider }),
    ),
    ...unknownNames({
      path: "capabilities.provider",
      names: Object.keys(capabilities.provider ?? {}),
      has: (name) => isProvider(name) || hasRules(name),
      known,
      lacks: noProvider,
    }),
    ...Object.entries(capabilities.provider_family ?? {}).flatMap(([key, family]) =>
      unknownNames({
        path: "capabilities.provider_family",
        at: `capabilities.provider_family.${key}`,
        names: [family],
        has: (name) => ruled.includes(name) || isProvider(name),
        known: [...known, ...ruled],
        lacks: (name) => `There is no provider ${name}, and no rules of this name.`,
      }),
    ),
    ...Object.entries(llm.aliases ?? {}).flatMap(([alias, { id, provider }]): Fault[] => {
      const day = retirementOf(provider, id);
      const hint = "Name another model.";
      return day === null || day > retired
        ? []
        : [
            {
              path: `${prefix}aliases.${alias}.id`,
              why: `${provider} shut ${id} down on ${day}.`,
              hint,
            },
          ];
    }),
  ];
}

/** The most letters by which a misspelt tool differs in length. */
const MOST_LETTERS = 2;

/**
 * Names of tools that are almost those of a tool. A run's request may bring tools of any other name, so nothing is said
 * about a name that is like none.
 */
function misspeltTools(
  { policy = {}, workspace_tools }: HullConfig,
  skills: readonly Pick<BuiltSkill, "manifest" | "tools">[],
): Fault[] {
  const workspace = workspace_tools.enabled === "never" ? [] : WORKSPACE_TOOLS;
  const ofSkills = skills.flatMap(({ manifest, tools }) => [...(manifest.llm?.tools ?? []), ...tools]);
  const known = [
    ...new Set([...BUILT_IN_TOOLS, SUB_AGENT, ...workspace, ...ofSkills.map(({ name }) => name)]),
  ];
  const has = (name: string): boolean =>
    hullToolName(name) !== name || toolsNamed(name, known).length > 0 || name.includes("__");
  const near = (name: string): boolean =>
    nearest(name, known).some(({ length }) => Math.abs(length - name.length) <= MOST_LETTERS);
  const lists: { path: string; at?: string; names: readonly string[] }[] = [
    { path: "policy.tools", names: policy.tools ?? [] },
    { path: "policy.blocked_tools", names: policy.blocked_tools ?? [] },
    ...(policy.tool_arg_constraints ?? []).map(({ tool }, n) => ({
      path: "policy.tool_arg_constraints",
      at: `policy.tool_arg_constraints[${n}].tool`,
      names: [tool],
    })),
    { path: "policy.tool_annotations", names: Object.keys(policy.tool_annotations ?? {}) },
  ];
  return lists.flatMap(({ names, ...place }) =>
    unknownNames({
      ...place,
      names: names.filter(near),
      has,
      known,
      lacks: (name) => `Neither Hull nor a skill has a tool ${name}.`,
    }),
  );
}
