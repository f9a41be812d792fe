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

interface CallFold {
  /** The `tool_calls` of a delta. */
  take(fragments: Json | undefined): void;
  /** The calls so far, as an unstreamed message has them, in the order in which they began. */
  list(): object[];
}

/**
 * @param keep limits the kept text
 * @param odd makes the error for a fragment of another shape
 */
export function createCallFold(keep: (piece: string) => string, odd: (what: string) => Error): CallFold {
  /** Calls, and the provider's own entries (tool search), which arrive whole. */
  const entries: (OpenCall | { own: JsonObject })[] = [];
  const byIndex = new Map<number, OpenCall>();
  let last: OpenCall | null = null;

  /**
   * By index if the provider sends one; else (Google) a fragment continues the last call. But a name begins a new call,
   * even under a known index (some providers send 0 for all), if it is another name, if its id is another one, or if the
   * known call is complete and the fragment brings arguments of its own without an id.
   */
  const callOf = (fragment: JsonObject, called: JsonObject): OpenCall => {
    const index = typeof fragment.index === "number" ? fragment.index : null;
    const known = index === null ? last : (byIndex.get(index) ?? null);
    const id = textIn(fragment, "id");
    const otherId = id !== "" && id !== known?.id;
    const name = textIn(called, "name");
    const otherName = known !== null && known.name !== "" && name !== known.name;
    const full = known?.braces.closed === true && (index === null || (id === "" && brings(called.arguments)));
    const isNew = name !== "" && (otherId || otherName || full);
    if (known !== null && !isNew) return known;
    const begun: OpenCall = {
      id: null,
      name: "",
      arguments: undefined,
      extra_content: undefined,
      braces: new Braces(),
    };
    entries.push(begun);
    last = begun;
    if (index !== null) byIndex.set(index, begun);
    return begun;
  };

  const add = (fragment: JsonObject): void => {
    if (textIn(fragment, "type").startsWith("tool_search_")) {
      keep(JSON.stringify(fragment));
      entries.push({ own: fragment });
      return;
    }
    const called = objectOf(fragment.function);
    const call = callOf(fragment, called);
    call.id ??= textIn(fragment, "id") || null;
    if (call.name === "") call.name = keep(textIn(called, "name"));
    if (fragment.extra_content !== undefined) call.extra_content = fragment.extra_content;
    const piece = called.arguments;
    if (typeof piece === "string") {
      call.arguments = textOf(call.arguments) + keep(piece);
      call.braces.feed(piece);
    } else if (piece !== undefined && (piece !== null || call.arguments === undefined)) {
      call.arguments = piece;
      call.braces.closed = true;
    }
  };

  return {
    take(fragments) {
      if (fragments === undefined || fragments === null) return;
      // Portkey, in front of Cohere, sends one fragment without a list.
      for (const fragment of Array.isArray(fragments) ? fragments : [fragments]) {
        if (!isObject(fragment)) throw odd("a tool call");
        add(fragment);
      }
    },
    list: () =>
      entries.map((entry) => {
        if ("own" in entry) return entry.own;
        const { id, name, arguments: args, extra_content } = entry;
        return { id, function: { name, arguments: args }, extra_content };
      }),
  };
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
