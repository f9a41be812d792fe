/** The options of compaction, and what they mean. */
import * as z from "zod/mini";
import { compactionLimits, compactionMembers, count } from "../engine/agent/compaction-members.ts";
import { COMPACTION_STRATEGIES, type CompactionOptions } from "../engine/agent/spec.ts";

const maybe = z.exactOptional;

/** The shape of each option. */
export function compactionShapes() {
  const names = [
    "none",
    "truncate",
    "observation_mask",
    "custom",
    "summarize_middle",
    "summarize",
    "llm",
    "summarize_all",
    "hybrid",
  ] as const;
  return {
    ...compactionLimits(),
    auto_compact: maybe(z.boolean()),
    compact_threshold: maybe(count()),
    compact_keep_last: maybe(count()),
    compact_strategy: maybe(z.enum(COMPACTION_STRATEGIES)),
    compact_callback: maybe(z.string()),
    mask_callback: maybe(z.string()),
    compress_callback: maybe(z.string()),
    compaction: maybe(z.strictObject(compactionMembers(z.enum(names)))),
  };
}

const givenShape = z.lazy(() => z.object(compactionShapes()));
export type CompactionGiven = z.infer<typeof givenShape>;

/** What holds if the options do not say it. */
export const COMPACTION_DEFAULTS = {
  keep_first: 0,
  compact_keep_last: 12,
  compact_strategy: "observation_mask",
  hard_limit_strategy: "llm",
  tool_output_max_chars: 16_000,
} as const satisfies Partial<CompactionGiven>;

/**
 * The options with defaults filled in. `compaction` wins over the single options; a strategy there switches compaction
 * on, unless `auto_compact` says never.
 */
export function compactionOptions(given: CompactionGiven): CompactionOptions {
  const options = { ...COMPACTION_DEFAULTS, ...given };
  const group = options.compaction ?? {};
  const named = meaningOf(group.strategy);
  const { strategy = options.compact_strategy, ...further } = named;
  return {
    auto: options.auto_compact ?? null,
    threshold_tokens: group.threshold ?? options.compact_threshold ?? null,
    keep_first: group.keep_first ?? options.keep_first,
    keep_last: group.keep_last ?? options.compact_keep_last,
    strategy,
    hard_limit_tokens: group.hard_limit_tokens ?? options.hard_limit_tokens ?? null,
    hard_limit_strategy: group.hard_limit_strategy ?? options.hard_limit_strategy,
    tool_output_max_chars: group.tool_output_max_chars ?? options.tool_output_max_chars,
    compact_callback: options.compact_callback ?? null,
    mask_callback: options.mask_callback ?? null,
    compress_callback: options.compress_callback ?? null,
    ...further,
    ...(options.auto_compact === false ? { auto: false } : {}),
  };
}

type Group = NonNullable<CompactionGiven["compaction"]>;

/** The options that a strategy of `compaction` implies. */
function meaningOf(strategy: Group["strategy"]): Partial<CompactionOptions> {
  switch (strategy) {
    case undefined:
      return {};
    case "none":
      return { auto: false };
    case "truncate":
    case "observation_mask":
    case "custom":
    case "llm":
      return { auto: true, strategy };
    case "summarize_middle":
    case "summarize":
      return { auto: true, strategy: "llm", strategy_name: strategy };
    case "summarize_all":
      return { auto: true, strategy: "llm", strategy_name: strategy, keep_first: 0, keep_last: 0 };
    case "hybrid":
      return { auto: true, strategy: "llm", strategy_name: strategy, hard_limit_strategy: "truncate" };
  }
}
