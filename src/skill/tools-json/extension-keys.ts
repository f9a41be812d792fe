/** The `x-` keys of a tool: what it may do, and how it runs and looks. Other runtimes ignore them. */
import type { Values } from "../field-kinds.ts";
import { readBoolean, readFields, readTexts, wrongType } from "../fields.ts";
import type { Findings } from "../findings.ts";
import type { NetworkNeed, Risk, SkillTool } from "../manifest.ts";
import { nearest } from "../match.ts";
import { readToolEnv } from "../tool-env.ts";
import { type MapNode, type Slot, toJson } from "../tree.ts";
import { readConfigParams } from "./config-param.ts";
import { readObjectSchema, readSchema } from "./parameters.ts";
import { DISPLAY_FIELDS, EXTENSION_FIELDS } from "./tool-fields.ts";

const EXTENSION_KEYS = [...Object.keys(EXTENSION_FIELDS), ...Object.keys(DISPLAY_FIELDS)];

/** What the keys set in a tool, and the tier and the schema of arguments that its author requests. */
type Extensions = Omit<Values<typeof EXTENSION_FIELDS>, "risk"> & Pick<SkillTool, "risk" | "display">;

/** @param keyVariables variables that hold provider keys, which no tool sees */
export function readExtensions(
  findings: Findings,
  slot: Slot,
  map: MapNode,
  keyVariables: readonly string[],
): Extensions {
  warnNearMisses(findings, slot, map);
  const read = readFields(findings, map, slot, EXTENSION_FIELDS, {
    "x-env": (at) => readToolEnv(findings, at, keyVariables),
    "x-requires-network": (at) => readNetwork(findings, at),
    "x-config": (at) => readConfigParams(findings, at),
    "x-input-schema": (at) => readObjectSchema(findings, at),
    "x-output-schema": (at) => readSchema(findings, at),
  });
  const display = readFields(findings, map, slot, DISPLAY_FIELDS, {
    "x-deprecated": (at) => readDeprecated(findings, at),
  });
  const { tags } = display;
  if (tags !== undefined) display.tags = tags.map((tag) => tag.toLowerCase());
  const risk = read.risk === "auto" ? deriveRisk(read) : read.risk;
  return { ...read, risk, ...(Object.keys(display).length === 0 ? {} : { display }) };
}

/** A host, or `*.` and a domain, for all hosts below it. */
const HOST =
  /^(?:\*\.)?(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

const NETWORK = ["true, false or a list of hosts", 'Write for example ["api.example.com"].'] as const;

function readNetwork(findings: Findings, slot: Slot): NetworkNeed {
  if (slot.node.kind !== "list")
    return readBoolean(findings, slot, NETWORK) === true ? { hosts: null } : null;
  const hosts = readTexts(findings, slot, "hosts, such as api.example.com or *.example.com", (host) =>
    HOST.test(host.toLowerCase()) ? null : "it is not the name of a host, without scheme, port or path",
  );
  const names = new Set(hosts?.map(({ text }) => text.toLowerCase()));
  return names.size === 0 ? null : { hosts: [...names] };
}

function readDeprecated(findings: Findings, slot: Slot): boolean | string | undefined {
  const value = toJson(slot.node);
  if (typeof value === "boolean" || typeof value === "string") return value;
  wrongType(findings, slot, "true, false or a string");
  return undefined;
}

/** Other runtimes' keys are fine; one that resembles ours is probably misspelt. */
function warnNearMisses(findings: Findings, slot: Slot, map: MapNode): void {
  for (const [key, entry] of map.entries) {
    if (!key.startsWith("x-") || EXTENSION_KEYS.includes(key)) continue;
    const [meant] = nearest(key, EXTENSION_KEYS);
    if (meant === undefined) continue;
    const location = { path: `${slot.path}.${key}`, at: entry.keyAt, node: entry.value };
    findings.warning(
      "unknown_field",
      location,
      `The key ${key} has no effect here.`,
      `Did you mean ${meant}?`,
    );
  }
}

/** A tool that changes nothing is safe, repeatable or not. `critical` is never derived, only declared. */
function deriveRisk({
  side_effects,
  filesystem,
  network,
}: Pick<SkillTool, "side_effects" | "filesystem" | "network">): Risk {
  if (!side_effects) return "safe";
  return filesystem || network !== null ? "dangerous" : "moderate";
}
