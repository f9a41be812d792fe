/** Reads a field that the manifest's table declares as an integer. */
import { readInteger } from "./fields.ts";
import type { Findings } from "./findings.ts";
import { type FieldName, MANIFEST_FIELDS } from "./manifest-fields.ts";
import { child, type MapNode } from "./tree.ts";

type Fields = typeof MANIFEST_FIELDS;
type IntegerField = {
  [name in FieldName]: Fields[name] extends { kind: "integer" } ? name : never;
}[FieldName];
type DefaultedField = {
  [name in IntegerField]: Fields[name] extends { default: number } ? name : never;
}[IntegerField];

/** The value within its range, else the default; `undefined` if there is neither. Reports faults. */
export function readNumber(findings: Findings, root: MapNode, name: DefaultedField): number;
export function readNumber(findings: Findings, root: MapNode, name: IntegerField): number | undefined;
export function readNumber(findings: Findings, root: MapNode, name: IntegerField): number | undefined {
  const field: { min: number; max: number; default?: number } = MANIFEST_FIELDS[name];
  return readInteger(findings, child(root, name), field) ?? field.default;
}
