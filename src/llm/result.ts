/** The result of a model call. */
import {
  type Block,
  type ModelTurn,
  type StopReason,
  textOfBlocks,
  totalUsage,
  type Usage,
  type Warning,
} from "../engine/messages.ts";
import { sumUsd } from "../engine/usd.ts";
import { visibleText } from "../engine/visible-text.ts";
import { cacheFigures } from "../model/registry/price.ts";
import { tokenCounts } from "../model/usage.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { resultBlock } from "./blocks.ts";
import type { MockCallMembers } from "./mock-calls.ts";
import { calledTools, type Transcript } from "./transcript.ts";

/** One model's answer inside a call: a turn, its text, and what a text tool format found in it. */
export interface CallTurn extends ModelTurn {
  text: string;
  text_format: TextFormat | null;
}

/** What the text tool format found in a text. */
interface TextFormat {
  prose: string;
  canonical_text: string;
  protocol_violations: string[];
  tool_parse_errors: string[];
  done_marker: string | null;
}

/** The figures of a call: all attempts and search rounds together. USD. */
export interface CallFigures extends Usage {
  cost_usd: number;
  price_known: boolean;
  cache_hit_ratio: number;
  cache_savings_usd: number;
}

/** What a call adds to its result, and a run to its own. */
export interface CallExtras extends MockCallMembers {
  /** The call used up a soft budget. */
  budget_exceeded?: true;
}

/** The answer to a model call. */
export interface LlmResult extends Usage, Partial<TextFormat>, CallExtras {
  text: string;
  /** The text without reasoning, tool calls and other parts that are not meant for people. */
  visible_text: string;
  model: string;
  provider: string;
  /** As `cache_write_tokens`, under Anthropic's name. */
  cache_creation_input_tokens: number;
  usage: CallFigures;
  /** The parsed JSON answer. Absent: the request asked for no JSON, or the answer has none. */
  data?: Json;
  tool_calls?: { id: string; name: string; arguments: JsonObject }[];
  /** The model's reasoning; the same under both names. */
  thinking?: string;
  private_reasoning?: string;
  thinking_summary?: string;
  blocks: NonNullable<ReturnType<typeof resultBlock>>[];
  stop_reason: string | null;
  raw_stop_reason: string | null;
  transcript: Transcript;
  /** Which model answered, if Hull chose it. */
  routing?: JsonObject;
  warnings?: readonly Warning[];
}

interface ResultParts {
  turn: CallTurn;
  /** Tool searches by Hull that led to this turn. The transcript has them as messages of their own. */
  searches: readonly Block[];
  figures: CallFigures;
  /** `undefined`: the request did not ask for JSON, or there is none. */
  data: Json | undefined;
  /** Whether JSON was asked for. */
  structured: boolean;
  transcript: Transcript;
  warnings: readonly Warning[];
  routing: JsonObject | null;
  further: CallExtras;
}

export function resultOf(parts: ResultParts): LlmResult {
  const { turn, figures } = parts;
  const reasoning = textOfBlocks(turn.blocks, "reasoning");
  const summary = textOfBlocks(turn.blocks, "reasoning_summary");
  // Some providers report only a summary of the reasoning.
  const thinking = reasoning === "" ? summary : reasoning;
  const calls = calledTools(turn.blocks);
  const tokens = tokenCounts(figures);
  const { cache_hit_ratio, cache_savings_usd, cost_usd, price_known } = figures;
  return {
    text: turn.text,
    visible_text: visibleText(turn.text, { planner: !parts.structured }),
    model: turn.model,
    provider: turn.provider,
    ...tokens,
    cache_creation_input_tokens: tokens.cache_write_tokens,
    usage: { ...tokens, cache_hit_ratio, cache_savings_usd, cost_usd, price_known },
    ...(parts.data === undefined ? {} : { data: parts.data }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(thinking === "" ? {} : { thinking, private_reasoning: thinking }),
    ...(summary === "" ? {} : { thinking_summary: summary }),
    blocks: [...parts.searches, ...turn.blocks].flatMap((block) => resultBlock(block) ?? []),
    stop_reason: shownReason(turn),
    raw_stop_reason: turn.raw_stop_reason,
    transcript: parts.transcript,
    ...turn.text_format,
    ...(parts.routing === null ? {} : { routing: parts.routing }),
    ...(parts.warnings.length === 0 ? {} : { warnings: parts.warnings }),
    ...parts.further,
  };
}

const SHOWN: Record<StopReason, string | null> = {
  end_turn: "end_turn",
  max_tokens: "max_tokens",
  tool_use: "tool_use",
  stop_sequence: "stop_sequence",
  refusal: "refusal",
  content_filter: "refusal",
  pause: "end_turn",
  other: null,
};

/** The normalised reason; the provider's own word if Hull does not know it. */
function shownReason({ stop_reason, raw_stop_reason }: ModelTurn): string | null {
  return SHOWN[stop_reason] ?? raw_stop_reason;
}

/** Adds two parts and recomputes the hit ratio. @param a `null`: there is no earlier part */
export function added(a: CallFigures | null, b: CallFigures): CallFigures {
  if (a === null) return b;
  const sum = totalUsage(a, b);
  return {
    ...sum,
    cost_usd: sumUsd(a.cost_usd, b.cost_usd),
    price_known: a.price_known && b.price_known,
    cache_hit_ratio: cacheFigures(sum, null).cache_hit_ratio,
    cache_savings_usd: sumUsd(a.cache_savings_usd, b.cache_savings_usd),
  };
}
