/**
 * The JSON answer of Anthropic's models, which comes as the arguments of a tool that Hull offers them. No caller knows
 * that tool: callers get the arguments as the answer's text.
 */
import type { ModelRequest, ModelTurn } from "../engine/messages.ts";
import { answersByTool, JSON_TOOL } from "./anthropic.ts";
import type { ResolvedTarget } from "./providers.ts";

export class JsonAnswer {
  readonly #ending: string;
  #byTool = false;

  /** @param ending follows the JSON in the text */
  constructor(ending: string) {
    this.#ending = ending;
  }

  /** Whether text waits for the whole turn: text before the call is no part of the answer. */
  get waits(): boolean {
    return this.#byTool;
  }

  /** The request that a target gets next. */
  asked(request: ModelRequest, protocol: () => ResolvedTarget["protocol"]): ModelRequest {
    const may = request.verbatim === undefined && answersByTool(request);
    this.#byTool = may && protocol() === "anthropic";
    return request;
  }

  /** The turn that answered, with the JSON as its text if it came as a call. */
  turnOf(turn: ModelTurn): ModelTurn {
    const calls = turn.blocks.filter((block) => block.type === "tool_call");
    const answer = calls.find(({ name }) => name === JSON_TOOL);
    if (!this.#byTool || answer === undefined) return turn;
    const others = calls.filter(({ name }) => name !== JSON_TOOL);
    const before = turn.blocks.filter(({ type }) => type !== "tool_call" && type !== "output_text");
    const last = others.length === 0;
    const text = last ? answer.raw + this.#ending : answer.raw;
    return {
      ...turn,
      blocks: [...before, { type: "output_text", text }, ...others],
      stop_reason: last && turn.stop_reason === "tool_use" ? "end_turn" : turn.stop_reason,
    };
  }
}
