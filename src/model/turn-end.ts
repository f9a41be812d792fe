/** What a caller must know about an answer that is not whole. Pure. */
import { firstWords } from "../cut.ts";
import { type Block, isRefused, type ModelTurn, refusalOf, type Warning } from "../engine/messages.ts";

/** The most characters of a refusal in a warning. */
const MAX_REFUSAL = 2000;

/** The turn with a warning if the model, its provider or a limit ended it early. @param attempts made for it */
export function withEndWarning(turn: ModelTurn, attempts: number): ModelTurn {
  const warning = endWarning(turn, attempts);
  return warning === null ? turn : { ...turn, warnings: [...(turn.warnings ?? []), warning] };
}

const CODES: readonly string[] = ["model_refused", "answer_cut", "empty_completion"];

/** The code of the warning of `withEndWarning`; `ok`: there is none. */
export const outcomeOf = ({ warnings = [] }: ModelTurn): string =>
  warnings.find(({ code }) => CODES.includes(code))?.code ?? "ok";

function endWarning(turn: ModelTurn, attempts: number): Warning | null {
  const warning = (code: string, what: string): Warning => ({
    code,
    message: `${turn.provider}/${turn.model}: ${what}`,
  });
  const raw = turn.raw_stop_reason;
  const word = raw === null || raw === "" ? "" : ` (${raw})`;
  switch (turn.stop_reason) {
    case "refusal":
    case "content_filter": {
      const said = turn.refusal ?? refusalOf(turn.blocks);
      const why = said === null || said === "" ? "." : `: ${firstWords(said, MAX_REFUSAL)}`;
      return warning(
        "model_refused",
        `the model refused, or a filter of the provider ended the answer${word}${why}`,
      );
    }
    case "max_tokens":
      return warning("answer_cut", `max_tokens or the context window cut the answer${word}.`);
    case "other":
      if (word !== "")
        return warning("answer_cut", `the provider ended the answer for a reason of its own${word}.`);
  }
  if (!isEmpty(turn)) return null;
  return warning(
    "empty_completion",
    `the answer is empty${attempts > 1 ? ", also after further attempts" : ""}.`,
  );
}

/** Whether an answer ended by itself, as far as its reason says. */
export const endsByItself = ({
  stop_reason,
  raw_stop_reason,
}: Pick<ModelTurn, "stop_reason" | "raw_stop_reason">): boolean =>
  !isRefused({ stop_reason }) &&
  stop_reason !== "max_tokens" &&
  (stop_reason !== "other" || raw_stop_reason === null || raw_stop_reason === "");

/** Whether an answer that should be whole has no text, call or reasoning. */
export function isEmpty(turn: ModelTurn): boolean {
  return !isRefused(turn) && turn.stop_reason !== "pause" && !turn.blocks.some(saysSomething);
}

export const saysSomething = (block: Block): boolean =>
  !("text" in block) || block.text !== "" || "native" in block || "signature" in block;
