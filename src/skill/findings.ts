/** Collects the diagnostics of one skill in the order they are found. */
import { firstOf } from "../cut.ts";
import type { Diagnostic, Json } from "./manifest.ts";
import { type Position, type Slot, toJson } from "./tree.ts";

const MAX_VALUE = 200;

/** The subject of a diagnostic: a value with its place, or a part of that. */
type Location = Slot | { path?: string; at?: Position; value?: Json };

export class Findings {
  readonly list: Diagnostic[] = [];
  readonly #skill: string;
  readonly #file: string;
  readonly #positions: ReadonlyMap<string, Position>;
  /** Path from the root to the skill's folder: empty, or ending in `/`. */
  #base: string;
  #whole: Findings | null = null;

  /**
   * @param skill folder name
   * @param file SKILL.md, relative to the root
   * @param positions of the top-level fields
   */
  constructor(skill: string, file: string, positions: ReadonlyMap<string, Position> = new Map()) {
    this.#skill = skill;
    this.#file = file;
    this.#positions = positions;
    this.#base = file.slice(0, file.lastIndexOf("/") + 1);
  }

  /** Those of a part of the skill, which also become some of these. @param path of its file in the skill's folder */
  part(path?: string): Findings {
    const file = path === undefined ? this.#file : this.#base + path;
    const part = new Findings(this.#skill, file, path === undefined ? this.#positions : undefined);
    part.#base = this.#base;
    part.#whole = this;
    return part;
  }

  /** Where a field of SKILL.md is. @param path dotted */
  place(path: string): { at?: Position } {
    const at = this.#positions.get(path.replace(/[[.].*$/, ""));
    return at === undefined ? {} : { at };
  }

  /** A field of SKILL.md with its place. */
  field(path: string, value?: Json): Location {
    return { path, ...this.place(path), ...(value === undefined ? {} : { value }) };
  }

  error(code: string, location: Location, message: string, hint?: string): void {
    this.#add("error", code, location, message, hint);
  }

  warning(code: string, location: Location, message: string, hint?: string): void {
    this.#add("warning", code, location, message, hint);
  }

  info(code: string, location: Location, message: string, hint?: string): void {
    this.#add("info", code, location, message, hint);
  }

  get failed(): boolean {
    return this.list.some((d) => d.level === "error");
  }

  #add(level: Diagnostic["level"], code: string, location: Location, message: string, hint?: string): void {
    const value = "node" in location ? toJson(location.node) : location.value;
    const found = {
      level,
      code,
      skill: this.#skill,
      file: this.#file,
      ...location.at,
      ...(location.path === undefined ? {} : { field: location.path }),
      ...(value === undefined ? {} : { value: shown(value) }),
      message,
      ...(hint === undefined ? {} : { hint }),
    };
    for (let all: Findings | null = this; all !== null; all = all.#whole) all.list.push(found);
  }
}

function shown(value: Json): string {
  const text = JSON.stringify(value);
  return text.length <= MAX_VALUE ? text : `${firstOf(text, MAX_VALUE - 1)}…`;
}
