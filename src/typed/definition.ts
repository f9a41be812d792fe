/**
 * A typed skill as the build and its handlers see it: as in `typed/hull.d.mts`, except for schemas, which may come from
 * any copy of zod 4.
 */
import type * as z from "zod/mini";

/** The common part of zod and zod/mini. */
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
