/** Assembles OpenRouter's `reasoning_details` (https://openrouter.ai/docs/use-cases/reasoning-tokens) from pieces. */
import { isObject } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { textIn } from "./provider-document.ts";

/** Members that grow from piece to piece; of any other the last value counts. */
const GROWING = ["text", "summary", "data"];

/** The text of the details. */
export const detailsText = (details: readonly Json[]): string =>
  details.map((entry) => (isObject(entry) ? textIn(entry, "text") || textIn(entry, "summary") : "")).join("");

/** Adds the entries of one delta. An entry with the kind and index of the last one continues it. */
export function mergeDetails(
  details: JsonObject[],
  pieces: readonly Json[],
  keep: (piece: string) => string,
): void {
  for (const piece of pieces) {
    if (!isObject(piece)) continue;
    keep(GROWING.map((key) => (typeof piece[key] === "string" ? piece[key] : "")).join(""));
    const last = details.at(-1);
    if (last === undefined || last.type !== piece.type || last.index !== piece.index) {
      details.push({ ...piece });
      continue;
    }
    for (const [key, value] of Object.entries(piece)) {
      const before = last[key];
      const grows = GROWING.includes(key) && typeof before === "string" && typeof value === "string";
      if (grows) last[key] = before + value;
      else if (value !== null) last[key] = value;
    }
  }
}
