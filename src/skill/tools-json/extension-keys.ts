/** The `x-` keys of a tool: what it may do, and how it runs and looks. Other runtimes ignore them. */
import { readBoolean, readChoice, readInteger, readText, readTexts, wrongType } from "../fields.ts";
import type { Findings } from "../findings.ts";
import type { NetworkNeed, Risk, SkillTool, ToolDisplay } from "../manifest.ts";
import { nearest } from "../match.ts";
import { readToolEnv } from "../tool-env.ts";
import { child, type MapNode, mapToJson, type Slot, toJson } from "../tree.ts";
import { readConfigParams } from "./config-param.ts";
import { checkSchema, readObjectSchema } from "./parameters.ts";
import { EXTENSION_KEYS, TOOL_FIELDS } from "./tool-fields.ts";

/** Time limit of a handler that declares none, in ms. */
const DEFAULT_TIMEOUT_MS = TOOL_FIELDS["x-timeout-ms"].default;

const DISPLAY_TEXTS = {
  version: "x-version",
  category: "x-category",
  icon: "x-icon",
  display_name: "x-display-name",
  group: "x-group",
} as const;

/** What the keys set in a tool, and the tier that its author requests. */
type Extensions = Pick<
  SkillTool,
  | "timeout_ms"
  | "env"
  | "network"
  | "filesystem"
  | "side_effects"
  | "idempotent"
  | "risk"
  | "hidden"
  | "config"
  | "output_schema"
  | "display"
> & { tier: "isolate" | "runner" | null; input_schema: SkillTool["parameters"] | null };

/** @param keyVariables variables that hold provider keys, which no tool sees */
export function readExtensions(
  findings: Findings,
  slot: Slot,
  map: MapNode,
  keyVariables: readonly string[],
): Extensions {
  warnNearMisses(findings, slot, map);
  const at = (key: string) => child(map, key, slot.path);
  const flag = (key: string) => readBoolean(findings, at(key)) ?? false;
  const network = readNetwork(findings, at("x-requires-network"));
  const filesystem = flag("x-requires-filesystem");
  const side_effects = flag("x-side-effects");
  const risk = readChoice(findings, at("x-risk"), TOOL_FIELDS["x-risk"].of, { anyCase: true }) ?? "auto";
  const input = at("x-input-schema");
  const output = readOutputSchema(findings, at("x-output-schema"));
  const display = readDisplay(findings, at);
  return {
    timeout_ms: readInteger(findings, at("x-timeout-ms"), TOOL_FIELDS["x-timeout-ms"]) ?? DEFAULT_TIMEOUT_MS,
    env: readToolEnv(findings, at("x-env"), keyVariables),
    network,
    filesystem,
    side_effects,
    idempotent: flag("x-idempotent"),
    risk: risk === "auto" ? deriveRisk({ side_effects, filesystem, network: network !== null }) : risk,
    hidden: flag("x-hidden"),
    config: readConfigParams(findings, at("x-config")),
    ...(output === null ? {} : { output_schema: output }),
    ...(Object.keys(display).length === 0 ? {} : { display }),
    tier: readChoice(findings, at("x-tier"), TOOL_FIELDS["x-tier"].of) ?? null,
    input_schema: input === undefined ? null : readObjectSchema(findings, input),
  };
}

/** A host, or `*.` and a domain, for all hosts below it. */
const HOST =
  /^(?:\*\.)?(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

function readNetwork(findings: Findings, slot: Slot | undefined): NetworkNeed {
  if (slot === undefined) return null;
  if (slot.node.kind !== "list") {
    if (slot.node.kind === "scalar") return readBoolean(findings, slot) === true ? { hosts: null } : null;
    wrongType(findings, slot, "true, false or a list of hosts", 'Write for example ["api.example.com"].');
    return null;
  }
  const hosts = readTexts(findings, slot, "hosts, such as api.example.com or *.example.com", (host) =>
    HOST.test(host.toLowerCase()) ? null : "it is not the name of a host, without scheme, port or path",
  );
  const names = new Set(hosts?.map(({ text }) => text.toLowerCase()));
  return names.size === 0 ? null : { hosts: [...names] };
}

function readOutputSchema(findings: Findings, slot: Slot | undefined): SkillTool["parameters"] | null {
  if (slot === undefined) return null;
  if (slot.node.kind !== "map") {
    wrongType(findings, slot, "a JSON Schema");
    return null;
  }
  const schema = mapToJson(slot.node);
  checkSchema(findings, slot, schema);
  return schema;
}

function readDisplay(findings: Findings, at: (key: string) => Slot | undefined): ToolDisplay {
  const texts = Object.entries(DISPLAY_TEXTS).flatMap(([name, key]) => {
    const text = readText(findings, at(key));
    return text === undefined ? [] : [[name, text] as const];
  });
  const tags = readTexts(findings, at("x-tags"), "texts", () => null)?.map(({ text }) => text.toLowerCase());
  const examples = at("x-examples");
  if (examples !== undefined && examples.node.kind !== "list") wrongType(findings, examples, "a list");
  const deprecated = readDeprecated(findings, at("x-deprecated"));
  const latency = readInteger(findings, at("x-estimated-latency-ms"), TOOL_FIELDS["x-estimated-latency-ms"]);
  return {
    ...Object.fromEntries(texts),
    ...(tags === undefined ? {} : { tags }),
    ...(examples?.node.kind === "list" ? { examples: examples.node.items.map(toJson) } : {}),
    ...(deprecated === undefined ? {} : { deprecated }),
    ...(latency === undefined ? {} : { estimated_latency_ms: latency }),
  };
}

function readDeprecated(findings: Findings, slot: Slot | undefined): boolean | string | undefined {
  if (slot === undefined) return undefined;
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

interface RiskFlags {
  side_effects: boolean;
  /** Whether it may read and write the work folder. */
  filesystem: boolean;
  network: boolean;
}

/** A tool that changes nothing is safe, repeatable or not. `critical` is never derived, only declared. */
function deriveRisk({ side_effects, filesystem, network }: RiskFlags): Risk {
  if (!side_effects) return "safe";
  return filesystem || network ? "dangerous" : "moderate";
}
