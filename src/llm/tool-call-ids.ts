/** Finds the call and the tool of each result in a vendor's conversation, and checks that tool names are unique. */
import { wrong } from "./members.ts";

/** A call of one of the client's own tools. */
export interface OwnCall {
  id: string;
  /** Path of the member with the id. */
  path: string;
}

/** The calls of a conversation up to the place where it is read. */
export class ToolCallIds {
  readonly #names = new Map<string, string>();
  /** Paths of the client's own calls without a result, by id. */
  readonly #open = new Map<string, string>();

  /** @param path of the id of a call that the client answers; absent: the server carried the call out */
  add(id: string, name: string, path?: string): void {
    this.#names.set(id, name);
    if (path !== undefined) this.#open.set(id, path);
  }

  /** The first call that the client must answer and that has no result; `null`: there is none. */
  get unanswered(): OwnCall | null {
    const [first] = this.#open;
    return first === undefined ? null : { id: first[0], path: first[1] };
  }

  /**
   * The tool whose result this is.
   * @param path of the member that names the call
   * @throws InvalidRequest if no call before it has this id, which every provider refuses
   */
  nameOf(id: string, path: string): string {
    const name = this.#names.get(id);
    if (name === undefined)
      throw wrong(path, `nothing before this result calls a tool under the id ${JSON.stringify(id)}`);
    this.#open.delete(id);
    return name;
  }
}

/**
 * @throws InvalidRequest for a call without a result: the vendors' APIs accept no conversation that continues without it
 */
export function checkAnswered(unanswered: OwnCall | null): void {
  if (unanswered === null) return;
  const { id, path } = unanswered;
  throw wrong(
    path,
    `nothing after this call is the result of ${JSON.stringify(id)}; send it, or leave the call out`,
  );
}

/** @param tools the named ones, in order. @throws InvalidRequest for the second tool of a name: a call could mean either */
export function checkToolNames(tools: Iterable<{ name: string; path: string }>): void {
  const places = new Map<string, string>();
  for (const { name, path } of tools) {
    const first = places.get(name);
    if (first !== undefined)
      throw wrong(`${path}.name`, `${first} has the name ${JSON.stringify(name)} already; names are unique`);
    places.set(name, path);
  }
}
