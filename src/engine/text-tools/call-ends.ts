/** Where `<tool_call>` elements end, whatever their JSON holds. Pure. */
import { closingOf } from "../brackets.ts";

export const OPEN = "<tool_call>";
export const CLOSE = "</tool_call>";

/**
 * The position after each element that holds a JSON object, by the position where it begins. Strings of the JSON may
 * hold tags, so the first closing tag need not be the element's. The search ends at the first element whose JSON has no
 * end or no closing tag behind it, so that its time grows with the text's length.
 */
export function callEnds(text: string): Map<number, number> {
  const ends = new Map<number, number>();
  for (let start = text.indexOf(OPEN); start !== -1; ) {
    const inner = start + OPEN.length;
    const from = inner + (/^\s*/.exec(text.slice(inner, inner + 200))?.[0].length ?? 0);
    let end = inner;
    if (text[from] === "{") {
      const json = closingOf(text, from);
      const close = json === null ? null : /^\s*<\/tool_call>/.exec(text.slice(json, json + 200));
      if (json === null || close === null) break;
      end = json + close[0].length;
      ends.set(start, end);
    }
    start = text.indexOf(OPEN, end);
  }
  return ends;
}
