/** Which calls the results of a vendor's conversation belong to, and which tool a name of its tools means. */
import { wrong } from "./wrong.ts";

/** The calls of a conversation up to the place where it is read. */
export class CalledTools {
  readonly #names = new Map<string, string>();

  add(id: string, name: string): void {
    this.#names.set(id, name);
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
    return name;
  }
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
