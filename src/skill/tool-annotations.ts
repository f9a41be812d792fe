/** A command tool's declaration of its own effects. */
import { readBoolean, readChoice, readMap, readTexts, warnUnknown } from "./fields.ts";
import type { Findings } from "./findings.ts";
import { type CommandAnnotations, type CommandTool, SIDE_EFFECT_LEVELS, TOOL_KINDS } from "./manifest.ts";
import { child, type MapNode, mapToJson, type Slot } from "./tree.ts";

const KEYS = ["kind", "side_effect_level", "capabilities", "arg_schema"];

/** `annotations` and `idempotent` of a tool's mapping. */
export function readEffects(
  findings: Findings,
  tool: MapNode,
  path: string,
): Pick<CommandTool, "annotations" | "idempotent"> {
  const idempotent = readBoolean(findings, child(tool, "idempotent", path));
  const slot = child(tool, "annotations", path);
  const map = readMap(findings, slot);
  return {
    ...(slot === undefined || map === undefined
      ? {}
      : { annotations: readAnnotations(findings, map, slot.path) }),
    ...(idempotent === undefined ? {} : { idempotent }),
  };
}

function readAnnotations(findings: Findings, map: MapNode, path: string): CommandAnnotations {
  warnUnknown(findings, map, path, KEYS);
  const kind = readChoice(findings, child(map, "kind", path), TOOL_KINDS);
  const level = readChoice(findings, child(map, "side_effect_level", path), SIDE_EFFECT_LEVELS);
  const capabilities = readCapabilities(findings, child(map, "capabilities", path));
  const schema = readMap(findings, child(map, "arg_schema", path));
  return {
    ...(kind === undefined ? {} : { kind }),
    ...(level === undefined ? {} : { side_effect_level: level }),
    ...(capabilities === undefined ? {} : { capabilities }),
    ...(schema === undefined ? {} : { arg_schema: mapToJson(schema) }),
  };
}

function readCapabilities(findings: Findings, slot: Slot | undefined): CommandAnnotations["capabilities"] {
  const map = readMap(findings, slot);
  if (map === undefined || slot === undefined) return undefined;
  const lists = [...map.entries.keys()].map((name): [string, string[]] => {
    const operations = readTexts(findings, child(map, name, slot.path), "operations", () => null) ?? [];
    return [name, operations.map(({ text }) => text)];
  });
  return Object.fromEntries(lists);
}
