/**
 * JavaScript as tokens with their places: those of js-tokens, which takes any text, in time proportional to its length.
 * Pure.
 */
import jsTokens, { type Token as JsToken } from "js-tokens";

export interface Token {
  type: JsToken["type"];
  text: string;
  /** Offsets into the source, in UTF-16 units. */
  start: number;
  end: number;
}

const LEFT_OUT: ReadonlySet<string> = new Set(
  "WhiteSpace LineTerminatorSequence SingleLineComment MultiLineComment HashbangComment".split(" "),
);

/** The tokens without blanks and comments. */
export function* tokens(source: string): Generator<Token> {
  let end = 0;
  try {
    for (const { type, value: text } of jsTokens(source)) {
      const start = end;
      end += text.length;
      if (!LEFT_OUT.has(type)) yield { type, text, start, end };
    }
  } catch (error) {
    // A string or comment with millions of escapes or stars: the platform's expressions have not enough stack for it.
    if (!(error instanceof RangeError)) throw error;
    yield { type: "Invalid", text: source.slice(end), start: end, end: source.length };
  }
}

/** Whether the next word is a member's name. */
export const isMemberDot = (token: Token | undefined): boolean => token?.text === "." || token?.text === "?.";

/** A word with its neighbours: the token before it, the word, the four tokens after it. */
export type Near = readonly (Token | undefined)[];

/** The words. There is no list of all tokens, since it would take a hundred times the memory of the source. */
export function* words(source: string): Generator<Near> {
  let near: Near = [undefined];
  for (const token of withEnd(source)) {
    near = [...near, token];
    if (near.length < 6) continue;
    if (near[1]?.type === "IdentifierName") yield near;
    near = near.slice(1);
  }
}

function* withEnd(source: string): Generator<Token | undefined> {
  yield* tokens(source);
  for (let behind = 0; behind < 4; behind++) yield undefined;
}
