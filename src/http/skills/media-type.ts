/** Media types as this surface needs them: essence only, lower case (RFC 9110 §8.3). Pure. */

/** `Text/HTML; charset=x` → `text/html`; `""` when there is none. */
export function mediaType(header: string | null): string {
  return (header ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}

export function isJson(type: string): boolean {
  return type === "application/json" || type.endsWith("+json");
}

/** Types whose body is text as it stands; what `curl --data` sends is among them. */
export function isText(type: string): boolean {
  return (
    type.startsWith("text/") ||
    /^application\/(xml|yaml|x-yaml|x-www-form-urlencoded)$/.test(type) ||
    type.endsWith("+xml") ||
    type.endsWith("+yaml")
  );
}

/** Whether `type` is one of `accepted` (`type/*` allowed); an empty list accepts everything. */
export function accepts(accepted: readonly string[], type: string): boolean {
  if (accepted.length === 0) return true;
  return accepted.some(
    (a) => a === type || a === "*/*" || (a.endsWith("/*") && type.startsWith(a.slice(0, -1))),
  );
}
