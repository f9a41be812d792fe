/**
 * What a policy knows of a tool (agent-runtime.md §9.1). The deployment's `tool_annotations` replace what the tool declares;
 * those of a run below it can only add to what is known, or a caller could talk any tool below the deployment's ceiling.
 */
import { isObject, objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { SIDE_EFFECT_LEVELS, type SideEffectLevel } from "../../skill/policy.ts";
import type { AgentTool, ToolAnnotations } from "./spec.ts";

const LEVELS: readonly SideEffectLevel[] = SIDE_EFFECT_LEVELS;

/** The place of a level; -1: it is none. */
export function rankOf(level: Json | undefined): number {
  const names: readonly (Json | undefined)[] = LEVELS;
  return names.indexOf(level);
}

/** The key of what runs below a ceiling say of tools, in a policy that was made of both; no request can set it. */
const RAISES = "raised_annotations";

interface Known {
  level: SideEffectLevel | null;
  /** Capability to operations, as declared. */
  capabilities: JsonObject;
}

/** What counts of a tool under this policy. */
export function knownOf(policy: JsonObject, tool: AgentTool): Known {
  const { name } = tool.definition;
  const declared = { ...tool.annotations, ...objectOf(objectOf(policy.tool_annotations)[name]) };
  const start = knownIn(declared);
  // Whom these tools belong to is who says what they do.
  const callers = tool.skill === null && (tool.executor === "client" || tool.executor === "hook");
  return raisesOf(policy).reduce<Known>((known, raise) => {
    const given = objectOf(raise[name]);
    const said = knownIn(given);
    const level =
      said.level === null || (!callers && rankOf(said.level) < rankOf(known.level)) ? null : said.level;
    return {
      // What nobody knows stays unknown, which no ceiling lets pass.
      level: known.level === null && !callers ? null : (level ?? known.level),
      capabilities:
        "capabilities" in given && callers
          ? said.capabilities
          : united(known.capabilities, said.capabilities),
    };
  }, start);
}

/** `tool_annotations` of two policies that both hold, the ceiling's first. */
export function bothAnnotations(outer: JsonObject, own: JsonObject): JsonObject {
  const raises = [...raisesOf(outer), objectOf(own.tool_annotations), ...raisesOf(own)];
  const said = raises.filter((raise) => Object.keys(raise).length > 0);
  return {
    tool_annotations: objectOf(outer.tool_annotations),
    ...(said.length === 0 ? {} : { [RAISES]: said }),
  };
}

function raisesOf(policy: JsonObject): JsonObject[] {
  const raises = policy[RAISES];
  return Array.isArray(raises) ? raises.filter(isObject) : [];
}

function knownIn({ side_effect_level, capabilities }: ToolAnnotations | JsonObject): Known {
  const given: Json = capabilities ?? null;
  return { level: LEVELS[rankOf(side_effect_level)] ?? null, capabilities: objectOf(given) };
}

function united(a: JsonObject, b: JsonObject): JsonObject {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  return Object.fromEntries(names.map((name) => [name, [...listOf(a[name]), ...listOf(b[name])]]));
}

const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);
