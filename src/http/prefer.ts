/** What a request prefers, by its header `Prefer` (RFC 7240). */

const QUOTED = /"(?:\\.|[^"\\])*"/g;

/** Whether the client does not want to wait: `respond-async` is one of its preferences. */
export function prefersAsync({ headers }: Request): boolean {
  // Quoted text is the value of some preference.
  const preferences = (headers.get("prefer") ?? "").replace(QUOTED, "").split(",");
  return preferences.some((one) => /^\s*respond-async\s*(?:[;=]|$)/i.test(one));
}
