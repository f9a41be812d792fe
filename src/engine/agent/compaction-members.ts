/** How a conversation is compacted: the members that the options of a run and `auto_compact` of a node share. Pure. */
import * as z from "zod/mini";
import { HARD_LIMIT_STRATEGIES } from "./spec.ts";

const maybe = z.exactOptional;
export const count = () => z.int().check(z.nonnegative());

export const compactionLimits = () => ({
  keep_first: maybe(count()),
  hard_limit_tokens: maybe(count()),
  hard_limit_strategy: maybe(z.enum(HARD_LIMIT_STRATEGIES)),
  tool_output_max_chars: maybe(z.int().check(z.positive())),
});

/** @param strategy its shape */
export const compactionMembers = <T extends z.ZodMiniType>(strategy: T) => ({
  ...compactionLimits(),
  strategy: maybe(strategy),
  threshold: maybe(count()),
  keep_last: maybe(count()),
});
