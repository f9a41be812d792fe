/** JSON text with the position of its first fault, which the platform's parser does not always report. Pure. */

import { OutputInvalidJson } from "../errors/run.ts";
import { MAX_JSON_DEPTH, nestsTooDeep } from "../skill/json-depth.ts";
import { scanJson } from "../skill/json-scan.ts";
import type { Json } from "../skill/manifest.ts";

type ParsedJson = { ok: true; value: Json } | { ok: false; offset: number; reason: string };

const faultIn = (text: string): number => scanJson(text, { depth: MAX_JSON_DEPTH })?.offset ?? text.length;

/**
 * Parses; `offset` counts UTF-16 units to the first invalid character. Nesting beyond `MAX_JSON_DEPTH` is a fault of
 * the bracket that exceeds it.
 */
export function parseWithOffset(text: string): ParsedJson {
  try {
    const value: Json = JSON.parse(text);
    // A shorter text cannot contain so many pairs of brackets.
    if (text.length <= 2 * MAX_JSON_DEPTH || !nestsTooDeep(value)) return { ok: true, value };
    const offset = faultIn(text);
    return {
      ok: false,
      offset,
      reason: `nested more than ${MAX_JSON_DEPTH} levels deep at offset ${offset}`,
    };
  } catch {
    const offset = faultIn(text);
    const found =
      offset >= text.length ? "the text ends too early" : `unexpected ${JSON.stringify(text[offset])}`;
    return { ok: false, offset, reason: `${found} at offset ${offset}` };
  }
}

/** The text itself if it is JSON; empty text counts as `{}`. @throws OutputInvalidJson */
export function checkedJson(text: string): string {
  if (text.trim() === "") return "{}";
  const parsed = parseWithOffset(text);
  if (parsed.ok) return text;
  throw new OutputInvalidJson({ position: parsed.offset, reason: parsed.reason });
}

/** A model's answer without a code fence around it. */
export function withoutFence(text: string): string {
  const fenced = /^```[A-Za-z0-9_-]*[ \t]*\n([\s\S]*?)\n?```$/.exec(text.trim());
  return fenced?.[1] ?? text.trim();
}
