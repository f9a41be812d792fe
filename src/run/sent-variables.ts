/** Variables that Hull itself puts into outgoing calls, for proxies and MCP servers. */
import { ProxyNotConfigured } from "../errors/run.ts";
import { isReserved, parseTemplate } from "../skill/placeholder.ts";

/** Reads variables of the Worker, and records the secrets that it read for redaction. */
export class SentVariables {
  readonly #read: (name: string) => string | undefined;
  readonly #granted: ReadonlySet<string> | null;
  /** The values put into the request. */
  readonly used: string[] = [];

  /** @param granted the variables that the skill may have; `null` means any */
  constructor(read: (name: string) => string | undefined, granted: ReadonlySet<string> | null) {
    this.#read = read;
    this.#granted = granted;
  }

  /** Fills a template; applies `encode` to substituted values only. @throws ProxyNotConfigured */
  fill(template: string, encode = (value: string): string => value): string {
    return parseTemplate(template)
      .pieces.map((piece) => ("text" in piece ? piece.text : encode(this.#value(piece.variable))))
      .join("");
  }

  #value(name: string): string {
    if (isReserved(name)) throw new ProxyNotConfigured({ variable: name, why: "reserved" });
    if (this.#granted?.has(name) === false)
      throw new ProxyNotConfigured({ variable: name, why: "not_granted" });
    const value = this.#read(name);
    if (value === undefined) throw new ProxyNotConfigured({ variable: name, why: "unset" });
    this.used.push(value);
    return value;
  }
}
