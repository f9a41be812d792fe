/** The request to correct an answer that does not match its schema. Pure. */
import { isObject, objectOf, textsIn } from "../skill/json.ts";
import type { JsonObject } from "../skill/manifest.ts";

const MAX_LINES = 8;
const MAX_DEPTH = 3;
const MAX_KEYS = 16;

/**
 * The user message of a further attempt; `null`: only repeat the request.
 * @param nudge `true`: Hull's own words; a string is used unchanged, followed by the errors
 */
export function correction(
  nudge: boolean | string,
  errors: readonly string[],
  schema: JsonObject | null,
): string | null {
  if (nudge === false) return null;
  const found = errors.join("; ");
  if (typeof nudge === "string") return `${nudge}\n\n${found}`;
  const lines = [
    "Your last answer did not match the JSON schema that this conversation asks for.",
    `What was wrong: ${found}.`,
  ];
  const required = textsIn(schema?.required) ?? [];
  const allowed = isObject(schema?.properties) ? Object.keys(schema.properties) : [];
  if (required.length > 0) lines.push(`Required keys: ${listed(required)}.`);
  if (allowed.length > 0) lines.push(`Allowed top-level keys: ${listed(allowed)}.`);
  if (schema !== null) lines.push("Outline of the schema:", ...outline(schema));
  lines.push("Answer again with valid JSON only: no prose before or after it, no code fences.");
  return lines.join("\n");
}

function listed(names: readonly string[]): string {
  const more = names.length - MAX_KEYS;
  return [...names.slice(0, MAX_KEYS), ...(more > 0 ? [`+${more} more`] : [])].join(", ");
}

/** At most 8 lines, one per key, indented by depth. */
function outline(schema: JsonObject): string[] {
  const lines: string[] = [];
  describe(schema, 0, lines);
  return lines.length <= MAX_LINES ? lines : [...lines.slice(0, MAX_LINES - 1), "  …"];
}

function describe(schema: JsonObject, depth: number, lines: string[]): void {
  const properties = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  if (depth === 0 && properties.length === 0) lines.push(typeText(schema));
  if (depth >= MAX_DEPTH) return;
  const required = textsIn(schema.required) ?? [];
  for (const [name, part] of properties.slice(0, MAX_KEYS)) {
    const inner = objectOf(part);
    lines.push(`${"  ".repeat(depth)}- ${name}${required.includes(name) ? "" : "?"}: ${typeText(inner)}`);
    const below = isObject(inner.items) ? inner.items : inner;
    describe(below, depth + 1, lines);
  }
  if (properties.length > MAX_KEYS) {
    lines.push(`${"  ".repeat(depth)}- +${properties.length - MAX_KEYS} more`);
  }
}

function typeText(schema: JsonObject): string {
  if (Array.isArray(schema.enum))
    return `one of ${schema.enum.map((item) => JSON.stringify(item)).join(", ")}`;
  const type = Array.isArray(schema.type) ? schema.type.join(" or ") : String(schema.type ?? "any");
  return type === "array" && isObject(schema.items) ? `array of ${typeText(schema.items)}` : type;
}
