/**
 * A typed skill as the build and its handlers read it: what `typed/hull.d.mts` says, but for schemas,
 * which may be of any copy of zod 4.
 */
import type * as z from "zod/mini";

/** What zod and zod/mini have in common. */
export type Schema = z.core.$ZodType & {
  safeParseAsync(
    value: unknown,
  ): Promise<{ success: true; data: unknown } | { success: false; error: z.core.$ZodError }>;
};

export interface TypedTool {
  name: string;
  description: string;
  input?: Schema;
  output?: Schema;
  config?: Schema;
  run(input: unknown, ctx: object): unknown;
  [key: string]: unknown;
}

export interface TypedSkill {
  name: string;
  description: string;
  instructions?: string;
  tools: readonly TypedTool[];
}
