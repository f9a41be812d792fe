/** Readers of fields that are there, with coercions and messages. `undefined`: a finding says why it cannot be read. */
import type { Field, Fields, Value, Values } from "./field-kinds.ts";
import type { Findings } from "./findings.ts";
import type { Json, JsonObject } from "./manifest.ts";
import { nearest } from "./match.ts";
import { child, items, type MapNode, type Position, type Slot, slotsOf, stringOf, toJson } from "./tree.ts";

/** @param read the fields before it */
type Reader<F, T> = (slot: Slot, read: Partial<Values<T>>) => Value<F> | undefined;
/** What reports that a field is absent, where its kind does not say enough. */
type Reports<T> = { [Name in keyof T]?: (read: Partial<Values<T>>) => void };
/** Readers for fields that need more than their kinds say, as the members of a list always do. */
export type Readers<T> = { [Name in keyof T]?: Reader<T[Name], T> } & {
  [Name in keyof T as T[Name] extends { kind: "objects" } ? Name : never]: Reader<T[Name], T>;
};
/** Where a mapping is. */
type Place = { path: string; at?: Position };

/**
 * The values of the fields of a mapping, read in their order. A field that is absent or refused has its default.
 * @param readKind reads what has no reader of its own
 */
export function readFields<T extends Fields>(
  findings: Findings,
  map: MapNode,
  place: Place,
  fields: T,
  readers: Readers<T>,
  options?: { missing?: Reports<T>; readKind?: typeof readStrictly },
): Values<T>;
export function readFields(
  findings: Findings,
  map: MapNode,
  place: Place,
  fields: Fields,
  readers: { [name: string]: ((slot: Slot, read: object) => unknown) | undefined },
  {
    missing = {},
    readKind = readStrictly,
  }: {
    missing?: { [name: string]: ((read: object) => void) | undefined };
    readKind?: typeof readStrictly;
  } = {},
): object {
  const values: { [name: string]: unknown } = {};
  for (const [name, field] of Object.entries(fields)) {
    const slot = child(map, name, place.path);
    const [reader, report] = [readers[name], missing[name]];
    let read: unknown;
    if (slot !== undefined && reader !== undefined) read = reader(slot, values);
    else if (slot === undefined && report !== undefined) report(values);
    else if (field.kind === "text" && field.required === true)
      read = readRequiredText(findings, place, name, slot);
    else if (slot !== undefined) read = readKind(findings, slot, field);
    const refused = slot !== undefined && field.required === true;
    const value = read === undefined && !refused ? field.default : read;
    const kept = field.sparse === undefined || JSON.stringify(value) !== JSON.stringify(field.default);
    if (value !== undefined && kept) values[field.stored ?? name] = value;
  }
  return values;
}

/** Reads a mapping with fields of its own; `undefined` also if a required field is absent or refused. */
export function readMapping<T extends Fields>(
  findings: Findings,
  slot: Slot,
  fields: T,
  readers: Readers<T>,
  missing: Reports<T> = {},
): Values<T> | undefined {
  const map = readMap(findings, slot);
  if (map === undefined) return undefined;
  warnUnknown(findings, map, slot.path, Object.keys(fields));
  const values = readFields(findings, map, slot, fields, readers, { missing });
  return Object.entries(fields).every(([name, { required, stored = name }]) => !required || stored in values)
    ? values
    : undefined;
}

function readStrictly(findings: Findings, slot: Slot, field: Field): Json | undefined {
  switch (field.kind) {
    case "text":
      return readText(findings, slot);
    case "number":
      return readNumber(findings, slot);
    case "integer":
      return readInteger(findings, slot, field);
    case "flag":
      return readBoolean(findings, slot);
    case "choice":
      return readChoice(findings, slot, field.of, field);
    case "list":
      return readTexts(findings, slot, field.of ?? "strings", () => null)?.map(({ text }) => text);
    case "map":
      return readMembers(findings, slot, field.of ?? { kind: "any" });
    case "object":
      return readMapping(findings, slot, field.fields, {});
    case "values":
      if (slot.node.kind === "list") return slot.node.items.map(toJson);
      wrongType(findings, slot, "a list");
      return undefined;
    default:
      return toJson(slot.node);
  }
}

function readMembers(findings: Findings, slot: Slot, member: Field): JsonObject | undefined {
  const slots = readSlots(findings, slot);
  const members = slots?.flatMap(([name, at]) => {
    const value = readStrictly(findings, at, member);
    return value === undefined ? [] : [[name, value] as const];
  });
  return members && Object.fromEntries(members);
}

/** Without C0 and C1 control characters; tab and line feed stay. */
export function stripControls(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}

/** Required, non-empty text, trimmed. */
export function readRequiredText(
  findings: Findings,
  parent: Place,
  key: string,
  slot: Slot | undefined,
): string | undefined {
  if (slot === undefined) {
    const path = parent.path === "" ? key : `${parent.path}.${key}`;
    const location = parent.at === undefined ? { path } : { path, at: parent.at };
    findings.error(`${key}_missing`, location, `The field ${key} is required.`, `Add ${key}: and a string.`);
    return undefined;
  }
  const text = readText(findings, slot);
  if (text === undefined) return undefined;
  const trimmed = text.trim();
  if (trimmed !== "") return trimmed;
  findings.error(
    `${key}_empty`,
    slot,
    `The field ${key} must not be empty.`,
    `Give ${key} a string that is not blank.`,
  );
  return undefined;
}

