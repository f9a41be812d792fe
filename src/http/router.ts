/** Finds the route of a path. Pure. */
import { tryDecode } from "hono/utils/url";

interface Pattern<T> {
  /** The path's segments; `name` is a parameter's, `null` marks literal text. */
  segments: readonly { text: string; name: string | null }[];
  /** Whether the last parameter takes all that is left of a path. */
  takesRest: boolean;
  target: T;
}

/** What a path led to, and the values of its parameters, percent-decoded. */
interface Found<T> {
  target: T;
  params: Record<string, string>;
}

const NO_PARAMS = {};

/**
 * Routes by path: `/runs`, `/runs/:id`, and `/docs/:path{.+}`, whose last parameter contains slashes. The first segment
 * of each is literal.
 */
export class Router<T> {
  readonly #literal = new Map<string, T>();
  /** By first segment. */
  readonly #patterns = new Map<string, Pattern<T>[]>();

  /** Of the paths that match, one without parameters wins, else the one that was added first. */
  add(path: string, target: T): void {
    if (!path.includes("/:")) {
      this.#literal.set(path, target);
      return;
    }
    const segments = path.slice(1).split("/").map(readSegment);
    const [first = { text: "" }] = segments;
    const pattern = { segments, takesRest: path.endsWith("{.+}"), target };
    const others = this.#patterns.get(first.text);
    if (others === undefined) this.#patterns.set(first.text, [pattern]);
    else others.push(pattern);
  }

  /** @param path as `routePath` returns it */
  find(path: string): Found<T> | null {
    const target = this.#literal.get(path);
    if (target !== undefined) return { target, params: NO_PARAMS };
    const given = path.slice(1).split("/");
    for (const pattern of this.#patterns.get(given[0] ?? "") ?? []) {
      if (matches(pattern, given)) return { target: pattern.target, params: paramsOf(pattern, given) };
    }
    return null;
  }
}

function readSegment(text: string): Pattern<unknown>["segments"][number] {
  return { text, name: /^:(\w+)(?:\{\.\+\})?$/.exec(text)?.[1] ?? null };
}

function matches({ segments, takesRest }: Pattern<unknown>, given: string[]): boolean {
  if (takesRest ? given.length < segments.length : given.length !== segments.length) return false;
  return segments.every(({ text, name }, i) => name !== null || text === given[i]);
}

function paramsOf({ segments, takesRest }: Pattern<unknown>, given: string[]): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [i, { name }] of segments.entries()) {
    if (name === null) continue;
    const isRest = takesRest && i === segments.length - 1;
    const value = isRest ? given.slice(i).join("/") : (given[i] ?? "");
    params[name] = value.includes("%") ? tryDecode(value, decodeURIComponent) : value;
  }
  return params;
}
