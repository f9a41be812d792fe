import { expect, test } from "vitest";
import { type CompactionGiven, compactionOptions } from "../../../src/llm/compaction-options.ts";

const DEFAULTS = {
  auto: null,
  threshold_tokens: null,
  keep_first: 0,
  keep_last: 12,
  strategy: "observation_mask",
  hard_limit_tokens: null,
  hard_limit_strategy: "llm",
  tool_output_max_chars: 16_000,
  compact_callback: null,
  mask_callback: null,
  compress_callback: null,
};
const llm = (strategy_name: string) => ({ auto: true, strategy: "llm", strategy_name });

test.each<[CompactionGiven, object]>([
  [{}, {}],
  [
    {
      auto_compact: true,
      compact_threshold: 9,
      keep_first: 1,
      compact_keep_last: 2,
      compact_strategy: "llm",
    },
    { auto: true, threshold_tokens: 9, keep_first: 1, keep_last: 2, strategy: "llm" },
  ],
  [
    { auto_compact: false, compaction: { keep_last: 3 } },
    { auto: false, keep_last: 3 },
  ],
  [{ compaction: { strategy: "none" }, auto_compact: true }, { auto: false }],
  [
    { compaction: { strategy: "truncate" }, auto_compact: false },
    { auto: false, strategy: "truncate" },
  ],
  [
    { compaction: { strategy: "truncate", threshold: 5, keep_first: 2 }, keep_first: 1 },
    { auto: true, strategy: "truncate", threshold_tokens: 5, keep_first: 2 },
  ],
  [{ compaction: { strategy: "llm" } }, { auto: true, strategy: "llm" }],
  [{ compaction: { strategy: "summarize" } }, llm("summarize")],
  [{ compaction: { strategy: "summarize_middle" } }, llm("summarize_middle")],
  [{ compaction: { strategy: "summarize_all" } }, { ...llm("summarize_all"), keep_last: 0 }],
  [{ compaction: { strategy: "hybrid" } }, { ...llm("hybrid"), hard_limit_strategy: "truncate" }],
])("%j", (given, expected) => expect(compactionOptions(given)).toEqual({ ...DEFAULTS, ...expected }));