/** Text without control characters; may be empty. */
export function readText(findings: Findings, slot: Slot): string | undefined {
  const text = stringOf(slot.node);
  if (text !== null) return stripControls(text);
  const quoted =
    slot.node.kind === "scalar" && slot.node.value !== null
      ? `Put it in quotes: "${slot.node.source}".`
      : undefined;
  wrongType(findings, slot, "text", quoted);
  return undefined;
}

/** An integer in a range. Digits in quotes are accepted with a warning; fractions and anything else are errors. */
function readInteger(
  findings: Findings,
  slot: Slot,
  range: { min: number; max: number },
): number | undefined {
  const raw = slot.node.kind === "scalar" ? slot.node.value : undefined;
  let value = raw;
  if (typeof raw === "string" && /^\d{1,15}$/.test(raw)) {
    value = Number(raw);
    findings.warning(
      "integer_as_text",
      slot,
      `The field ${slot.path} holds digits in a string; Hull reads them as the number ${value}.`,
      "Remove the quotes.",
    );
  }
  if (typeof value === "number" && Number.isInteger(value) && value >= range.min && value <= range.max) {
    return value;
  }
  findings.error(
    "not_an_integer_in_range",
    slot,
    `The field ${slot.path} must be an integer from ${range.min} to ${range.max}.`,
    /[_-]ms$/.test(slot.path)
      ? "Write milliseconds as digits without a unit, e.g. 5000."
      : typeof value === "number"
        ? undefined
        : "Write digits without a unit.",
  );
  return undefined;
}

function readNumber(findings: Findings, slot: Slot): number | undefined {
  const value = toJson(slot.node);
  if (typeof value === "number") return value;
  wrongType(findings, slot, "a number");
  return undefined;
}

/** A boolean; `"true"` and `"false"` as text are accepted with a warning. */
export function readBoolean(
  findings: Findings,
  slot: Slot,
  [takes, hint]: readonly [takes: string, hint?: string] = ["true or false"],
): boolean | undefined {
  const value = slot.node.kind === "scalar" ? slot.node.value : undefined;
  if (typeof value === "boolean") return value;
  if (value === "true" || value === "false") {
    findings.warning(
      "boolean_as_text",
      slot,
      `The field ${slot.path} holds "${value}" in a string; Hull reads it as ${value}.`,
      "Remove the quotes.",
    );
    return value === "true";
  }
  wrongType(findings, slot, takes, hint);
  return undefined;
}

/** One of a closed list of words; `anyCase` accepts other letter case. */
export function readChoice<T extends string>(
  findings: Findings,
  slot: Slot,
  choices: readonly T[],
  options: { anyCase?: boolean } = {},
): T | undefined {
  const text = stringOf(slot.node) ?? undefined;
  const found = choices.find(
    (c) => c === text || (options.anyCase === true && c.toLowerCase() === text?.toLowerCase()),
  );
  if (found !== undefined) return found;
  const [suggestion] = text === undefined ? [] : nearest(text, choices);
  findings.error(
    "value_not_allowed",
    slot,
    `The field ${slot.path} must be one of: ${choices.join(", ")}.`,
    suggestion === undefined ? undefined : `Did you mean ${suggestion}?`,
  );
  return undefined;
}

/** A list of texts; each must pass `check`, which returns its fault or `null`. */
export function readTexts(
  findings: Findings,
  slot: Slot,
  what: string,
  check: (text: string) => string | null,
): { text: string; slot: Slot }[] | undefined {
  if (slot.node.kind !== "list") {
    wrongType(findings, slot, `a list of ${what}`, "Write a list: [first, second].");
    return undefined;
  }
  const texts: { text: string; slot: Slot }[] = [];
  for (const item of items(slot.node, slot.path)) {
    const text = stringOf(item.node);
    const problem = text === null ? "it is not a string" : check(text);
    if (problem === null && text !== null) texts.push({ text, slot: item });
    else
      findings.error(
        "list_member",
        item,
        `${item.path} is not accepted: ${problem}. The list holds ${what}.`,
      );
  }
  return texts;
}

export function readMap(findings: Findings, slot: Slot): MapNode | undefined {
  if (slot.node.kind === "map") return slot.node;
  wrongType(findings, slot, "a mapping (key: value lines)");
  return undefined;
}

/** The slots of a mapping's values, by their keys. */
export function readSlots(findings: Findings, slot: Slot): [name: string, slot: Slot][] | undefined {
  const map = readMap(findings, slot);
  return map && slotsOf(map, slot.path);
}

/** Warns about every key outside `known`, with the nearest known one. */
export function warnUnknown(
  findings: Findings,
  map: MapNode,
  parent: string,
  known: readonly string[],
): void {
  for (const [key, { keyAt, value }] of map.entries) {
    if (known.includes(key)) continue;
    const [suggestion] = nearest(key, known);
    findings.warning(
      "unknown_field",
      { path: parent === "" ? key : `${parent}.${key}`, at: keyAt, node: value },
      `The field ${key} is unknown here and has no effect.`,
      suggestion === undefined ? undefined : `Did you mean ${suggestion}?`,
    );
  }
}

export function wrongType(findings: Findings, slot: Slot, expected: string, hint?: string): void {
  const empty = slot.node.kind === "scalar" && slot.node.value === null;
  findings.error(
    "wrong_type",
    slot,
    empty
      ? `The field ${slot.path} has no value; Hull expects ${expected}.`
      : `The field ${slot.path} must be ${expected}.`,
    hint ?? (empty ? "Give it a value, or remove the line." : undefined),
  );
}

/** A warning about a value of an optional field that Hull cannot read. */
export function withoutEffect(findings: Findings, slot: Slot, wanted: string): void {
  const message = `The field ${slot.path} is not ${wanted}, and has no effect.`;
  findings.warning("activation_field", slot, message, `Write ${wanted}.`);
}
