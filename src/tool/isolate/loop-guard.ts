/**
 * Makes loops end. Local workerd runs all isolates on one thread and enforces no CPU limit: an endless loop would stop
 * the whole Worker, including timers. So in local dev each iteration of a loop asks the harness whether the time is up.
 */
import { isMemberDot, type Token, tokens } from "../../skill/javascript.ts";

/** The global function that guarded loops call, of harness.mjs: returns `true`, throws once the time is up. */
const TICK = "__hull_tick";

/** An open bracket in the source: the head of a `for`, with the semicolons read so far, or anything else. */
interface Opening {
  head: boolean;
  semicolons: number;
}

/**
 * The same module, with a check in the head of each `while` and `for`, and at the start of each block of a `for … of`.
 */
export function guardLoops(source: string): string {
  const list = [...tokens(source)];
  const inserted: { at: number; text: string }[] = [];
  const open: Opening[] = [];
  for (const [i, token] of list.entries()) {
    const next = list[i + 1];
    if (opens(token)) {
      const keyword = headOf(list, i);
      open.push({ head: keyword === "for", semicolons: 0 });
      if (keyword === "while") inserted.push({ at: token.end, text: `${TICK}(),` });
    } else if (closes(token)) {
      const closed = open.pop();
      const block = closed?.head === true && closed.semicolons === 0 && next?.text === "{";
      if (block) inserted.push({ at: next.end, text: `${TICK}();` });
    } else if (token.text === ";") {
      const top = open.at(-1);
      if (top?.head !== true) continue;
      top.semicolons += 1;
      if (top.semicolons === 1)
        inserted.push({ at: token.end, text: next?.text === ";" ? `${TICK}()` : `${TICK}(),` });
    }
    // A template contains code: its parts open and close like brackets.
    if (token.type === "TemplateHead" || token.type === "TemplateMiddle")
      open.push({ head: false, semicolons: 0 });
  }
  let guarded = "";
  let from = 0;
  for (const { at, text } of inserted) {
    guarded += source.slice(from, at) + text;
    from = at;
  }
  return guarded + source.slice(from);
}

const opens = ({ text }: Token): boolean => text === "(" || text === "[" || text === "{";
const closes = ({ type, text }: Token): boolean =>
  text === ")" || text === "]" || text === "}" || type === "TemplateMiddle" || type === "TemplateTail";

/** The keyword whose head this parenthesis opens, if any. */
function headOf(list: readonly Token[], i: number): "for" | "while" | null {
  if (list[i]?.text !== "(") return null;
  const awaits = list[i - 1]?.text === "await" && list[i - 2]?.text === "for";
  const at = awaits ? i - 2 : i - 1;
  const word = list[at]?.text;
  return (word === "for" || word === "while") && !isMemberDot(list[at - 1]) ? word : null;
}
