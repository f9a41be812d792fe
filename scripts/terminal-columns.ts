/** How wide texts are in a terminal. */

import { once } from "../src/memo.ts";

/** Made for the first text that is not ASCII: it takes 17 ms. */
const graphemes = once(() => new Intl.Segmenter(undefined, { granularity: "grapheme" }));
const PLAIN = /^[\x20-\x7e]*$/;
/** Characters that take two columns: those of East Asia in full width (UAX #11), and emoji. */
const WIDE =
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Bopo}\p{Emoji_Presentation}\uff01-\uff60\uffe0-\uffe6]/u;
/** Makes the character before it an emoji. */
const AS_EMOJI = "\ufe0f";
const HALF = /^[\uff61-\uffdc]/u;
const NONE = /^[\p{M}\p{Cf}]+$/u;

/** The columns that a text takes. */
export function columnsOf(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of graphemes().segment(text)) columns += widthOf(segment);
  return columns;
}

/** The text, followed by blanks up to so many columns. */
export const padded = (text: string, columns: number): string =>
  text + " ".repeat(Math.max(0, columns - columnsOf(text)));

/** The text, or its beginning and `…`, within so many columns. */
export function fitting(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  let kept = "";
  let room = columns - 1;
  for (const { segment } of graphemes().segment(text)) {
    room -= widthOf(segment);
    if (room < 0) break;
    kept += segment;
  }
  return `${kept}…`;
}

function widthOf(grapheme: string): number {
  if (NONE.test(grapheme)) return 0;
  const wide = WIDE.test(grapheme) || grapheme.includes(AS_EMOJI);
  return wide && !HALF.test(grapheme) ? 2 : 1;
}
