/**
 * Anthropic's models give a JSON answer as the arguments of a tool that Hull adds. Callers did not declare this tool, so
 * they get the arguments as the text of the answer.
 */
import type { ModelRequest, ModelTurn } from "../engine/messages.ts";
import { answersByTool, JSON_TOOL } from "./anthropic.ts";
import type { ResolvedTarget } from "./providers.ts";

export class JsonToolAnswer {
  readonly #suffix: string;
  #usesTool = false;

  /** @param suffix follows the JSON in the text */
  constructor(suffix: string) {
    this.#suffix = suffix;
  }

  /** Whether text is held back until the turn is complete: text before the tool call is not part of the answer. */
  get buffersText(): boolean {
    return this.#usesTool;
  }

  /** Called with the request for a target, before each call: a fallback may have another protocol. */
  noteTarget(request: ModelRequest, protocol: () => ResolvedTarget["protocol"]): void {
    const may = request.verbatim === undefined && answersByTool(request);
    this.#usesTool = may && protocol() === "anthropic";
  }

  /** The turn that answered, with the JSON as its text if it came as a call. */
  withJsonText(turn: ModelTurn): ModelTurn {
    const calls = turn.blocks.filter((block) => block.type === "tool_call");
    const answer = calls.find(({ name }) => name === JSON_TOOL);
    if (!this.#usesTool || answer === undefined) return turn;
    const others = calls.filter(({ name }) => name !== JSON_TOOL);
    const before = turn.blocks.filter(({ type }) => type !== "tool_call" && type !== "output_text");
    const last = others.length === 0;
    const text = last ? answer.raw + this.#suffix : answer.raw;
    return {
      ...turn,
      blocks: [...before, { type: "output_text", text }, ...others],
      stop_reason: last && turn.stop_reason === "tool_use" ? "end_turn" : turn.stop_reason,
    };
  }
}
