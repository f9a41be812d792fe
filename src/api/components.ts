/** Components that several skills share: equal values are entered once. */
import { objectOf } from "../skill/json.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { ref } from "./openapi-parts.ts";

const KINDS = ["schemas", "responses", "requestBodies"] as const;
type Kind = (typeof KINDS)[number];

export class Components {
  readonly #made = new Map<string, JsonObject>();
  readonly #entries = new Map<Kind, Map<string, { text: string; value: JsonObject }>>();

  /** @param existing the `components` of a document to extend */
  constructor(existing: JsonObject = {}) {
    for (const kind of KINDS) {
      for (const [name, value] of Object.entries(objectOf(existing[kind]))) {
        this.#enter(kind, name, objectOf(value));
      }
    }
  }

  /** The result of `make`, computed once for all callers with the same `of`; it must depend on nothing else. */
  once(of: string, make: () => JsonObject): JsonObject {
    const known = this.#made.get(of);
    if (known !== undefined) return known;
    const made = make();
    this.#made.set(of, made);
    return made;
  }

  /** Enters a value, and returns the reference to it. */
  ref(kind: Kind, name: string, value: JsonObject): JsonObject {
    return ref(kind, this.#enter(kind, name, value));
  }

  /** All entered values of a kind by name, in the order of entry. */
  all(kind: Kind): JsonObject {
    return Object.fromEntries(
      Array.from(this.#entries.get(kind) ?? [], ([name, { value }]) => [name, value]),
    );
  }

  /** The name of the value: `name`, or with a number if `name` has another value. */
  #enter(kind: Kind, name: string, value: JsonObject): string {
    const entries = this.#entries.get(kind) ?? new Map<string, { text: string; value: JsonObject }>();
    this.#entries.set(kind, entries);
    const text = JSON.stringify(value);
    for (let n = 1; ; n++) {
      const candidate = n === 1 ? name : `${name}.${n}`;
      const known = entries.get(candidate);
      if (known === undefined) entries.set(candidate, { text, value });
      if (known === undefined || known.text === text) return candidate;
    }
  }
}
