/** The result of a model call. */
import * as z from "zod/mini";
import { about, count, flag, json, maybe, object, type Shaped, text, texts, usd } from "../answer-shape.ts";
import {
  type Block,
  type ModelTurn,
  NO_USAGE,
  textOfBlocks,
  totalUsage,
  usageShape,
  type Warning,
  warnings,
} from "../engine/messages.ts";
import { stopWords } from "../engine/stop-reason.ts";
import { sumUsd } from "../engine/usd.ts";
import { visibleText } from "../engine/visible-text.ts";
import { tokenCounts } from "../model/usage.ts";
import { present } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { resultBlock } from "./blocks.ts";
import type { mockCallJson } from "./mock-calls.ts";
import { calledTools, type Transcript, transcriptShape } from "./transcript.ts";

/** One model's answer inside a call: a turn, its text, and what a text tool format found in it. */
export interface CallTurn extends ModelTurn {
  text: string;
  text_format: TextFormat | null;
}

/** What the text tool format found in a text. */
type TextFormat = Shaped<typeof textFormat>;
const textFormat = () =>
  z.object({
    prose: about(text(), "The text around the calls, if the model calls tools in its text."),
    canonical_text: text(),
    protocol_violations: texts(),
    tool_parse_errors: texts(),
    done_marker: z.nullable(text()),
  });

/** The figures of a call: all attempts and search rounds together. */
export interface CallFigures extends Shaped<typeof callFigures> {
  /** All tokens of the prompts, including cached ones, wherever the provider counts those. */
  prompt_tokens: number;
}
export const callFigures = () =>
  z.extend(usageShape(), {
    cache_hit_ratio: z.number().check(z.minimum(0), z.maximum(1)),
    cache_savings_usd: usd(),
    cost_usd: usd(),
    price_known: flag(),
  });

/** What a call adds to its result, and a run to its own. */
export type CallExtras = Shaped<typeof callExtras>;
export const callExtras = () =>
  z.object({
    budget_exceeded: maybe(about(z.literal(true), "The call used up a soft budget.")),
    mock_calls: maybe(
      about(
        z.array(object<ReturnType<typeof mockCallJson>>()),
        "The calls that mocks answered: at most the last 1000, and at most 8 MiB.",
      ),
    ),
    mock_calls_left_out: maybe(about(count(), "How many earlier entries of `mock_calls` are missing.")),
  });

/** What calls and runs say in the same words. */
export const shownText = () =>
  about(text(), "The text without reasoning, tool calls and other parts that are not meant for people.");
export const structuredData = () =>
  maybe(about(json(), "The answer as JSON, if the request asked for JSON."));

export const routing = () =>
  maybe(
    about(
      object(),
      "How Hull chose the model, if it did, and which one of a chain of fallbacks answered last.",
    ),
  );

/** The answer to a model call. */
export type LlmResult = Shaped<typeof callResult>;
export const callResult = () =>
  z.object({
    text: text(),
    visible_text: shownText(),
    model: text(),
    provider: text(),
    ...usageShape().shape,
    cache_creation_input_tokens: about(count(), "As `cache_write_tokens`, under Anthropic's name."),
    usage: callFigures(),
    data: structuredData(),
    tool_calls: maybe(z.array(z.object({ id: text(), name: text(), arguments: object() }))),
    thinking: maybe(text()),
    private_reasoning: maybe(about(text(), "The same as `thinking`.")),
    thinking_summary: maybe(text()),
    blocks: z.array(object<NonNullable<ReturnType<typeof resultBlock>>>()),
    stop_reason: z.nullable(text()),
    raw_stop_reason: z.nullable(text()),
    transcript: transcriptShape,
    ...z.partial(textFormat()).shape,
    routing: routing(),
    warnings: warnings(),
    ...callExtras().shape,
  });

interface ResultParts {
  turn: CallTurn;
  /** Texts, reasoning and searches that led to this turn. The transcript has them as messages of their own. */
  earlier: readonly Block[];
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
  const blocks = [...parts.earlier, ...turn.blocks];
  const text = textOfBlocks(parts.earlier) + turn.text;
  const reasoning = textOfBlocks(blocks, "reasoning");
  const summary = textOfBlocks(blocks, "reasoning_summary");
  // Some providers report only a summary of the reasoning.
  const thinking = reasoning === "" ? summary : reasoning;
  const calls = calledTools(turn.blocks);
  const tokens = tokenCounts(figures);
  return {
    text,
    visible_text: visibleText(text, { planner: !parts.structured }),
    model: turn.model,
    provider: turn.provider,
    ...tokens,
    cache_creation_input_tokens: tokens.cache_write_tokens,
    usage: shownFigures(figures),
    ...(parts.data === undefined ? {} : { data: parts.data }),
    ...present({ tool_calls: calls, thinking, private_reasoning: thinking, thinking_summary: summary }),
    blocks: blocks.flatMap((block) => resultBlock(block) ?? []),
    stop_reason: shownReason(turn),
    raw_stop_reason: turn.raw_stop_reason,
    transcript: parts.transcript,
    ...turn.text_format,
    ...(parts.routing === null ? {} : { routing: parts.routing }),
    ...eachOnce(parts.warnings),
    ...parts.further,
  };
}

/** The warnings of all exchanges of a call, each once: a later exchange has most options of the one before it. */
export function eachOnce(all: readonly Warning[]): { warnings?: readonly Warning[] } {
  if (all.length === 0) return {};
  return { warnings: [...new Map(all.map((warning) => [warning.message, warning])).values()] };
}

/** The normalised reason; the provider's own word if Hull does not know it. */
export function shownReason({
  stop_reason,
  raw_stop_reason,
}: Pick<ModelTurn, "stop_reason" | "raw_stop_reason">): string | null {
  const { result = stop_reason } = stopWords(stop_reason);
  return result ?? raw_stop_reason;
}

/** The figures as callers see them. */
export function shownFigures(figures: CallFigures): Shaped<typeof callFigures> {
  const { prompt_tokens: _, ...shown } = figures;
  return shown;
}

export const NO_FIGURES: CallFigures = {
  ...NO_USAGE,
  prompt_tokens: 0,
  cache_hit_ratio: 0,
  cache_savings_usd: 0,
  cost_usd: 0,
  price_known: true,
};

/** Adds two parts and recomputes the hit ratio. */
export function added(a: CallFigures, b: CallFigures): CallFigures {
  const sum = totalUsage(a, b);
  const prompt_tokens = a.prompt_tokens + b.prompt_tokens;
  return {
    ...sum,
    prompt_tokens,
    cost_usd: sumUsd(a.cost_usd, b.cost_usd),
    price_known: a.price_known && b.price_known,
    cache_hit_ratio: prompt_tokens === 0 ? 0 : sum.cache_read_tokens / prompt_tokens,
    cache_savings_usd: sumUsd(a.cache_savings_usd, b.cache_savings_usd),
  };
}
