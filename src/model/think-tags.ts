/**
 * Separates reasoning that a model writes into its text between `<think>` and `</think>`, while it arrives in pieces of
 * any size.
 */
import type { Sink } from "./wire.ts";

const TAGS = { text: "<think>", reasoning: "</think>" } as const;

export interface ThinkSplitter {
  push(piece: string): void;
  /** Ends the text. What seemed to begin a tag was plain text. */
  end(): void;
}

/**
 * Splits text from reasoning. It removes the tags, white space around the reasoning and white space before the text
 * that follows it. An unclosed tag extends to the end. It holds back at most a part of a tag and white space.
 */
export function thinkSplitter(sink: Pick<Sink, "onText" | "onReasoning">): ThinkSplitter {
  let inside: "text" | "reasoning" = "text";
  /** Text that may begin a tag. */
  let partial = "";
  /** White space that belongs to the text unless reasoning follows. */
  let blanks = "";
  /** Drops white space at the beginning of reasoning and of the text after it. */
  let skipping = false;

  const say = (said: string): void => {
    const text = skipping ? said.trimStart() : said;
    if (text === "") return;
    skipping = false;
    if (inside === "text") {
      sink.onText?.(text);
      return;
    }
    const kept = text.trimEnd();
    if (kept !== "") sink.onReasoning?.(blanks + kept);
    blanks = (kept === "" ? blanks : "") + text.slice(kept.length);
  };

  return {
    push(piece) {
      if (partial === "" && inside === "text" && !piece.includes("<")) {
        say(piece);
        return;
      }
      const data = partial + piece;
      let from = 0;
      for (;;) {
        const tag = TAGS[inside];
        const at = data.indexOf(tag, from);
        if (at === -1) {
          const end = data.length - partialTag(data, tag, from);
          say(data.slice(from, end));
          partial = data.slice(end);
          return;
        }
        say(data.slice(from, at));
        from = at + tag.length;
        inside = inside === "text" ? "reasoning" : "text";
        blanks = "";
        skipping = true;
      }
    },
    end() {
      const rest = partial;
      partial = "";
      say(rest);
    },
  };
}

/** A piece of the split text. */
export type Segment = { type: "text" | "reasoning"; text: string };

/** The whole text in one call; neighbours of one kind are joined, empty pieces left out. */
export function splitThinking(text: string): Segment[] {
  const segments: Segment[] = [];
  const add = (type: Segment["type"]) => (piece: string) => {
    const last = segments.at(-1);
    if (last?.type === type) last.text += piece;
    else segments.push({ type, text: piece });
  };
  const splitter = thinkSplitter({ onText: add("text"), onReasoning: add("reasoning") });
  splitter.push(text);
  splitter.end();
  return segments;
}

/** How many characters at the end, not before `from`, begin a tag. */
function partialTag(data: string, tag: string, from: number): number {
  for (let length = Math.min(tag.length - 1, data.length - from); length > 0; length--) {
    if (data.endsWith(tag.slice(0, length))) return length;
  }
  return 0;
}
