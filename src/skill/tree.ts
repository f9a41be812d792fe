/** A parsed YAML value that remembers its position, so that diagnostics can point at it. */
import type { Json, JsonObject } from "./manifest.ts";

/** Both count from 1; columns in UTF-16 units. */
export interface Position {
  line: number;
  column: number;
}

interface ScalarNode {
  kind: "scalar";
  value: string | number | boolean | null;
  /** As written, without quotes. */
  source: string;
  at: Position;
}

interface ListNode {
  kind: "list";
  items: Node[];
  /** As written. */
  source: string;
  at: Position;
}

export interface MapNode {
  kind: "map";
  entries: Map<string, { keyAt: Position; value: Node }>;
  /** As written. */
  source: string;
  at: Position;
}

export type Node = ScalarNode | ListNode | MapNode;

/** A named value: `path` is the field's dotted path, e.g. `tools[0].name`. */
export interface Slot {
  path: string;
  node: Node;
  at: Position;
}

/** A scalar's text in YAML's failsafe schema, where `1.0` and `yes` are texts; `null` for a collection. */
export const textOf = (node: Node): string | null => (node.kind === "scalar" ? node.source : null);

/** A string as YAML reads it; `null` for any other value. */
export const stringOf = (node: Node): string | null =>
  node.kind === "scalar" && typeof node.value === "string" ? node.value : null;

/** JSON with every scalar as its text. */
export function toText(node: Node): Json {
  switch (node.kind) {
    case "scalar":
      return node.source;
    case "list":
      return node.items.map(toText);
    case "map":
      return Object.fromEntries(Array.from(node.entries, ([key, { value }]) => [key, toText(value)]));
  }
}

/** The plain JSON of a node; numbers that JSON cannot hold become their source text. */
export function toJson(node: Node): Json {
  switch (node.kind) {
    case "scalar":
      return typeof node.value === "number" && !Number.isFinite(node.value) ? node.source : node.value;
    case "list":
      return node.items.map(toJson);
    case "map":
      return mapToJson(node);
  }
}

export function mapToJson(node: MapNode): JsonObject {
  return Object.fromEntries(Array.from(node.entries, ([key, entry]) => [key, toJson(entry.value)]));
}

/**
 * The slot of one key. It points at the value if that is a scalar, else at the key: a block list begins on the line
 * after its key.
 */
export function child(map: MapNode, key: string, parent = ""): Slot | undefined {
  const entry = map.entries.get(key);
  if (entry === undefined) return undefined;
  const at = entry.value.kind === "scalar" ? entry.value.at : entry.keyAt;
  return { path: parent === "" ? key : `${parent}.${key}`, node: entry.value, at };
}

/** The slots of a mapping's values, by their keys. */
export function slotsOf(map: MapNode, parent = ""): [name: string, slot: Slot][] {
  return Array.from(map.entries.keys()).flatMap((name): [string, Slot][] => {
    const slot = child(map, name, parent);
    return slot === undefined ? [] : [[name, slot]];
  });
}

/** The slots of a list's items. */
export function items(list: ListNode, parent: string): Slot[] {
  return list.items.map((node, i) => ({ path: `${parent}[${i}]`, node, at: node.at }));
}

/**
 * The position of a dotted path, or of its longest prefix that exists: keys may contain dots themselves. A step to the
 * item of a list is its number, as in `tools[0].name` or `tools.0.name`, or its text.
 */
export function positionOf(node: Node, path: string): Position {
  if (path === "" || node.kind === "scalar") return node.at;
  if (node.kind === "list") {
    const [, number = "", rest = ""] = /^\[?(\d+)\]?(?:$|\.?(.*))/s.exec(path) ?? [];
    const item = node.items[number === "" ? -1 : Number(number)];
    if (item !== undefined) return positionOf(item, rest);
    return node.items.find((each) => textOf(each) === path)?.at ?? node.at;
  }
  const keys = [...node.entries.keys()].filter(
    (key) => path.startsWith(key) && /^(?:$|[.[])/.test(path.slice(key.length)),
  );
  const longest = keys.toSorted((a, b) => b.length - a.length)[0];
  const entry = longest === undefined ? undefined : node.entries.get(longest);
  if (longest === undefined || entry === undefined) return node.at;
  const rest = path.slice(longest.length).replace(/^\./, "");
  return rest === "" || entry.value.kind === "scalar" ? entry.keyAt : positionOf(entry.value, rest);
}

/** A part of a value, by its JSON pointer in the value. A value that names a file has no parts. */
export function partOf(slot: Slot, pointer: string): Slot | Omit<Slot, "node"> {
  if (pointer === "" || slot.node.kind !== "map") return slot;
  const steps = pointer.split("/").slice(1);
  const path = steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~")).join(".");
  return { path: `${slot.path}.${path}`, at: positionOf(slot.node, path) };
}

/** A place as editors and problem matchers read it: `<file>:<line>:<column>`, as far as it is known. */
export const placeText = (file: string, { line, column }: Partial<Position> = {}): string =>
  [file, line, column].filter((part) => part !== undefined).join(":");
