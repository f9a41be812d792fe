/** `${VAR}` in proxy URLs and headers: `VAR` from the Worker's environment; `$${` is a literal `${`. */
import { firstOf } from "../cut.ts";

type Piece = { text: string } | { variable: string };

/** Splits a template into texts and variables; `problem` names the first `${…}` that is not a variable. */
export function parseTemplate(template: string): { pieces: Piece[]; problem?: string } {
  const pieces: Piece[] = [];
  let text = "";
  let at = 0;
  while (at < template.length) {
    if (template.startsWith("$${", at)) {
      text += "${";
      at += 3;
      continue;
    }
    if (!template.startsWith("${", at)) {
      text += template.charAt(at);
      at++;
      continue;
    }
    const found = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}/.exec(template.slice(at));
    if (found?.[1] === undefined) return { pieces, problem: firstOf(template.slice(at), 20) };
    if (text !== "") pieces.push({ text });
    text = "";
    pieces.push({ variable: found[1] });
    at += found[0].length;
  }
  if (text !== "") pieces.push({ text });
  return { pieces };
}

/** Whether a variable is Hull's own, which no template and no process of a skill receives. */
export const isReserved = (variable: string): boolean => /^(?:HULL|HUSK)_/.test(variable);

/** Names of the variables in templates. */
export function templateVariables(templates: readonly string[]): string[] {
  const pieces = templates.flatMap((template) => parseTemplate(template).pieces);
  return pieces.flatMap((piece) => ("variable" in piece ? [piece.variable] : []));
}
