/** Canonical JSON (RFC 8785): one byte sequence per value, so that digests do not depend on key order. */

/**
 * JSON text with sorted keys and no white space. Members that are `undefined` are left out, as in `JSON.stringify`.
 * @param ordered objects whose own order has a meaning and stays
 */
export function canonicalJson(value: unknown, ordered: ReadonlySet<unknown> = NONE): string {
  if (Array.isArray(value)) return `[${value.map((v) => canonicalJson(v ?? null, ordered)).join(",")}]`;
  if (typeof value !== "object" || value === null || ordered.has(value)) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, v]) => v !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([k, v]) => `${JSON.stringify(k)}:${canonicalJson(v, ordered)}`);
  return `{${members.join(",")}}`;
}

const NONE: ReadonlySet<unknown> = new Set();
