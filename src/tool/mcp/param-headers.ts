/** Arguments that a tool's schema also requires in headers: `x-mcp-header` (MCP 2026-07-28, "Custom Headers"). Pure. */
import { toBase64 } from "../../bytes.ts";
import { isObject } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";

const KEYWORD = "x-mcp-header";
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const PRIMITIVES = new Set(["string", "integer", "boolean"]);

interface Wanted {
  header: string;
  path: string[];
}

/** Whether a tool may be used: each annotation is where its argument can be found, and no two name one header. */
export function annotationsHold(schema: JsonObject): boolean {
  const wanted = wantedBy(schema);
  if (wanted === null) return false;
  const names = new Set(wanted.map(({ header }) => header.toLowerCase()));
  return names.size === wanted.length && wanted.length === mentions(schema);
}

/** Headers for these arguments. */
export function headersOf(schema: JsonObject, args: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { header, path } of wantedBy(schema) ?? []) {
    const value = path.reduce<Json | undefined>((at, key) => (isObject(at) ? at[key] : undefined), args);
    if (value === undefined || value === null || typeof value === "object") continue;
    headers[`mcp-param-${header.toLowerCase()}`] = headerValue(String(value));
  }
  return headers;
}

/** Leaves plain ASCII as it is, and encodes anything else as the protocol says. */
export function headerValue(text: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
  if (plain) return text;
  return `=?base64?${toBase64(new TextEncoder().encode(text))}?=`;
}

/** Those reachable through a chain of `properties`; `null`: one of them is invalid. */
function wantedBy({ properties }: JsonObject, path: string[] = []): Wanted[] | null {
  const found: Wanted[] = [];
  for (const [name, schema] of isObject(properties) ? Object.entries(properties) : []) {
    if (!isObject(schema)) continue;
    const here = [...path, name];
    const header = schema[KEYWORD];
    if (header !== undefined) {
      const fits = typeof header === "string" && TOKEN.test(header);
      if (!fits || typeof schema.type !== "string" || !PRIMITIVES.has(schema.type)) return null;
      found.push({ header, path: here });
    }
    const below = wantedBy(schema, here);
    if (below === null) return null;
    found.push(...below);
  }
  return found;
}

/** How often the keyword occurs anywhere in a schema, except as the name of a property. */
function mentions(value: Json, names = false): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + mentions(item), 0);
  if (!isObject(value)) return 0;
  return Object.entries(value).reduce(
    (sum, [key, item]) =>
      sum + (key === KEYWORD && !names ? 1 : mentions(item, key === "properties" && !names)),
    0,
  );
}
