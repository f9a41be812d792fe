/** Header values of the form `value; name=token; other="quoted"` (RFC 9110 §5.6.6). Pure. */

interface ParameterisedValue {
  /** The text before the first `;`, in lower case. */
  value: string;
  /** By name in lower case. */
  parameters: ReadonlyMap<string, string>;
}

const PARAMETER = /;[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*)))?[ \t]*/y;

/**
 * Reads a value with its parameters; `null` if it is malformed, or names a parameter twice. In quotes `\"` and `\\`
 * mean a quote and a backslash. Any other backslash means itself, since clients send Windows paths unescaped.
 */
export function parseParameters(text: string): ParameterisedValue | null {
  const end = text.includes(";") ? text.indexOf(";") : text.length;
  const parameters = new Map<string, string>();
  for (let at = end; at < text.length; ) {
    PARAMETER.lastIndex = at;
    const match = PARAMETER.exec(text);
    if (match === null) return null;
    at += match[0].length;
    const [, name, quoted, token] = match;
    if (name === undefined) continue;
    if (parameters.has(name.toLowerCase())) return null;
    parameters.set(name.toLowerCase(), quoted?.replace(/\\(["\\])/g, "$1") ?? token ?? "");
  }
  return { value: text.slice(0, end).trim().toLowerCase(), parameters };
}

/**
 * The file name of a Content-Disposition (RFC 6266 §4.3): `filename*` before `filename`; `null` if there is none.
 * @param plain reads the value of `filename`
 */
export function dispositionFilename(
  { parameters }: ParameterisedValue,
  plain: (text: string) => string = (text) => text,
): string | null {
  const [, encoded] = /^utf-8'[^']*'(.*)$/i.exec(parameters.get("filename*") ?? "") ?? [];
  try {
    if (encoded !== undefined) return decodeURIComponent(encoded);
  } catch {
    // The encoded name is malformed, so the plain name is used.
  }
  const name = parameters.get("filename");
  return name === undefined ? null : plain(name);
}
