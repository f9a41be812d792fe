/** Finds the JSON in an answer. Pure. */

import { closingOf } from "../engine/brackets.ts";
import { type Block, textOfBlocks } from "../engine/messages.ts";
import { parsedJson } from "../skill/json-depth.ts";
import type { Json } from "../skill/manifest.ts";

interface Extracted {
  value: Json;
  /** Whether it was cut out of prose or a fence. */
  cut: boolean;
}

/** Longer candidates are not searched for brackets: no useful answer is longer. */
const MAX_SEARCHED = 4 * 1024 * 1024;

/**
 * The first JSON value of the candidates, in order: the whole text, all public blocks joined, each tool call's
 * arguments, `prose` of a text-format turn. `null`: none parses.
 */
export function extractJson(text: string, blocks: readonly Block[], prose: string | null): Extracted | null {
  const shown = textOfBlocks(blocks);
  const texts = [text.trim(), shown.trim()].filter((candidate, n, all) => all.indexOf(candidate) === n);
  for (const candidate of texts) {
    const found = fromText(candidate);
    if (found !== null) return found;
  }
  for (const block of blocks) {
    if (block.type === "tool_call" && block.arguments !== null) return { value: block.arguments, cut: false };
  }
  return prose === null ? null : fromText(prose.trim());
}

/**
 * The whole if it is JSON; else the body of the first fence; else the bracketed piece that begins first, so that a list
 * of objects does not become its first object.
 */
function fromText(text: string): Extracted | null {
  if (text === "") return null;
  const whole = parsedJson(text);
  if (whole !== undefined) return { value: whole, cut: false };
  const fence = /```[^\n`]*\n([\s\S]*?)```/.exec(text);
  const long = text.length > MAX_SEARCHED;
  const brackets = long ? [] : [balanced(text, "{"), balanced(text, "[")];
  const pieces = brackets.filter((piece) => piece !== null).sort((a, b) => a.start - b.start);
  for (const piece of [fence?.[1]?.trim() ?? "", ...pieces.map(({ value }) => value)]) {
    const value = piece === "" ? undefined : parsedJson(piece);
    if (value !== undefined) return { value, cut: true };
  }
  return null;
}

/** From the first such bracket to its closing one. */
function balanced(text: string, open: "{" | "["): { start: number; value: string } | null {
  const start = text.indexOf(open);
  const end = start === -1 ? null : closingOf(text, start);
  return end === null ? null : { start, value: text.slice(start, end) };
}
