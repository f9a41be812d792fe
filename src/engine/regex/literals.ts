/** Texts of which every match contains at least one. With them, most documents can be skipped without matching. */
import { onlyUnit } from "./char-set.ts";
import type { Node } from "./parse.ts";

const MAX_ALTERNATIVES = 16;

/** Texts, at least one of which every match contains; `null`: unknown. */
export function requiredTexts(node: Node): string[] | null {
  const found = needles(node);
  return found?.every((text) => text.length > 1) === true ? found : null;
}

function needles(node: Node): string[] | null {
  switch (node.kind) {
    case "unit":
    case "assert": {
      const text = exactText(node);
      return text === null || text === "" ? null : [text];
    }
    case "sequence":
      return best(node.parts);
    case "choice": {
      const all = node.options.map(needles);
      const texts = all.flatMap((some) => some ?? []);
      return all.includes(null) || texts.length > MAX_ALTERNATIVES ? null : [...new Set(texts)];
    }
    case "repeat":
      return node.min === 0 ? null : needles(node.part);
  }
}

/** The most selective texts of a sequence. Adjacent plain text counts as one. */
function best(parts: readonly Node[]): string[] | null {
  const candidates: (string[] | null)[] = [];
  let run = "";
  for (const part of parts) {
    const text = exactText(part);
    if (text !== null) {
      run += text;
      continue;
    }
    candidates.push([run], needles(part));
    run = "";
  }
  candidates.push([run]);
  const shortest = (texts: readonly string[]): number => Math.min(...texts.map((text) => text.length));
  return candidates
    .filter((texts) => texts !== null)
    .filter((texts) => shortest(texts) > 0)
    .reduce<string[] | null>(
      (most, texts) => (most === null || shortest(texts) > shortest(most) ? texts : most),
      null,
    );
}

/** The only text that a node matches; `null`: there are several, or it depends on more than text. */
function exactText(node: Node): string | null {
  switch (node.kind) {
    case "unit": {
      const unit = onlyUnit(node.set);
      return unit === null ? null : String.fromCharCode(unit);
    }
    case "assert":
      return "";
    case "sequence": {
      const texts = node.parts.map(exactText);
      return texts.includes(null) ? null : texts.join("");
    }
    default:
      return null;
  }
}
