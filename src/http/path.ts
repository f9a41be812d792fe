/**
 * Path matching: unreserved percent-encoding is decoded first, one trailing `/` is ignored, letter case counts, `//`
 * matches nothing.
 */

/** A path that no route has, so it ends in 404. */
export const NO_PATH = "//";

/** The path for matching routes; `NO_PATH` if the URL's path can match nothing. */
export function routePath(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  if (start === -1) return "/";
  const end = url.slice(start).search(/[?#]/);
  const raw = end === -1 ? url.slice(start) : url.slice(start, start + end);
  const path = raw.includes("%") ? raw.replace(/%(?:[0-9A-Fa-f]{2})?/g, decodeUnreserved) : raw;
  if (path.includes("//")) return NO_PATH;
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

/**
 * Decodes what RFC 3986 §2.3 permits: only unreserved characters mean the same encoded and plain. A percent sign that
 * encodes nothing stays, but must not form an encoding with the characters after it.
 */
function decodeUnreserved(encoded: string): string {
  if (encoded === "%") return "%25";
  const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
  return /[A-Za-z0-9._~-]/.test(character) ? character : encoded;
}
