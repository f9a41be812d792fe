/** Media types in the form that this surface needs: only the essence, in lower case (RFC 9110 §8.3). Pure. */

/** `Text/HTML; charset=x` → `text/html`; `""` if there is none. */
export function mediaType(header: string | null): string {
  return (header ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}

/** The type of a body. */
export const typeOf = ({ headers }: Request | Response): string => mediaType(headers.get("content-type"));

export const isForm = (request: Request): boolean => typeOf(request) === "multipart/form-data";

/** The types that an `Accept` lists, without those of the weight 0, which the client does not accept. */
export const listedTypes = (accept: string | null): string[] =>
  (accept ?? "")
    .split(",")
    .filter((part) => !/;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(part))
    .map(mediaType);

export function isJson(type: string): boolean {
  return type === "application/json" || type.endsWith("+json");
}

/** Types whose body is plain text; the type of `curl --data` is among them. */
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
