/** Brackets in text that may be JSON. Pure. */

const CLOSING: Record<string, string> = { "{": "}", "[": "]" };

/**
 * The position after the bracket that closes the one at `from`; `null`: none does. Respects strings and escapes; one
 * pass.
 */
export function closingOf(text: string, from: number): number | null {
  const open = text[from] ?? "";
  const close = CLOSING[open];
  if (close === undefined) return null;
  let depth = 0;
  let quoted = false;
  for (let at = from; at < text.length; at++) {
    const character = text[at];
    if (quoted) {
      if (character === "\\") at++;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === open) depth++;
    else if (character === close && --depth === 0) return at + 1;
  }
  return null;
}
