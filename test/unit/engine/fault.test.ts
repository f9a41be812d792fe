/** The messages for a value that does not have its shape. */
import { expect, test } from "vitest";
import * as z from "zod/mini";
import en from "zod/v4/locales/en.js";
import { shapeErrors } from "../../../src/engine/fault.ts";

// As the Worker does, and zod in other test files of this process.
z.config(en());

test("the commonest faults have plain messages, with their places", () => {
  const shape = z.strictObject({
    task: z.string().check(z.minLength(1)),
    name: z.string(),
    list: z.array(z.object({ n: z.number() })),
    wait_ms: z.int().check(z.positive(), z.lte(9)),
    idle_ms: z.int().check(z.positive(), z.lte(9)),
    size_bytes: z.int(),
    more_bytes: z.int().check(z.lte(9)),
    max_tokens: z.int().check(z.gte(1)),
    count: z.int().check(z.gte(1)),
    share: z.number().check(z.lt(1)),
    most: z.int(),
    own_words: z.int("my words").check(z.gte(1, "my limit")),
    nodes: z.record(z.string().check(z.regex(/^\w+$/, "must be an id")), z.number()),
    content: z.union([z.string(), z.array(z.object({ type: z.literal("text") }))]),
    either: z.union([z.string(), z.array(z.string())]),
    own: z.union([z.string(), z.array(z.string())], "must be one id or several"),
  });
  const given = { nodes: { "a b": 1 }, content: [{ type: "text" }, { type: "x" }], either: 5, own: [5] };
  const numbers = {
    wait_ms: 0,
    idle_ms: 10,
    size_bytes: 1.5,
    more_bytes: 10,
    max_tokens: 0,
    count: 0,
    share: 1,
    most: 2 ** 60,
    own_words: 0,
  };
  const { error } = shape.safeParse({ task: "", list: [{}, { n: "1" }], more: 1, ...given, ...numbers });
  expect(error && shapeErrors(error).map(({ path, message }) => `${path}: ${message}`)).toEqual([
    "task: must not be empty",
    "name: is required",
    "list.0.n: is required",
    "list.1.n: must be a number",
    "wait_ms: must be more than 0 ms",
    "idle_ms: must be at most 9 ms",
    "size_bytes: must be a whole number, in bytes",
    "more_bytes: must be at most 9 bytes",
    "max_tokens: must be at least 1 token",
    "count: must be at least 1",
    "share: must be less than 1",
    "most: must be at most 9007199254740991",
    "own_words: my limit",
    "nodes.a b: must be an id",
    'content.1.type: Invalid input: expected "text"',
    "either: Invalid input",
    "own: must be one id or several",
    "more: there is no such field",
  ]);
});
