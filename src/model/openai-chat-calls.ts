/** Assembles the tool calls of a streamed chat completion from their fragments. */
import { isObject, objectOf, textOf } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { textIn } from "./provider-document.ts";

interface OpenCall {
  id: string | null;
  name: string;
  /** Text so far; another type is what the provider sent instead of text. */
  arguments: Json | undefined;
  extra_content: Json | undefined;
  braces: Braces;
}

/** The tool calls of a stream so far. */
export class CallFold {
  readonly #keep: (piece: string) => string;
  readonly #odd: (what: string) => Error;
  /** Calls, and the provider's own entries (tool search), which arrive whole. */
  readonly #entries: (OpenCall | { own: JsonObject })[] = [];
  readonly #byIndex = new Map<number, OpenCall>();
  #last: OpenCall | null = null;

  /**
   * @param keep limits the kept text
   * @param odd makes the error for a fragment of another shape
   */
  constructor(keep: (piece: string) => string, odd: (what: string) => Error) {
    this.#keep = keep;
    this.#odd = odd;
  }

  /** Takes the `tool_calls` of a delta. */
  take(fragments: Json | undefined): void {
    if (fragments === undefined || fragments === null) return;
    // Portkey, in front of Cohere, sends one fragment without a list.
    for (const fragment of Array.isArray(fragments) ? fragments : [fragments]) {
      if (!isObject(fragment)) throw this.#odd("a tool call");
      this.#add(fragment);
    }
  }

  /** The calls, as an unstreamed message has them, in the order in which they began. */
  list(): object[] {
    return this.#entries.map((entry) => {
      if ("own" in entry) return entry.own;
      const { id, name, arguments: args, extra_content } = entry;
      return { id, function: { name, arguments: args }, extra_content };
    });
  }

  #add(fragment: JsonObject): void {
    if (textIn(fragment, "type").startsWith("tool_search_")) {
      this.#keep(JSON.stringify(fragment));
      this.#entries.push({ own: fragment });
      return;
    }
    const called = objectOf(fragment.function);
    const call = this.#callOf(fragment, called);
    call.id ??= textIn(fragment, "id") || null;
    if (call.name === "") call.name = this.#keep(textIn(called, "name"));
    if (fragment.extra_content !== undefined) call.extra_content = fragment.extra_content;
    const piece = called.arguments;
    if (typeof piece === "string") {
      call.arguments = textOf(call.arguments) + this.#keep(piece);
      call.braces.feed(piece);
    } else if (piece !== undefined && (piece !== null || call.arguments === undefined)) {
      call.arguments = piece;
      call.braces.closed = true;
    }
  }

  /** By index if the provider sends one; else (Google) a fragment continues the last call. */
  #callOf(fragment: JsonObject, called: JsonObject): OpenCall {
    const index = typeof fragment.index === "number" ? fragment.index : null;
    const known = index === null ? this.#last : this.#byIndex.get(index);
    if (known && !beginsAnother(known, index, fragment, called)) return known;
    const begun: OpenCall = {
      id: null,
      name: "",
      arguments: undefined,
      extra_content: undefined,
      braces: new Braces(),
    };
    this.#entries.push(begun);
    this.#last = begun;
    if (index !== null) this.#byIndex.set(index, begun);
    return begun;
  }
}

/**
 * Whether a fragment begins a new call, even under a known index (some providers send 0 for all): it has a name, and the
 * name or its id is another one, or the known call is complete and the fragment brings arguments of its own without an id.
 */
function beginsAnother(
  known: OpenCall,
  index: number | null,
  fragment: JsonObject,
  called: JsonObject,
): boolean {
  const name = textIn(called, "name");
  if (name === "") return false;
  if (known.name !== "" && name !== known.name) return true;
  const id = textIn(fragment, "id");
  if (id !== "" && id !== known.id) return true;
  return known.braces.closed && (index === null || (id === "" && brings(called.arguments)));
}

const brings = (piece: Json | undefined): boolean =>
  typeof piece === "string" ? piece.trim() !== "" : piece !== undefined && piece !== null;

/** Whether the braces of a growing JSON text are closed; reads each character once. */
class Braces {
  closed = false;
  #depth = 0;
  #inString = false;
  #escaped = false;

  feed(text: string): void {
    for (let at = 0; at < text.length; at++) {
      const character = text[at];
      if (this.#escaped) this.#escaped = false;
      else if (this.#inString) {
        if (character === "\\") this.#escaped = true;
        else if (character === '"') this.#inString = false;
      } else if (character === '"') this.#inString = true;
      else if (character === "{" || character === "[") this.#depth++;
      else if (character === "}" || character === "]") this.closed = --this.#depth === 0;
    }
  }
}
