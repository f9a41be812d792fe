/** What the compiler knows in a `skill.ts`: checked by `npm run types`. */
import { type Answer, defineSkill, type ToolContext, tool } from "hullrun";
import { expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import * as mini from "zod/mini";

test("input and ctx.config have the types of their schemas", () => {
  const search = tool({
    name: "search",
    description: "d",
    input: z.object({
      query: z.string(),
      limit: z.int().default(10),
      when: z.string().transform((text) => new Date(text)),
      kind: z.enum(["a", "b"]).optional(),
    }),
    config: z.object({
      maxCost: z.number().default(0),
      apiKey: z.string().optional(),
    }),
    output: z.object({ hits: z.array(z.string()) }),
    async run(input, ctx) {
      expectTypeOf(input).toEqualTypeOf<{
        query: string;
        limit: number;
        when: Date;
        kind?: "a" | "b" | undefined;
      }>();
      expectTypeOf(ctx.config).toEqualTypeOf<{ maxCost: number; apiKey?: string | undefined }>();
      expectTypeOf(ctx).toExtend<ToolContext<{ maxCost: number; apiKey?: string | undefined }>>();
      expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>();
      await ctx.emit("…");
      return { hits: [input.query] };
    },
  });
  type Hits = Answer<{ hits: string[] }>;
  expectTypeOf(search.run).returns.toEqualTypeOf<Hits | Promise<Hits>>();
  expectTypeOf<{ error: string }>().toExtend<Hits>();
  expectTypeOf<{ __artifact__: true; type: "html"; title: string; content: string }>().toExtend<Hits>();
  expectTypeOf<{ hits: number[] }>().not.toExtend<Hits>();
  expectTypeOf<Parameters<typeof search.run>[0]["limit"]>().toEqualTypeOf<number>();
  const skill = defineSkill({ name: "s", description: "d", tools: [search] });
  expect(skill.tools).toHaveLength(1);
});

test("zod/mini infers too; without schemas, input and ctx.config are empty", () => {
  const small = tool({
    name: "small",
    description: "d",
    input: mini.object({ n: mini.number() }),
    run: (input) => {
      expectTypeOf(input).toEqualTypeOf<{ n: number }>();
      return input.n;
    },
  });
  const bare = tool({
    name: "bare",
    description: "d",
    run: (input, ctx) => {
      expectTypeOf<keyof typeof input>().toEqualTypeOf<keyof z.output<z.ZodObject<Record<never, never>>>>();
      expectTypeOf<keyof typeof ctx.config>().toEqualTypeOf<keyof typeof input>();
      return 1;
    },
  });
  expect(defineSkill({ name: "s", description: "d", tools: [small, bare] }).tools).toHaveLength(2);
});

test("the compiler refuses wrong types", () => {
  type Refused<T> = T extends Parameters<typeof defineSkill>[0] ? false : true;
  expectTypeOf<Refused<{ name: string; tools: [] }>>().toEqualTypeOf<true>();
  type Result = { hits: string[] };
  const output = z.object({ hits: z.array(z.string()) });
  type Run = Parameters<typeof tool<z.ZodObject, z.ZodObject, typeof output>>[0]["run"];
  expectTypeOf<() => Promise<Result>>().toExtend<Run>();
  expectTypeOf<() => Promise<number>>().not.toExtend<Run>();
  expect(output.safeParse({}).success).toBe(false);
});
