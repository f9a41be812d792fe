/** Collects the diagnostics of one skill in the order they are found. */
import { firstOf } from "../cut.ts";
import type { Diagnostic } from "./manifest.ts";
import { type Position, type Slot, toJson } from "./tree.ts";

const MAX_VALUE = 200;

/** The subject of a diagnostic: a value, or a field without one (only a position, or not even that). */
type Location = Slot | { path?: string; at?: Position };

export class Findings {
  readonly list: Diagnostic[] = [];
  readonly #skill: string;
  readonly #file: string;

  /** `skill`: folder name; `file`: path relative to the root. */
  constructor(skill: string, file: string) {
    this.#skill = skill;
    this.#file = file;
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
    this.list.push({
      level,
      code,
      skill: this.#skill,
      file: this.#file,
      ...location.at,
      ...(location.path === undefined ? {} : { field: location.path }),
      ...("node" in location ? { value: shown(location) } : {}),
      message,
      ...(hint === undefined ? {} : { hint }),
    });
  }
}

function shown(slot: Slot): string {
  const text = JSON.stringify(toJson(slot.node));
  return text.length <= MAX_VALUE ? text : `${firstOf(text, MAX_VALUE - 1)}…`;
}
